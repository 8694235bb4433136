package import BluetoothTypes
import ByteCodec
package import EventLoop

/// Legacy scanning, passive or active.
///
///           granted               ADV_IND, ADV_SCAN_IND (active)           sent
///     idle ─────────▶ listening ─────────────────────────────▶ requesting ─────▶ awaiting
///       ▲    end of window │ ▲                                                      │
///       └──────────────────┘ └──────────────────────────────────────────────────────┘ SCAN_RSP, or silence
///
/// Source: Core 6.0, Vol 6, Part B, 4.4.3.
package struct Scanner: Sendable {
    package struct Parameters: Sendable {
        /// When to listen on one PHY, and whether to ask.
        package struct Listening: Sendable {
            package var phy: RadioPHY
            package var isActive: Bool
            package var interval: Duration
            package var window: Duration

            package init(
                phy: RadioPHY = .le1M, isActive: Bool = false, interval: Duration = .milliseconds(10),
                window: Duration = .milliseconds(10)
            ) {
                self.phy = phy
                self.isActive = isActive
                self.interval = interval
                self.window = window
            }
        }

        /// LE 1M, coded, or both.
        package var listening = [Listening()]
        /// Whether it follows advertisements to their auxiliary packets.
        package var isExtended = false
        package var address = DeviceAddress(0)
        /// Whether it shows a private address to whoever is in the resolving list.
        package var usesPrivateAddress = false
        package var resolvingList = ResolvingList()
        /// Whether directed advertising to private addresses of unknown owners is reported too.
        package var reportsUnresolvedTargets = false
        /// Whose advertising is reported; `nil` for everybody's.
        package var advertisersAllowed: [DeviceAddress]?
        package var filtersDuplicates = false

        package init() {}
    }

    /// One packet of an advertiser.
    package struct Report: Sendable {
        package var kind: AdvertisingHeader.Kind
        package var advertiser: ResolvingList.Party
        /// Of directed advertising, if it is not known whom it is for.
        package var unresolvedTarget: DeviceAddress?
        package var data: ArraySlice<UInt8>
        /// In dBm.
        package var rssi: Int8
        /// What an extended advertisement says besides.
        package var details: ExtendedDetails?
        /// Of a scan response: the kind of the advertisement that it was asked for upon.
        package var answered: AdvertisingHeader.Kind?
    }

    enum State {
        case idle, listening, requesting(DeviceAddress), awaiting(DeviceAddress)
        /// The auxiliary packet is due.
        case following(Trail)
        /// AUX_SCAN_REQ goes out, AUX_SCAN_RSP is due.
        case asking(Trail), hoping(Trail)
    }

    struct Sighting: Hashable {
        var kind: AdvertisingHeader.Kind
        var advertiser: DeviceAddress
        var info: AdvertisingDataInfo?
        var isScanResponse = false
    }

    /// Whether somebody waits for a train: those that are heard of are kept then.
    package var noticesTrains = false
    package var trains: [TrainSighting] = []
    package let usesPrivateAddress: Bool
    package var resolvingList: ResolvingList
    let parameters: Parameters
    var generator: SeededGenerator
    var state = State.idle
    private var windows: ScanWindows { didSet { nextStart = windows.start } }
    /// When it wants the radio; in the past if the radio was taken away within a window.
    package private(set) var nextStart: Instant
    var seen: Set<Sighting> = []
    var backoff = Backoff()
    /// The kind of the advertisement upon which the last request was sent.
    private var asked = AdvertisingHeader.Kind.connectable

    package init(_ parameters: Parameters, generator: SeededGenerator, at now: Instant) {
        self.parameters = parameters
        self.generator = generator
        usesPrivateAddress = parameters.usesPrivateAddress
        resolvingList = parameters.resolvingList
        windows = ScanWindows(
            parameters.listening.map { ScanWindow(phy: $0.phy, interval: $0.interval, window: $0.window, at: now) })
        nextStart = windows.start
    }

    var window: ScanWindow { windows.current }
    /// Whether it asks on the PHY that it listens to.
    var isActive: Bool { parameters.listening.contains { $0.phy == window.phy && $0.isActive } }

    /// Waits until it is granted the radio anew.
    package mutating func pause() { state = .idle }

    /// Reports once more what it has reported before.
    package mutating func forgetDuplicates() { seen.removeAll() }

    package mutating func handle(_ input: RadioInput, at now: Instant, reports: inout [Report]) -> RadioOrder {
        switch (state, input) {
        case (.idle, .granted):
            return resume(at: now)
        case (.listening, .heard(let reception)):
            return hear(reception, at: now, reports: &reports)
        case (.requesting(let advertiser), .sent):
            state = .awaiting(advertiser)
            return .listen(
                channel: window.channel, accessAddress: advertisingAccessAddress,
                until: now.advanced(by: RadioPHY.le1M.answerWindow))
        case (.awaiting(let advertiser), .heard(let reception)):
            let hasAnswered = isAnswer(reception, of: advertiser)
            backoff.note(success: hasAnswered, using: &generator)
            if hasAnswered { report(reception, reports: &reports) }
            return resume(at: now)
        case (.awaiting, .silence):
            backoff.note(success: false, using: &generator)
            return resume(at: now)
        case (.following, _), (.asking, _), (.hoping, _):
            return goOn(input, at: now, reports: &reports)
        case (.listening, .silence):
            // Between two windows others may have the radio.
            windows.advance(to: now)
            state = .idle
            return .release
        case (_, .revoked):
            state = .idle
            return .release
        case (.idle, _), (.listening, _), (.requesting, _), (.awaiting, _):
            state = .idle
            return .release
        }
    }

    mutating func resume(at now: Instant) -> RadioOrder {
        guard let window = windows.open(at: now) else {
            state = .idle
            return .release
        }
        state = .listening
        return window.listen()
    }

    private mutating func hear(_ reception: Reception, at now: Instant, reports: inout [Report]) -> RadioOrder {
        if parameters.isExtended, AdvertisingHeader(rawValue: reception.frame.header).kind == .extended {
            return hearAnnouncement(reception, at: now, reports: &reports)
        }
        guard reception.isIntact, let advertiser = report(reception, reports: &reports) else { return resume(at: now) }
        let kind = AdvertisingHeader(rawValue: reception.frame.header).kind
        let isScannable = kind == .connectable || kind == .scannable
        let isKnown =
            parameters.filtersDuplicates
            && seen.contains(Sighting(kind: .scanResponse, advertiser: advertiser.address))
        guard isActive, isScannable, !isKnown, backoff.isOver() else { return resume(at: now) }
        let target = advertiser.addressOnAir
        asked = kind
        state = .requesting(target)
        var own = parameters.address
        if usesPrivateAddress { own = resolvingList.localAddress(for: advertiser.entry, own: own) }
        let payload = AddressPair(sender: own, target: target).octets
        let header = AdvertisingHeader(
            .scanRequest, sender: own.kind, target: target.kind, payloadCount: payload.count)
        return .transmit(
            RadioFrame(
                channel: window.channel, accessAddress: advertisingAccessAddress, header: header.rawValue,
                payload: payload[...]),
            at: now.advanced(by: AirTiming.interFrameSpace))
    }

    private func isAnswer(_ reception: Reception, of advertiser: DeviceAddress) -> Bool {
        guard reception.isIntact, AdvertisingHeader(rawValue: reception.frame.header).kind == .scanResponse,
            let response = try? Advertisement(octets: reception.frame.payload)
        else { return false }
        return response.advertiser.value == advertiser.value
    }

    /// Reports what the packet says, unless it is filtered; returns the advertiser if it may be listened to.
    @discardableResult
    private mutating func report(_ reception: Reception, reports: inout [Report]) -> ResolvingList.Party? {
        let header = AdvertisingHeader(rawValue: reception.frame.header)
        let address: DeviceAddress
        var target: DeviceAddress?
        var data: ArraySlice<UInt8> = []
        switch header.kind {
        case .connectable, .scannable, .nonconnectable, .scanResponse:
            guard let content = try? Advertisement(octets: reception.frame.payload) else { return nil }
            address = content.advertiser
            data = content.data
        case .directed:
            guard let pair = try? AddressPair(octets: reception.frame.payload) else { return nil }
            address = pair.sender
            target = DeviceAddress(pair.target.value, kind: header.targetKind)
        default:
            return nil
        }
        guard let advertiser = resolvingList.recognize(DeviceAddress(address.value, kind: header.senderKind)) else {
            return nil
        }
        if let allowed = parameters.advertisersAllowed, !allowed.contains(advertiser.address) { return nil }
        if let direct = target {
            if resolvingList.isLocal(direct, calledBy: advertiser.entry, own: parameters.address) {
                target = nil
            } else if !parameters.reportsUnresolvedTargets || !ResolvingList.isResolvable(direct) {
                return nil
            }
        }
        let sighting = Sighting(kind: header.kind, advertiser: advertiser.address)
        if !parameters.filtersDuplicates || seen.insert(sighting).inserted {
            reports.append(
                Report(
                    kind: header.kind, advertiser: advertiser, unresolvedTarget: target, data: data,
                    rssi: reception.rssi, answered: header.kind == .scanResponse ? asked : nil))
        }
        return advertiser
    }
}

/// How scanners that talk over each other make way: after failures they let more and more chances pass.
///
/// Source: Core 6.0, Vol 6, Part B, 4.4.3.2.
struct Backoff: Sendable {
    private var upperLimit = 1
    private var count = 1
    private var successes = 0
    private var failures = 0

    /// Counts one chance to send a request, and tells whether it may be used.
    mutating func isOver() -> Bool {
        count -= 1
        return count <= 0
    }

    mutating func note(success: Bool, using generator: inout SeededGenerator) {
        if success {
            failures = 0
            successes += 1
            if successes == 2 {
                upperLimit = max(1, upperLimit / 2)
                successes = 0
            }
        } else {
            successes = 0
            failures += 1
            if failures == 2 {
                upperLimit = min(256, upperLimit * 2)
                failures = 0
            }
        }
        count = Int.random(in: 1...upperLimit, using: &generator)
    }
}
