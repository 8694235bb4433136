package import BluetoothTypes
import ByteCodec
package import EventLoop

/// Waits for an advertiser and makes it an offer.
///
///           granted              ADV_IND, ADV_DIRECT_IND of the peer              sent
///     idle ─────────▶ listening ────────────────────────────────────▶ offering ─────▶ over, with a connection
///
/// Source: Core 6.0, Vol 6, Part B, 4.4.4.
package struct Initiator: Sendable {
    package struct Parameters: Sendable {
        package var interval = Duration.milliseconds(10)
        package var window = Duration.milliseconds(10)
        package var address = DeviceAddress(0)
        /// Whether it shows a private address to whoever is in the resolving list.
        package var usesPrivateAddress = false
        package var resolvingList = ResolvingList()
        /// Whom to connect to: identity addresses, of those that have one.
        package var peers: [DeviceAddress] = []
        package var timing = ConnectionTiming()
        package var channels = UsedChannels.all
        package var sleepClockAccuracy: UInt8 = 0

        package init() {}
    }

    package struct Report: Sendable {
        package var offer: ConnectIndication
        package var peer: ResolvingList.Party
        /// The address that this device has shown.
        package var local: DeviceAddress
        package var usesAlgorithm2: Bool
        /// When the offer ended on the air.
        package var end: Instant
    }

    /// A link of this device, whose events the new one had better not meet.
    package struct Occupied: Sendable {
        package var anchor: Instant
        package var interval: Duration

        package init(anchor: Instant, interval: Duration) {
            self.anchor = anchor
            self.interval = interval
        }
    }

    private enum State {
        case idle, listening, over
        case offering(Report)
    }

    package let usesPrivateAddress: Bool
    package var resolvingList: ResolvingList
    private let parameters: Parameters
    private var generator: SeededGenerator
    private var state = State.idle
    private var window: ScanWindow
    /// The links of this device as they are now; its owner keeps it up to date.
    package var occupied: [Occupied] = []

    package init(_ parameters: Parameters, generator: SeededGenerator, at now: Instant) {
        self.parameters = parameters
        self.generator = generator
        usesPrivateAddress = parameters.usesPrivateAddress
        resolvingList = parameters.resolvingList
        window = ScanWindow(interval: parameters.interval, window: parameters.window, at: now)
    }

    package var nextStart: Instant? {
        if case .over = state { nil } else { window.start }
    }

    /// Whether the offer is being made, so that cancelling comes too late.
    package var isOffering: Bool {
        if case .offering = state { true } else { false }
    }

    package mutating func handle(_ input: RadioInput, at now: Instant, reports: inout [Report]) -> RadioOrder {
        switch (state, input) {
        case (.idle, .granted):
            return resume(at: now)
        case (.listening, .heard(let reception)):
            return hear(reception, at: now)
        case (.offering(var report), .sent):
            state = .over
            report.end = now
            reports.append(report)
            return .release
        case (.listening, .silence):
            window.advance(to: now)
            state = .idle
            return .release
        case (.over, _):
            return .release
        case (_, .revoked):
            state = .idle
            return .release
        case (.idle, _), (.listening, _), (.offering, _):
            state = .idle
            return .release
        }
    }

    private mutating func resume(at now: Instant) -> RadioOrder {
        window.advance(to: now)
        guard window.start <= now else {
            state = .idle
            return .release
        }
        state = .listening
        return window.listen()
    }

    private mutating func hear(_ reception: Reception, at now: Instant) -> RadioOrder {
        let header = AdvertisingHeader(rawValue: reception.frame.header)
        guard reception.isIntact, let peer = connectable(header, reception.frame.payload),
            parameters.peers.contains(peer.address)
        else { return resume(at: now) }
        let start = now.advanced(by: AirTiming.interFrameSpace)
        var own = parameters.address
        if usesPrivateAddress { own = resolvingList.localAddress(for: peer.entry, own: own) }
        let offer = makeOffer(from: own, to: peer.addressOnAir, at: start)
        let payload = offer.octets
        let answer = AdvertisingHeader(
            .connect, selectsAlgorithm2: true, sender: own.kind, target: peer.addressOnAir.kind,
            payloadCount: payload.count)
        state = .offering(
            Report(offer: offer, peer: peer, local: own, usesAlgorithm2: header.selectsAlgorithm2, end: start))
        return .transmit(
            RadioFrame(
                channel: window.channel, accessAddress: advertisingAccessAddress, header: answer.rawValue,
                payload: payload[...]),
            at: start)
    }

    /// The advertiser, if it takes connections from this device.
    private mutating func connectable(
        _ header: AdvertisingHeader, _ payload: ArraySlice<UInt8>
    ) -> ResolvingList.Party? {
        if header.kind == .connectable, let content = try? Advertisement(octets: payload) {
            return resolvingList.recognize(DeviceAddress(content.advertiser.value, kind: header.senderKind))
        }
        if header.kind == .directed, let pair = try? AddressPair(octets: payload),
            let peer = resolvingList.recognize(DeviceAddress(pair.sender.value, kind: header.senderKind)),
            resolvingList.isLocal(
                DeviceAddress(pair.target.value, kind: header.targetKind), calledBy: peer.entry,
                own: parameters.address)
        {
            return peer
        }
        return nil
    }

    private mutating func makeOffer(
        from own: DeviceAddress, to peer: DeviceAddress, at start: Instant
    ) -> ConnectIndication {
        var offer = ConnectIndication()
        offer.initiator = own
        offer.advertiser = peer
        offer.accessAddress = makeAccessAddress()
        offer.crcInit = UInt32.random(in: 0...0xFF_FFFF, using: &generator)
        offer.timing = parameters.timing
        offer.channels = parameters.channels
        offer.hopIncrement = UInt8.random(in: 5...16, using: &generator)
        offer.sleepClockAccuracy = parameters.sleepClockAccuracy
        let end = start.advanced(by: RadioMode.le1M.duration(payloadCount: 34))
        offer.windowOffset = quietestOffset(from: end.advanced(by: AirTiming.slot))
        return offer
    }

    /// The offset, in slots within one interval, whose events keep farthest from those of the other links.
    private func quietestOffset(from start: Instant) -> UInt16 {
        let slots = Int(parameters.timing.interval)
        guard !occupied.isEmpty else { return 0 }
        let slot = 1250
        let others = occupied.map { other -> (phase: Int, period: Int) in
            let period = min(Int(other.interval / .microseconds(1)), slots * slot)
            let distance = Int(start.duration(to: other.anchor) / .microseconds(1)) % period
            return ((distance + period) % period, period)
        }
        var best = (offset: 0, distance: -1)
        for offset in 0..<slots {
            let distance = others.map { phase, period in
                let gap = ((offset * slot - phase) % period + period) % period
                return min(gap, period - gap)
            }.min()!
            if distance > best.distance { best = (offset, distance) }
        }
        return UInt16(best.offset)
    }

    /// A random access address with the properties of Core 6.0, Vol 6, Part B, 2.1.2.
    private mutating func makeAccessAddress() -> UInt32 {
        while true {
            let address = UInt32.random(in: 0...UInt32.max, using: &generator)
            if isValidAccessAddress(address) { return address }
        }
    }
}

/// Whether a receiver can tell the access address from noise and from the advertising channels' one.
///
/// Source: Core 6.0, Vol 6, Part B, 2.1.2.
func isValidAccessAddress(_ address: UInt32) -> Bool {
    let octets = (0..<4).map { UInt8(truncatingIfNeeded: address >> UInt32(8 * $0)) }
    let changes = address ^ (address >> 1)
    let differences = (changes & 0x7FFF_FFFF).nonzeroBitCount
    let differencesInTop6 = (changes >> 26 & 0b11111).nonzeroBitCount
    return (address ^ advertisingAccessAddress).nonzeroBitCount > 1 && Set(octets).count > 1
        && differences <= 24 && differencesInTop6 >= 2 && longestRun(in: address) <= 6
}

private func longestRun(in address: UInt32) -> Int {
    var longest = 1
    var run = 1
    for bit in 1..<UInt32(32) {
        run = address >> bit & 1 == address >> (bit - 1) & 1 ? run + 1 : 1
        longest = max(longest, run)
    }
    return longest
}
