import HostInterface
import L2CAP

/// What an adapter offers to peers as L2CAP channels, and the channels that are open, on all links.
struct ChannelTable {
    struct Offer {
        var psm: UInt16
        var client: ClientID
        var requiresEncryption: Bool
    }

    struct Entry {
        let number: ChannelNumber
        let client: ClientID
        /// The link.
        let handle: UInt16
        let channel: ChannelID
        let psm: UInt16
        /// Whether the peer opened it.
        let isIncoming: Bool
        /// Who waits for its end. Nobody is told of it who has asked for it.
        var closers: [RequestKey] = []
        var isClosing = false
    }

    private(set) var published: [Offer] = []
    /// In the order in which they were opened.
    private(set) var entries: [Entry] = []
    private var lastNumber: UInt64 = 0
    private var nextPSM = ChannelOffer.dynamic.lowerBound

    /// The same, as links take it.
    var offers: [ChannelOffer] {
        published.map {
            ChannelOffer(
                spsm: $0.psm, requirement: $0.requiresEncryption ? .encrypted : ChannelRequirement())
        }
    }

    /// Takes the next free number of the dynamic range. One that was given back is used again last, so that a peer
    /// that remembers it does not meet another service.
    ///
    /// - Returns: the number; `nil` if all are in use.
    mutating func publish(for client: ClientID, requiresEncryption: Bool) -> UInt16? {
        let range = ChannelOffer.dynamic
        for _ in range {
            let psm = nextPSM
            nextPSM = psm == range.upperBound ? range.lowerBound : psm + 1
            guard !published.contains(where: { $0.psm == psm }) else { continue }
            published.append(Offer(psm: psm, client: client, requiresEncryption: requiresEncryption))
            return psm
        }
        return nil
    }

    /// - Returns: whether the client had published it.
    mutating func unpublish(_ psm: UInt16, of client: ClientID) -> Bool {
        let count = published.count
        published.removeAll { $0.psm == psm && $0.client == client }
        return published.count < count
    }

    mutating func add(
        _ channel: ChannelID, on handle: UInt16, psm: UInt16, client: ClientID, isIncoming: Bool
    ) -> ChannelNumber {
        lastNumber += 1
        let number = ChannelNumber(lastNumber)
        entries.append(
            Entry(
                number: number, client: client, handle: handle, channel: channel, psm: psm, isIncoming: isIncoming))
        return number
    }

    mutating func remove(_ channel: ChannelID, on handle: UInt16) -> Entry? {
        guard let index = index(of: channel, on: handle) else { return nil }
        return entries.remove(at: index)
    }

    /// Takes out all channels of a link that has ended.
    mutating func removeAll(on handle: UInt16) -> [Entry] {
        defer { entries.removeAll { $0.handle == handle } }
        return entries.filter { $0.handle == handle }
    }

    func entry(_ channel: ChannelID, on handle: UInt16) -> Entry? {
        index(of: channel, on: handle).map { entries[$0] }
    }

    /// The channel under this number, if it is the client's and is not being closed.
    func entry(_ number: ChannelNumber, of client: ClientID) -> Entry? {
        entries.first { $0.number == number && $0.client == client && !$0.isClosing }
    }

    mutating func setClosing(_ number: ChannelNumber, for key: RequestKey?) {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
        entries[index].isClosing = true
        if let key { entries[index].closers.append(key) }
    }

    private func index(of channel: ChannelID, on handle: UInt16) -> Int? {
        entries.firstIndex { $0.channel == channel && $0.handle == handle }
    }
}
