package import BluetoothTypes
import ByteCodec
package import EventLoop

/// Advertising of one set with extended PDUs: each event announces on the primary channels an auxiliary packet on a
/// data channel, which holds the data, or its beginning.
///
///           granted           sent, on the last channel               sent
///     idle ─────────▶ announcing ────────────────────▶ auxiliary ─────────────▶ chain … ──▶ idle
///                                                         │ scannable, connectable
///                                                         ▼          AUX_SCAN_REQ
///                                                     listening ─────────────────▶ responding, chain … ──▶ idle
///                                                         │ AUX_CONNECT_REQ           sent
///                                                         └────────────▶ accepting ─────────▶ over, connected
///
/// Source: Core 6.0, Vol 6, Part B, 4.4.2.
package struct ExtendedAdvertiser: Sendable {
    package struct Parameters: Sendable {
        package var mode = ExtendedPayload.Mode.nonconnectable
        package var interval = Duration.milliseconds(1280)
        /// Of 37...39, in this order.
        package var channels: [UInt8] = [37, 38, 39]
        package var primary = RadioMode.le1M
        package var secondary = RadioMode.le1M
        package var info = AdvertisingDataInfo(rawValue: 0)
        package var isAnonymous = false
        /// In dBm, if it is to be said.
        package var txPower: Int8?
        package var address = DeviceAddress(0)
        package var usesPrivateAddress = false
        package var resolvingList = ResolvingList()
        /// Whom directed advertising is for: the identity address, if there is one.
        package var peer: DeviceAddress?
        package var target: DeviceAddress?
        package var data: [UInt8] = []
        package var scanResponse: [UInt8] = []
        package var scannersAllowed: [DeviceAddress]?
        package var initiatorsAllowed: [DeviceAddress]?
        /// When it ends by itself.
        package var expiry: Instant?
        package var maxEvents: Int?
        /// The periodic advertising of the set, of which it tells; its owner keeps it up to date.
        package var train: PeriodicTrain?

        package init() {}
    }

    private enum State {
        case idle, announcing, auxiliary, listening, chaining, over
        case accepting(ConnectIndication, initiator: ResolvingList.Party)
    }

    package private(set) var parameters: Parameters
    /// Events that have taken place.
    package private(set) var events = 0
    private var generator: SeededGenerator
    private var state = State.idle { didSet { if case .over = state { nextStart = nil } } }
    private var channelIndex = 0
    private var auxiliaryChannel: UInt8 = 0
    private var auxiliaryStart = Instant()
    /// What of the data follows in further packets.
    private var rest: ArraySlice<UInt8> = []
    private var next: AuxiliaryPointer?
    private var nextEvent: Instant { didSet { plan() } }

    // Both are asked for far more often than they change. A property that is computed is asked by a copy of it all.

    /// When the next event wants to begin; `nil` when there will be none.
    package private(set) var nextStart: Instant?
    /// How long one event may take.
    package private(set) var eventTime = Duration.zero

    /// From the end of a packet to the start of the auxiliary one that it points to, at least: `T_MAFS`. 4.1.2.
    static let auxiliarySpace = Duration.microseconds(300)

    package init(_ parameters: Parameters, generator: SeededGenerator, at now: Instant) {
        self.parameters = parameters
        self.generator = generator
        nextEvent = now
        plan()
    }

    package mutating func update(_ change: (inout Parameters) -> Void) {
        change(&parameters)
        plan()
    }

    private mutating func plan() {
        eventTime = longestEvent
        if case .over = state { return }
        nextStart = parameters.expiry.map { min($0, nextEvent) } ?? nextEvent
    }

    private var longestEvent: Duration {
        let announcement = parameters.primary.duration(payloadCount: 18) + AirTiming.interFrameSpace
        let packets = 1 + max(parameters.data.count, parameters.scanResponse.count) / 240
        let auxiliary = parameters.secondary.duration(payloadCount: min(255, parameters.data.count + 20))
        return announcement * parameters.channels.count + (auxiliary + Self.auxiliarySpace) * packets
            + parameters.secondary.phy.answerWindow + answerTime
    }

    /// How long a request lasts on the auxiliary channel, and what follows it.
    private var answerTime: Duration {
        let mode = parameters.secondary
        switch parameters.mode {
        // AUX_CONNECT_REQ has 34 octets, and its answer 14 (2.3.3); AUX_SCAN_REQ has 12 (2.3.2).
        case .connectable:
            return mode.duration(payloadCount: 34) + AirTiming.interFrameSpace + mode.duration(payloadCount: 14)
        case .scannable:
            return mode.duration(payloadCount: 12) + AirTiming.interFrameSpace
                + mode.duration(payloadCount: min(255, parameters.scanResponse.count + 20))
        default: return .zero
        }
    }

    package mutating func handle(
        _ input: RadioInput, at now: Instant, reports: inout [Advertiser.Report]
    ) -> RadioOrder {
        switch (state, input) {
        case (.idle, .granted):
            return begin(at: now, reports: &reports)
        case (.announcing, .sent):
            return announceNext(at: now)
        case (.auxiliary, .sent):
            guard parameters.mode != .nonconnectable else { return chain(at: now) }
            state = .listening
            return .listen(
                channel: auxiliaryChannel, phy: parameters.secondary.phy, accessAddress: advertisingAccessAddress,
                until: now.advanced(by: parameters.secondary.phy.answerWindow))
        case (.chaining, .sent):
            return chain(at: now)
        case (.listening, .heard(let reception)):
            return answer(reception, at: now, reports: &reports)
        case (.accepting(let offer, let initiator), .sent):
            state = .over
            // The transmit window is counted from the end of AUX_CONNECT_REQ. 4.5.3.
            let response = parameters.secondary.duration(payloadCount: 14) + AirTiming.interFrameSpace
            reports.append(
                .connected(
                    offer, initiator: initiator, local: parameters.address, selectsAlgorithm2: true,
                    end: now.advanced(by: .zero - response)))
            return .release
        case (.over, _):
            return .release
        case (_, .revoked), (.listening, .silence), (.idle, _), (.announcing, _), (.auxiliary, _), (.listening, _),
            (.chaining, _), (.accepting, _):
            state = .idle
            return .release
        }
    }

    // MARK: One event

    private mutating func begin(at now: Instant, reports: inout [Advertiser.Report]) -> RadioOrder {
        if let expiry = parameters.expiry, now >= expiry {
            state = .over
            reports.append(.expired)
            return .release
        }
        if let maxEvents = parameters.maxEvents, events >= maxEvents {
            state = .over
            reports.append(.limitReached)
            return .release
        }
        events += 1
        nextEvent = now.advanced(by: parameters.interval + .microseconds(Int.random(in: 0...10_000, using: &generator)))
        channelIndex = 0
        auxiliaryChannel = UInt8.random(in: 0...36, using: &generator)
        // The announcements are all of one length, and follow one another at T_IFS.
        let announcement = parameters.primary.duration(payloadCount: announcementPayload(at: now).octets.count)
        let spacing = announcement + AirTiming.interFrameSpace
        let last = now.advanced(by: spacing * (parameters.channels.count - 1) + announcement)
        auxiliaryStart = last.advanced(by: Self.auxiliarySpace)
        return announce(at: now)
    }

    /// ADV_EXT_IND.
    private func announcementPayload(at start: Instant) -> ExtendedPayload {
        var payload = ExtendedPayload()
        payload.mode = parameters.mode
        payload.info = parameters.info
        payload.auxiliary = AuxiliaryPointer(
            channel: auxiliaryChannel, offset: max(.zero, start.duration(to: auxiliaryStart)),
            phy: parameters.secondary.phy)
        return payload
    }

    private mutating func announce(at start: Instant) -> RadioOrder {
        state = .announcing
        return .transmit(
            announcementPayload(at: start).frame(
                channel: parameters.channels[channelIndex], mode: parameters.primary), at: start)
    }

    private mutating func announceNext(at now: Instant) -> RadioOrder {
        channelIndex += 1
        guard channelIndex == parameters.channels.count else {
            return announce(at: now.advanced(by: AirTiming.interFrameSpace))
        }
        // AUX_ADV_IND.
        var payload = ExtendedPayload()
        payload.mode = parameters.mode
        payload.advertiser = parameters.isAnonymous ? nil : parameters.address
        payload.target = parameters.target
        payload.info = parameters.info
        payload.txPower = parameters.txPower
        payload.sync = parameters.train?.info(at: auxiliaryStart)
        // A scannable advertisement has its data in the answer to a request.
        let data = parameters.mode == .scannable ? [] : parameters.data[...]
        state = .auxiliary
        return transmit(payload, data, channel: auxiliaryChannel, at: auxiliaryStart)
    }

    /// Sends as much of the data as fits, and points to the packet that holds the rest.
    private mutating func transmit(
        _ payload: ExtendedPayload, _ data: ArraySlice<UInt8>, channel: UInt8, at start: Instant
    ) -> RadioOrder {
        var payload = payload
        rest = payload.take(data, mode: parameters.secondary, using: &generator)
        next = payload.auxiliary
        auxiliaryStart = start
        return .transmit(payload.frame(channel: channel, mode: parameters.secondary), at: start)
    }

    /// AUX_CHAIN_IND.
    private mutating func chain(at now: Instant) -> RadioOrder {
        guard let next else {
            state = .idle
            return .release
        }
        var payload = ExtendedPayload()
        payload.info = parameters.info
        state = .chaining
        return transmit(payload, rest, channel: next.channel, at: auxiliaryStart.advanced(by: next.offset))
    }

    // MARK: Answers

    private mutating func answer(
        _ reception: Reception, at now: Instant, reports: inout [Advertiser.Report]
    ) -> RadioOrder {
        let header = AdvertisingHeader(rawValue: reception.frame.header)
        let start = now.advanced(by: AirTiming.interFrameSpace)
        state = .idle
        guard reception.isIntact else { return .release }
        switch (header.kind, parameters.mode) {
        case (.scanRequest, .scannable):
            guard let request = try? AddressPair(octets: reception.frame.payload),
                isCalled(request.target, header.targetKind),
                let scanner = allowed(request.sender, header.senderKind, by: parameters.scannersAllowed)
            else { return .release }
            reports.append(.scanned(by: scanner))
            var payload = ExtendedPayload()
            payload.advertiser = parameters.address
            payload.info = parameters.info
            state = .chaining
            return transmit(payload, parameters.scanResponse[...], channel: auxiliaryChannel, at: start)
        case (.connect, .connectable):
            guard let offer = try? ConnectIndication(octets: reception.frame.payload), offer.isAcceptable,
                isCalled(offer.advertiser, header.targetKind),
                let initiator = allowed(offer.initiator, header.senderKind, by: parameters.initiatorsAllowed)
            else { return .release }
            state = .accepting(offer, initiator: initiator)
            var payload = ExtendedPayload()
            payload.advertiser = parameters.address
            payload.target = DeviceAddress(offer.initiator.value, kind: header.senderKind)
            return .transmit(
                payload.frame(.connectResponse, channel: auxiliaryChannel, mode: parameters.secondary), at: start)
        default:
            return .release
        }
    }

    private func isCalled(_ address: DeviceAddress, _ kind: DeviceAddress.Kind) -> Bool {
        DeviceAddress(address.value, kind: kind) == parameters.address
    }

    /// Who it is; `nil` for somebody who may not ask.
    private mutating func allowed(
        _ address: DeviceAddress, _ kind: DeviceAddress.Kind, by list: [DeviceAddress]?
    ) -> ResolvingList.Party? {
        guard let sender = parameters.resolvingList.recognize(DeviceAddress(address.value, kind: kind)) else {
            return nil
        }
        let isAllowed = parameters.peer.map { $0 == sender.address } ?? list?.contains(sender.address) ?? true
        return isAllowed ? sender : nil
    }
}
