import EventLoop
import GATT
import HCI
import HostInterface
import L2CAP

/// What is done on one link to have more bearers for attributes than the fixed one.
struct EnhancedBearers {
    /// Where the peer says what it can do, once that is known and until it is asked.
    var featuresHandle: UInt16?
    /// When channels are asked for again that were refused.
    var retryAt: Instant?
    /// How often the peer has refused.
    var refusals = 0
}

/// Bearers of the Attribute Protocol on L2CAP channels: on encrypted links, to peers that have them.
///
/// Source: Core 6.0, Vol 3, Part G, 5.3 and 5.4. How many, and when: Documentation/Decisions/0080-enhanced-bearers.md.
extension Host {
    /// Under which number they are opened (Assigned Numbers, 2.4).
    static let attributeSPSM: UInt16 = 0x0027
    /// How many this host opens; it does without those that the peer has opened already.
    private static let wantedBearers = 2
    /// How many a peer may have it hold on one link, this host's own among them.
    static let mostBearers = 5
    private static let mostRefusals = 3
    /// PDUs that wait on a bearer for a peer that takes none.
    private static let mostWaitingPDUs = 64
    /// In place of a token: what a frame ends is a PDU of attributes.
    static let attributeToken = UInt64.max

    /// A frame's octets fill a link-layer packet of 251; the peer may send eight PDUs before this host has read one.
    private var attributeCapacity: ChannelCapacity {
        let mtu = max(64, configuration.preferredMTU)
        return ChannelCapacity(mtu: mtu, mps: 247, window: 8 * max(Int(mtu), 247))
    }

    /// What peers may open.
    var offers: [ChannelOffer] {
        guard configuration.usesEnhancedBearers else { return channels.offers }
        let attributes = ChannelOffer(
            spsm: Self.attributeSPSM, mode: .enhanced, requirement: .encrypted, mostChannels: Self.mostBearers,
            capacity: attributeCapacity)
        return channels.offers + [attributes]
    }

    /// Asks the peer whether it has them, once it is known where that is said and the link is encrypted.
    func considerBearers(onLink index: Int, at now: Instant) {
        guard configuration.usesEnhancedBearers, links[index].security.level != nil, !links[index].isEnding,
            let handle = links[index].enhanced.featuresHandle
        else { return }
        links[index].enhanced.featuresHandle = nil
        start(.read(handle), purpose: .readServerFeatures, onLink: index, at: now)
    }

    func serverFeaturesRead(_ result: Result<GATTAnswer, GATTFailure>, onLink index: Int, at now: Instant) {
        guard case .success(.value(let value)) = result, let octet = value.first,
            GATTServerFeatures(rawValue: octet).contains(.enhancedBearers)
        else { return }
        openBearers(onLink: index, at: now)
    }

    private func openBearers(onLink index: Int, at now: Instant) {
        let missing = Self.wantedBearers - links[index].attributes.enhancedBearers.count
        guard missing > 0, !links[index].isEnding else { return }
        let id = open(.openBearers, onLink: index)
        let request = Signalling.Input.open(
            id: id, spsm: Self.attributeSPSM, mode: .enhanced, count: missing, capacity: attributeCapacity)
        signal(request, onLink: index, at: now)
    }

    func bearersOpened(_ channels: [ChannelID], onLink index: Int, at now: Instant) {
        let handle = links[index].handle
        for channel in channels {
            guard let index = linkIndex(handle: handle) else { return }
            addBearer(channel, onLink: index, at: now)
        }
    }

    func addBearer(_ channel: ChannelID, onLink index: Int, at now: Instant) {
        guard let information = links[index].signalling.information(channel) else { return }
        let mtu = min(information.ownMTU, information.peerMTU)
        handle(.bearerOpened(GATTBearerID(channel), mtu: mtu), onLink: index, at: now)
    }

    /// When both sides open channels at once, either may be refused for want of resources. The central may ask again
    /// at once; the peripheral waits 100 ms, or twice as long as it may sleep (Core 6.0, Vol 3, Part G, 5.4).
    func bearersRefused(_ failure: ChannelFailure, onLink index: Int, at now: Instant) {
        guard failure == .refused(.noResources), links[index].enhanced.refusals < Self.mostRefusals else { return }
        links[index].enhanced.refusals += 1
        switch links[index].role {
        case .central: openBearers(onLink: index, at: now)
        case .peripheral:
            let timing = links[index].timing
            let asleep = Duration.microseconds(1250) * Int(timing.interval) * (Int(timing.latency) + 1) * 2
            links[index].enhanced.retryAt = now.advanced(by: max(.milliseconds(100), asleep))
        }
    }

    func wakeBearers(onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle), let retryAt = links[index].enhanced.retryAt, retryAt <= now else {
            return
        }
        links[index].enhanced.retryAt = nil
        openBearers(onLink: index, at: now)
    }

    func bearerWidened(_ channel: ChannelID, onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle), let information = links[index].signalling.information(channel),
            links[index].attributes.hasBearer(GATTBearerID(channel))
        else { return }
        let mtu = min(information.ownMTU, information.peerMTU)
        self.handle(.bearerWidened(GATTBearerID(channel), mtu: mtu), onLink: index, at: now)
    }

    // MARK: PDUs

    func receiveAttributePDU(_ pdu: ArraySlice<UInt8>, on channel: ChannelID, onLink index: Int, at now: Instant) {
        let link = links[index].handle
        handle(.receive(pdu, on: GATTBearerID(channel)), onLink: index, at: now)
        guard let index = linkIndex(handle: link) else { return }
        signal(.read(channel, pdu.count), onLink: index, at: now)
    }

    /// A peer that asks on, and gives no credits for the answers, loses the bearer.
    func sendAttributePDU(_ pdu: [UInt8], on bearer: GATTBearerID, onLink index: Int, at now: Instant) {
        let channel = ChannelID(bearer)
        // It may have ended under the effects that are being carried out.
        guard links[index].signalling.information(channel) != nil else { return }
        guard links[index].signalling.waitingCount(on: channel) < Self.mostWaitingPDUs else {
            links[index].violations += 1
            let link = links[index].handle
            handle(.bearerClosed(bearer), onLink: index, at: now)
            if let index = linkIndex(handle: link) { signal(.close(channel), onLink: index, at: now) }
            return
        }
        signal(.send(channel, pdu, token: Self.attributeToken), onLink: index, at: now)
    }
}

extension GATTBearerID {
    init(_ channel: ChannelID) { self.init(rawValue: channel.rawValue) }
}

extension ChannelID {
    init(_ bearer: GATTBearerID) { self.init(rawValue: bearer.rawValue) }
}
