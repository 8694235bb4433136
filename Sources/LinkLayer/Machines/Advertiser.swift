package import BluetoothTypes
import ByteCodec
package import EventLoop

/// The access address of the advertising channels. Core 6.0, Vol 6, Part B, 2.1.2.
package let advertisingAccessAddress: UInt32 = 0x8E89_BED6

/// Legacy advertising: events of one PDU on each channel, and an ear for the answers.
///
///           granted              sent               silence, or not for us
///     idle ─────────▶ advertising ────▶ listening ─────────────────────────▶ next channel, or idle
///                                           │ SCAN_REQ                            ▲
///                                           ├──────────▶ responding ──────────────┘ sent
///                                           │ CONNECT_IND
///                                           └──────────▶ over, with a connection
///
/// Source: Core 6.0, Vol 6, Part B, 4.4.2.
package struct Advertiser: Sendable {
    package struct Parameters: Sendable {
        /// Of 37...39, in this order.
        package var channels: [UInt8] = [37, 38, 39]
        package var kind = AdvertisingHeader.Kind.connectable
        /// An event every 3.75 ms, for 1.28 s at most. Vol 6, Part B, 4.4.2.4.3.
        package var isHighDuty = false
        /// From the start of an event to the start of the next, without the random delay.
        package var interval = Duration.milliseconds(1280)
        /// The address that it shows.
        package var address = DeviceAddress(0)
        /// Whether that is, or may become, a private one.
        package var usesPrivateAddress = false
        package var resolvingList = ResolvingList()
        /// Whom directed advertising is for: the identity address, if there is one.
        package var peer: DeviceAddress?
        /// How the advertising calls the peer.
        package var target: DeviceAddress?
        package var data: [UInt8] = []
        package var scanResponse: [UInt8] = []
        /// Whose scan requests are heard; `nil` for everybody's.
        package var scannersAllowed: [DeviceAddress]?
        /// Whose connection requests are heard; `nil` for everybody's.
        package var initiatorsAllowed: [DeviceAddress]?
        /// When it ends by itself.
        package var expiry: Instant?
        package var maxEvents: Int?

        package init() {}
    }

    package enum Report: Sendable {
        /// An initiator made an offer; advertising is over. The PDU ended at `end`.
        case connected(
            ConnectIndication, initiator: ResolvingList.Party, local: DeviceAddress, selectsAlgorithm2: Bool,
            end: Instant)
        /// Its time is over, and nobody has come: of high duty cycle advertising, or as the host has set it.
        case expired
        /// All the events have taken place that the host wanted.
        case limitReached
        /// A scan request came, and is answered.
        case scanned(by: ResolvingList.Party)
    }

    private enum State { case idle, advertising, listening, responding, over }

    private var framePayload: ArraySlice<UInt8> = []
    private var frameHeader: UInt16 = 0
    private var responseHeader: UInt16 = 0
    private var state = State.idle
    private var channelIndex: UInt8 = 0

    // Both are asked for far more often than they change. A property that is computed is asked by a copy of it all.

    /// When the next event wants to begin; `nil` when there will be none.
    package private(set) var nextStart: Instant?
    /// How long one event may take.
    package private(set) var eventTime = Duration.zero
    /// Events that have taken place.
    package private(set) var events = 0
    private var generator: SeededGenerator
    private var parameters: Parameters
    private var nextEvent: Instant { didSet { plan() } }
    private let expiry: Instant?
    private var responsePayload: ArraySlice<UInt8> = []

    package init(_ parameters: Parameters, generator: SeededGenerator, at now: Instant) {
        self.parameters = parameters
        self.generator = generator
        nextEvent = now
        expiry = parameters.isHighDuty ? now.advanced(by: .milliseconds(1280)) : parameters.expiry
        setData(parameters.data)
        setScanResponse(parameters.scanResponse)
    }

    package var usesPrivateAddress: Bool { parameters.usesPrivateAddress }

    /// The addresses that are on the air from now on, and the list that they are from.
    package mutating func setAddresses(
        own: DeviceAddress, target: DeviceAddress?, resolvingList: ResolvingList
    ) {
        parameters.address = own
        parameters.target = target
        parameters.resolvingList = resolvingList
        setData(parameters.data)
        setScanResponse(parameters.scanResponse)
    }

    /// What it says from now on, at most 31 octets.
    package mutating func setData(_ data: [UInt8]) {
        parameters.data = data
        let sender = parameters.address
        let octets =
            if let target = parameters.target {
                AddressPair(sender: sender, target: target).octets
            } else {
                Advertisement(advertiser: sender, data: data[...]).octets
            }
        framePayload = octets[...]
        frameHeader =
            AdvertisingHeader(
                parameters.kind, selectsAlgorithm2: isConnectable, sender: sender.kind, target: parameters.target?.kind,
                payloadCount: octets.count
            ).rawValue
        plan()
    }

    /// What it answers to scan requests from now on, at most 31 octets.
    package mutating func setScanResponse(_ data: [UInt8]) {
        parameters.scanResponse = data
        let octets = Advertisement(advertiser: parameters.address, data: data[...]).octets
        responsePayload = octets[...]
        responseHeader =
            AdvertisingHeader(.scanResponse, sender: parameters.address.kind, payloadCount: octets.count).rawValue
        plan()
    }

    private mutating func plan() {
        eventTime = longestEvent
        // An event that would not end in time does not begin.
        let expires = expiry.map { nextEvent.advanced(by: eventTime) > $0 } ?? false
        nextStart = state == .over ? nil : expires ? expiry : nextEvent
    }

    /// On each channel the PDU and the wait for an answer, and then a request with what follows it.
    private var longestEvent: Duration {
        let mode = RadioMode.le1M
        let exchange = mode.duration(payloadCount: framePayload.count) + mode.phy.answerWindow
        // CONNECT_IND has 34 octets, SCAN_REQ 12. 2.3.3.1 and 2.3.2.1.
        let connection = isConnectable ? mode.duration(payloadCount: 34) : .zero
        let scan =
            isScannable
            ? mode.duration(payloadCount: 12) + AirTiming.interFrameSpace
                + mode.duration(payloadCount: responsePayload.count) : .zero
        return (exchange + AirTiming.interFrameSpace) * parameters.channels.count + max(connection, scan)
    }

    package mutating func handle(_ input: RadioInput, at now: Instant, reports: inout [Report]) -> RadioOrder {
        switch (state, input) {
        case (.idle, .granted):
            if let expiry, now >= expiry { return end(.expired, &reports) }
            if let maxEvents = parameters.maxEvents, events >= maxEvents { return end(.limitReached, &reports) }
            events += 1
            nextEvent = now.advanced(by: eventSpacing())
            channelIndex = 0
            return advertise(at: now)
        case (.advertising, .sent):
            guard parameters.kind != .nonconnectable else { return nextChannel(at: now) }
            state = .listening
            return .listen(
                channel: parameters.channels[Int(channelIndex)], accessAddress: advertisingAccessAddress,
                until: now.advanced(by: RadioPHY.le1M.answerWindow))
        case (.listening, .heard(let reception)):
            return answer(reception, at: now, reports: &reports)
        case (.listening, .silence), (.responding, .sent):
            return nextChannel(at: now)
        case (_, .revoked):
            state = .idle
            return .release
        case (.over, _), (.idle, _), (.advertising, _), (.listening, _), (.responding, _):
            return .release
        }
    }

    /// `advInterval` and the random `advDelay` of 0...10 ms. Vol 6, Part B, 4.4.2.2.1.
    private mutating func eventSpacing() -> Duration {
        guard !parameters.isHighDuty else { return .microseconds(3750) }
        return parameters.interval + .microseconds(Int.random(in: 0...10_000, using: &generator))
    }

    private mutating func advertise(at now: Instant) -> RadioOrder {
        state = .advertising
        return .transmit(frame(frameHeader, framePayload), at: now)
    }

    private mutating func nextChannel(at now: Instant) -> RadioOrder {
        channelIndex += 1
        guard channelIndex < UInt8(parameters.channels.count) else {
            state = .idle
            return .release
        }
        return advertise(at: now.advanced(by: AirTiming.interFrameSpace))
    }

    private func frame(_ header: UInt16, _ payload: ArraySlice<UInt8>) -> RadioFrame {
        RadioFrame(
            channel: parameters.channels[Int(channelIndex)], accessAddress: advertisingAccessAddress, header: header,
            payload: payload)
    }

    private mutating func answer(
        _ reception: Reception, at now: Instant, reports: inout [Report]
    ) -> RadioOrder {
        guard reception.isIntact else { return nextChannel(at: now) }
        let header = AdvertisingHeader(rawValue: reception.frame.header)
        switch header.kind {
        case .scanRequest where isScannable:
            guard let request = try? AddressPair(octets: reception.frame.payload),
                request.target.value == parameters.address.value, header.targetKind == parameters.address.kind,
                let scanner = allowed(request.sender, header.senderKind, by: parameters.scannersAllowed)
            else { return nextChannel(at: now) }
            reports.append(.scanned(by: scanner))
            state = .responding
            return .transmit(
                frame(responseHeader, responsePayload), at: now.advanced(by: AirTiming.interFrameSpace))
        case .connect where isConnectable:
            guard let offer = try? ConnectIndication(octets: reception.frame.payload), offer.isAcceptable,
                offer.advertiser.value == parameters.address.value, header.targetKind == parameters.address.kind,
                let initiator = allowed(offer.initiator, header.senderKind, by: parameters.initiatorsAllowed)
            else { return nextChannel(at: now) }
            return end(
                .connected(
                    offer, initiator: initiator, local: parameters.address, selectsAlgorithm2: header.selectsAlgorithm2,
                    end: now), &reports)
        default:
            // Another advertiser, or a peer that speaks to another: not for us.
            return nextChannel(at: now)
        }
    }

    private mutating func end(_ report: Report, _ reports: inout [Report]) -> RadioOrder {
        state = .over
        nextStart = nil
        reports.append(report)
        return .release
    }

    private var isScannable: Bool { parameters.kind == .connectable || parameters.kind == .scannable }
    private var isConnectable: Bool { parameters.kind == .connectable || parameters.kind == .directed }

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
