import ByteCodec
package import EventLoop

/// The periodic advertising of one set: AUX_SYNC_IND at each interval, and AUX_CHAIN_IND for what it does not hold.
///
///           granted           sent, and there is more
///     idle ─────────▶ sending ────────────────────────▶ sending … ──▶ idle, an interval later
///
/// Nobody answers, and its times are certain: whoever has been told them need not listen to anything else.
///
/// Source: Core 6.0, Vol 6, Part B, 4.4.2.12.
package struct PeriodicTrain: Sendable {
    package struct Parameters: Sendable {
        /// In slots of 1.25 ms.
        package var interval: UInt16 = 80
        package var mode = RadioMode.le1M
        package var channels = UsedChannels.all
        package var clockAccuracyClass: UInt8 = 0
        /// Said in each packet, if at all.
        package var info: AdvertisingDataInfo?
        /// In dBm, if it is to be said.
        package var txPower: Int8?
        package var data: [UInt8] = []

        package init() {}

        /// How long one event may take.
        package var eventTime: Duration {
            let full = mode.duration(payloadCount: 255) + ExtendedAdvertiser.auxiliarySpace + .microseconds(30)
            let packets = max(1, (data.count + 239) / 240)
            return full * (packets - 1) + mode.duration(payloadCount: min(255, data.count + 12))
        }
    }

    private enum State { case idle, sending }

    package private(set) var parameters: Parameters
    /// What follows in further packets.
    private var rest: ArraySlice<UInt8> = []
    private var next: AuxiliaryPointer?
    private var packetStart = Instant()
    private var state = State.idle
    private var generator: SeededGenerator
    private let accessAddress: UInt32
    private let crcInit: UInt32
    private let selection: ChannelSelection
    private let interval: Duration
    /// `paEventCounter` of the event that is next, without wrapping.
    private var event = 0
    /// When that one begins.
    package private(set) var nextStart: Instant
    /// How long one event may take.
    package private(set) var eventTime: Duration
    /// Events in a row that had to be left out.
    package private(set) var missed = 0

    package init(_ parameters: Parameters, generator: SeededGenerator, at now: Instant) {
        self.parameters = parameters
        self.generator = generator
        accessAddress = makeAccessAddress(using: &self.generator)
        crcInit = UInt32.random(in: 0...0xFF_FFFF, using: &self.generator)
        selection = .algorithm2(accessAddress: accessAddress)
        interval = AirTiming.slot * Int(parameters.interval)
        // The announcement comes first, if it can.
        nextStart = now.advanced(by: interval)
        eventTime = parameters.eventTime
    }

    package mutating func update(_ change: (inout Parameters) -> Void) {
        change(&parameters)
        eventTime = parameters.eventTime
    }

    /// What a packet that begins at `start` says of the train.
    package func info(at start: Instant) -> SyncInfo {
        var info = SyncInfo()
        // The next event may be the one that is going on.
        var (first, counter) = (nextStart, event)
        while first <= start {
            first = first.advanced(by: interval)
            counter += 1
        }
        info.setOffset(start.duration(to: first))
        info.interval = parameters.interval
        info.channels = parameters.channels
        info.clockAccuracyClass = parameters.clockAccuracyClass
        info.accessAddress = accessAddress
        info.crcInit = crcInit
        info.event = UInt16(truncatingIfNeeded: counter)
        return info
    }

    /// The radio is not to be had for the event that is due.
    package mutating func skipEvent() {
        missed += 1
        step()
    }

    private mutating func step() {
        nextStart = nextStart.advanced(by: interval)
        event += 1
    }

    package mutating func handle(_ input: RadioInput, at now: Instant) -> RadioOrder {
        switch (state, input) {
        case (.idle, .granted):
            missed = 0
            state = .sending
            var payload = ExtendedPayload()
            payload.info = parameters.info
            payload.txPower = parameters.txPower
            return transmit(
                payload, parameters.data[...],
                channel: selection.channel(event: event, used: parameters.channels),
                at: now)
        case (.sending, .sent):
            guard let next else { return leave() }
            var payload = ExtendedPayload()
            payload.info = parameters.info
            return transmit(
                payload, rest, channel: next.channel, at: packetStart.advanced(by: next.offset))
        case (.idle, _), (.sending, _):
            return leave()
        }
    }

    private mutating func leave() -> RadioOrder {
        if case .sending = state { step() }
        state = .idle
        return .release
    }

    private mutating func transmit(
        _ payload: ExtendedPayload, _ data: ArraySlice<UInt8>, channel: UInt8, at start: Instant
    ) -> RadioOrder {
        var payload = payload
        rest = payload.take(data, mode: parameters.mode, using: &generator)
        next = payload.auxiliary
        packetStart = start
        return .transmit(
            payload.frame(channel: channel, mode: parameters.mode, accessAddress: accessAddress),
            at: start)
    }
}
