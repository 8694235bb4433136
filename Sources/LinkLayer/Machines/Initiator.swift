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
        /// When to listen on one PHY.
        package struct Listening: Sendable {
            package var phy: RadioPHY
            package var interval: Duration
            package var window: Duration

            package init(
                phy: RadioPHY = .le1M, interval: Duration = .milliseconds(10), window: Duration = .milliseconds(10)
            ) {
                self.phy = phy
                self.interval = interval
                self.window = window
            }
        }

        /// LE 1M, coded, or both.
        package var listening = [Listening()]
        /// The timing of a link that begins on a PHY; on those that are not here none begins by auxiliary packets.
        package var extendedTimings: [RadioPHY: ConnectionTiming] = [:]
        package var address = DeviceAddress(0)
        /// Whether it shows a private address to whoever is in the resolving list.
        package var usesPrivateAddress = false
        package var resolvingList = ResolvingList()
        /// Whom to connect to: identity addresses, of those that have one.
        package var peers: [DeviceAddress] = []
        /// Of a link that begins by legacy packets.
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
        /// How the link begins.
        package var mode = RadioMode.le1M
        package var isExtended = false
        /// Where the offer is made.
        var channel: UInt8
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
        /// The auxiliary packet is due.
        case following(Trail)
        /// AUX_CONNECT_REQ is out, AUX_CONNECT_RSP is due.
        case hoping(Report)
    }

    package let usesPrivateAddress: Bool
    package var resolvingList: ResolvingList
    private let parameters: Parameters
    private var generator: SeededGenerator
    private var state = State.idle { didSet { noteState() } }
    private var windows: ScanWindows { didSet { noteState() } }
    package private(set) var nextStart: Instant?
    /// Whether the offer is being made, so that cancelling comes too late.
    package private(set) var isOffering = false
    private var window: ScanWindow { windows.current }
    /// The links of this device as they are now; its owner keeps it up to date.
    package var occupied: [Occupied] = []

    package init(_ parameters: Parameters, generator: SeededGenerator, at now: Instant) {
        self.parameters = parameters
        self.generator = generator
        usesPrivateAddress = parameters.usesPrivateAddress
        resolvingList = parameters.resolvingList
        windows = ScanWindows(
            parameters.listening.map { ScanWindow(phy: $0.phy, interval: $0.interval, window: $0.window, at: now) })
        noteState()
    }

    private mutating func noteState() {
        if case .over = state { nextStart = nil } else { nextStart = windows.start }
        isOffering =
            switch state {
            case .offering, .hoping: true
            case .idle, .listening, .following, .over: false
            }
    }

    package mutating func handle(_ input: RadioInput, at now: Instant, reports: inout [Report]) -> RadioOrder {
        switch (state, input) {
        case (.idle, .granted):
            return resume(at: now)
        case (.listening, .heard(let reception)):
            return hear(reception, at: now)
        case (.offering(var report), .sent) where report.isExtended:
            report.end = now
            state = .hoping(report)
            return .listen(
                channel: report.channel, phy: report.mode.phy, accessAddress: advertisingAccessAddress,
                until: now.advanced(by: report.mode.phy.answerWindow))
        case (.hoping(let report), .heard(let reception)):
            return hearResponse(reception, to: report, at: now, reports: &reports)
        case (.following(let trail), .heard(let reception)):
            return hearAuxiliary(reception, trail, at: now)
        case (.following, .silence), (.hoping, .silence):
            return resume(at: now)
        case (.offering(var report), .sent):
            state = .over
            report.end = now
            reports.append(report)
            return .release
        case (.listening, .silence):
            // Between two windows others may have the radio.
            windows.advance(to: now)
            state = .idle
            return .release
        case (.over, _):
            return .release
        case (_, .revoked):
            state = .idle
            return .release
        case (.idle, _), (.listening, _), (.offering, _), (.following, _), (.hoping, _):
            state = .idle
            return .release
        }
    }

    private mutating func resume(at now: Instant) -> RadioOrder {
        guard let window = windows.open(at: now) else {
            state = .idle
            return .release
        }
        state = .listening
        return window.listen()
    }

    private mutating func hear(_ reception: Reception, at now: Instant) -> RadioOrder {
        let header = AdvertisingHeader(rawValue: reception.frame.header)
        if header.kind == .extended, !parameters.extendedTimings.isEmpty {
            guard reception.isIntact, let payload = try? ExtendedPayload(reception.frame),
                payload.mode == .connectable, let trail = Trail(payload, from: reception, primary: window.phy),
                parameters.extendedTimings[trail.phy] != nil
            else { return resume(at: now) }
            state = .following(trail)
            return trail.listen()
        }
        guard reception.isIntact, let peer = connectable(header, reception.frame.payload),
            parameters.peers.contains(peer.address)
        else { return resume(at: now) }
        let start = now.advanced(by: AirTiming.interFrameSpace)
        let own = ownAddress(for: peer)
        let offer = makeOffer(from: own, to: peer.addressOnAir, parameters.timing, delay: AirTiming.slot, at: start)
        return transmit(
            Report(
                offer: offer, peer: peer, local: own, usesAlgorithm2: header.selectsAlgorithm2, end: start,
                channel: window.channel),
            at: start)
    }

    private func ownAddress(for peer: ResolvingList.Party) -> DeviceAddress {
        usesPrivateAddress
            ? resolvingList.localAddress(for: peer.entry, own: parameters.address) : parameters.address
    }

    /// CONNECT_IND or AUX_CONNECT_REQ.
    private mutating func transmit(_ report: Report, at start: Instant) -> RadioOrder {
        state = .offering(report)
        let payload = report.offer.octets
        let header = AdvertisingHeader(
            .connect, selectsAlgorithm2: !report.isExtended, sender: report.local.kind,
            target: report.peer.addressOnAir.kind, payloadCount: payload.count)
        return .transmit(
            RadioFrame(
                channel: report.channel, mode: report.mode, accessAddress: advertisingAccessAddress,
                header: header.rawValue, payload: payload[...]),
            at: start)
    }

    // MARK: Auxiliary packets, 4.4.4.2

    private mutating func hearAuxiliary(_ reception: Reception, _ trail: Trail, at now: Instant) -> RadioOrder {
        guard reception.start >= trail.start else { return trail.listen() }
        guard reception.isIntact, let payload = try? ExtendedPayload(reception.frame), trail.leads(to: payload),
            payload.mode == .connectable, let advertiser = payload.advertiser,
            let peer = resolvingList.recognize(advertiser), parameters.peers.contains(peer.address),
            payload.target.map({ resolvingList.isLocal($0, calledBy: peer.entry, own: parameters.address) }) ?? true,
            let timing = parameters.extendedTimings[trail.phy]
        else { return resume(at: now) }
        let start = now.advanced(by: AirTiming.interFrameSpace)
        let own = ownAddress(for: peer)
        let mode = reception.frame.mode
        let offer = makeOffer(from: own, to: advertiser, timing, delay: mode.phy.transmitWindowDelay, at: start)
        var report = Report(
            offer: offer, peer: peer, local: own, usesAlgorithm2: true, end: start, channel: trail.channel)
        report.mode = mode
        report.isExtended = true
        return transmit(report, at: start)
    }

    private mutating func hearResponse(
        _ reception: Reception, to report: Report, at now: Instant, reports: inout [Report]
    ) -> RadioOrder {
        guard reception.isIntact, AdvertisingHeader(rawValue: reception.frame.header).kind == .connectResponse,
            let payload = try? ExtendedPayload(reception.frame), payload.advertiser == report.peer.addressOnAir,
            payload.target == report.local
        else { return resume(at: now) }
        state = .over
        reports.append(report)
        return .release
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
        from own: DeviceAddress, to peer: DeviceAddress, _ timing: ConnectionTiming, delay: Duration, at start: Instant
    ) -> ConnectIndication {
        var offer = ConnectIndication()
        offer.initiator = own
        offer.advertiser = peer
        offer.accessAddress = makeAccessAddress(using: &generator)
        offer.crcInit = UInt32.random(in: 0...0xFF_FFFF, using: &generator)
        offer.timing = timing
        offer.channels = parameters.channels
        offer.hopIncrement = UInt8.random(in: 5...16, using: &generator)
        offer.sleepClockAccuracy = parameters.sleepClockAccuracy
        let end = start.advanced(by: RadioMode.le1M.duration(payloadCount: 34))
        offer.windowOffset = quietestOffset(from: end.advanced(by: delay), timing)
        return offer
    }

    /// The offset, in slots within one interval, whose events keep farthest from those of the other links.
    private func quietestOffset(from start: Instant, _ timing: ConnectionTiming) -> UInt16 {
        let slots = Int(timing.interval)
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
}

/// A random access address with the properties of Core 6.0, Vol 6, Part B, 2.1.2.
func makeAccessAddress(using generator: inout SeededGenerator) -> UInt32 {
    while true {
        let address = UInt32.random(in: 0...UInt32.max, using: &generator)
        if isValidAccessAddress(address) { return address }
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
