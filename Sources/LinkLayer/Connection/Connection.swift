import BluetoothCrypto
package import BluetoothTypes
package import EventLoop

/// One connection, as central or as peripheral.
///
///              granted             central: sent; peripheral: at once
///     waiting ─────────▶ in event ────────────────────────────────────▶ listening
///        ▲                  │ ▲             heard: acknowledge, answer      │
///        │                  │ └─────────────────────────────────────────────┤
///        └──────────────────┴─────────────────────────────────────────────┘ silence, no more data, no more time
///
/// In each event the central speaks first, on the anchor; then both alternate at `T_IFS` while either has more data
/// and the next exchange ends before the next anchor.
///
/// Source: Core 6.0, Vol 6, Part B, 4.5.
package struct Connection: Sendable {
    enum Phase: Sendable { case waiting, transmitting, listening, over }

    package let role: ConnectionRole
    package let peer: DeviceAddress
    package let accessAddress: UInt32
    package internal(set) var timing: ConnectionTiming
    package internal(set) var channels: UsedChannels
    /// The strength of the last packet, in dBm; 127 before the first (Core 6.0, Vol 4, Part E, 7.5.4).
    package private(set) var rssi: Int8 = 127

    let capabilities: LinkCapabilities
    /// How many packets this side sends in one event at most; `nil` for as many as fit.
    package var packetsPerEvent: Int?
    let selection: ChannelSelection
    let clockDrift: Int

    // The event that is going on, or comes next.
    var phase = Phase.waiting
    /// Counted from 0 without wrapping; its low 16 bits are `connEventCounter`.
    package internal(set) var event = 0
    /// Where the central's first packet of that event is expected.
    var anchor: Instant
    /// How much later it may come: the transmit window, on a new connection or at an instant.
    var window: Duration
    /// The event in which the last anchor was heard: from there the clocks drift apart.
    var lastHeardEvent = 0
    /// Events jumped over under the latency that might still be attended.
    var skipped = 0
    package var subrating = Subrating()
    /// The last event in which a packet that was not empty was sent or received.
    var lastActivity: Int?
    package internal(set) var interval: Duration
    /// How this side sends, and how the peer's last packet was sent.
    var transmitMode = RadioMode.le1M
    var receiveMode = RadioMode.le1M
    private var widening: Duration
    /// How long an interval takes by this side's sleep clock.
    private var pace: Duration

    // Within an event.
    var channel: UInt8 = 0
    var limit: Instant
    /// Whether this device needs the radio for something else before the event's own end.
    private var isCutShort = false
    var hasAnchor = false
    var badPackets = 0
    /// How many packets this side has sent.
    var sentPackets = 0
    var peerHasMore = false
    var sentMore = false

    // Acknowledgement, Vol 6, Part B, 4.5.9.
    var sequence = false
    var nextExpected = false
    var inFlight: TransmitQueue.Outgoing?
    var queue = TransmitQueue()
    var completed = 0

    // Supervision, Vol 6, Part B, 4.5.2.
    var isEstablished = false
    var lastHeard: Instant
    var control = ControlState()
    var encryption = EncryptionState()

    // The answers to two questions that are asked with each packet, kept up to date by `noteTimes()`.
    /// When the radio is needed for the next event; `nil` when there will be none.
    package private(set) var nextStart: Instant?
    /// When ``wake(at:reports:)`` must be called, radio or not.
    package private(set) var deadline: Instant?

    package init(_ setup: ConnectionSetup, capabilities: LinkCapabilities) {
        role = setup.role
        peer = setup.peer
        accessAddress = setup.offer.accessAddress
        timing = setup.offer.timing
        channels = setup.offer.channels
        self.capabilities = capabilities
        packetsPerEvent = capabilities.packetsPerEvent
        control.phyPreferences = capabilities.phyPreferences
        control.acceptableSubrates = capabilities.acceptableSubrates
        selection =
            setup.usesAlgorithm2
            ? .algorithm2(accessAddress: setup.offer.accessAddress)
            : .algorithm1(hopIncrement: setup.offer.hopIncrement)
        clockDrift = capabilities.clockAccuracy + setup.peerClockAccuracy
        anchor = setup.windowStart
        window = setup.role == .peripheral ? AirTiming.slot * Int(setup.offer.windowSize) : .zero
        interval = setup.offer.timing.intervalDuration
        widening = Self.widening(per: interval, drift: clockDrift)
        pace = interval + Self.widening(per: interval, drift: capabilities.clockError)
        limit = setup.end
        transmitMode = setup.mode
        receiveMode = setup.mode
        lastHeard = setup.end
        noteTimes()
    }

    /// How far clocks with this accuracy may drift apart in an interval. Vol 6, Part B, 4.2.4.
    static func widening(per interval: Duration, drift: Int) -> Duration { interval * drift / 1_000_000 }

    // MARK: Asking for the radio

    /// To be called at the end of whatever changes the state from outside.
    mutating func noteTimes() {
        guard phase != .over else {
            (nextStart, deadline) = (nil, nil)
            return
        }
        nextStart = role == .central ? anchor : anchor.advanced(by: .zero - receiveMargin)
        var earliest = supervisionEnd
        if let deadline = control.deadline { earliest = min(earliest, deadline) }
        if let deadline = encryption.until { earliest = min(earliest, deadline) }
        if let deadline = encryption.proofDeadline { earliest = min(earliest, deadline) }
        deadline = earliest
    }

    private var receiveMargin: Duration {
        switch event - lastHeardEvent {
        case 0: AirTiming.sleepClockJitter
        case 1: AirTiming.sleepClockJitter + widening
        case let events: AirTiming.sleepClockJitter + widening * events
        }
    }

    /// When the event behind the next one begins, on this side's clock: what comes in between must have ended by then.
    package var startAfterNext: Instant {
        let start = anchor.advanced(by: interval)
        return role == .central ? start : start.advanced(by: .zero - receiveMargin - widening)
    }

    /// The time in which one exchange of the longest packets fits.
    package var exchangeTime: Duration {
        transmitMode.duration(payloadCount: max(nextCount, 27)) + receiveMode.duration(payloadCount: 27)
            + AirTiming.interFrameSpace * 2
    }

    /// How many of its events may still go by before the supervision ends it: whoever decides between two connections
    /// lets the one with fewer have the radio.
    package func eventsLeft(at now: Instant) -> Int {
        max(0, Int(now.duration(to: supervisionEnd) / (interval * subrating.factor)))
    }

    private var supervisionEnd: Instant {
        lastHeard.advanced(by: isEstablished ? timing.timeoutDuration : interval * 6)
    }

    /// Lets the supervision and the procedures' timers act.
    package mutating func wake(at now: Instant, reports: inout [ConnectionReport]) {
        guard phase != .over else { return }
        defer { noteTimes() }
        if now >= supervisionEnd {
            let reason: LinkError = isEstablished ? .connectionTimeout : .failedToBeEstablished
            // The host has asked for the end, and gets it.
            close(control.isTerminating ? .localHostTerminated : reason, reports: &reports)
        } else if let deadline = control.deadline, now >= deadline {
            close(control.isTerminating ? .localHostTerminated : .responseTimeout, reports: &reports)
        } else if let deadline = encryption.until, now >= deadline {
            close(.responseTimeout, reports: &reports)
        } else {
            superviseProof(at: now, reports: &reports)
        }
    }

    /// The radio is not to be had for the event that is due.
    package mutating func skipEvent(at now: Instant, reports: inout [ConnectionReport]) {
        beginEvent(at: now, reports: &reports)
        if phase != .over { step(skipping: 0) }
        noteTimes()
    }

    // MARK: Events

    package mutating func handle(
        _ input: RadioInput, at now: Instant, reports: inout [ConnectionReport]
    ) -> RadioOrder {
        defer { noteTimes() }
        switch (phase, input) {
        case (.waiting, .granted(let wantedBack)):
            return enterEvent(at: now, wantedBack: wantedBack, reports: &reports)
        case (.transmitting, .sent):
            return listenOn(at: now, reports: &reports)
        case (.listening, .heard(let reception)):
            return hear(reception, at: now, reports: &reports)
        case (.listening, .silence), (.transmitting, .revoked), (.listening, .revoked):
            return leaveEvent(reports: &reports)
        case (.waiting, _), (.transmitting, _), (.listening, _), (.over, _):
            return .release
        }
    }

    private mutating func enterEvent(
        at now: Instant, wantedBack: Instant?, reports: inout [ConnectionReport]
    ) -> RadioOrder {
        beginEvent(at: now, reports: &reports)
        guard phase != .over else { return .release }
        channel = selection.channel(event: event, used: channels)
        hasAnchor = false
        badPackets = 0
        sentPackets = 0
        peerHasMore = false
        limit = anchor.advanced(by: interval - AirTiming.interFrameSpace)
        // One exchange there is in any case: an event that nobody may speak in helps no one.
        isCutShort = false
        if let wantedBack {
            let end = max(wantedBack, now.advanced(by: exchangeTime))
            isCutShort = end < limit
            limit = min(limit, end)
        }
        switch role {
        case .central:
            return transmit(at: now)
        case .peripheral:
            phase = .listening
            return .listen(
                channel: channel, phy: receiveMode.phy, accessAddress: accessAddress,
                until: anchor.advanced(by: window + receiveMargin + receiveMode.phy.synchronization))
        }
    }

    private mutating func listenOn(at now: Instant, reports: inout [ConnectionReport]) -> RadioOrder {
        if let reason = control.farewell {
            // The acknowledgement of the peer's LL_TERMINATE_IND is out. Vol 6, Part B, 5.1.6.
            close(reason, reports: &reports)
            return .release
        }
        // A peripheral listens on only if the central has a reason to go on; a packet it could not read may hold one.
        let goesOn = role == .central || (sentMore || peerHasMore || badPackets > 0) && maySendAgain
        guard goesOn, role == .central || fits(from: now, emptyAnswer: true) else {
            return leaveEvent(reports: &reports)
        }
        phase = .listening
        return .listen(
            channel: channel, phy: receiveMode.phy, accessAddress: accessAddress,
            until: now.advanced(by: receiveMode.phy.answerWindow))
    }

    private mutating func hear(
        _ reception: Reception, at now: Instant, reports: inout [ConnectionReport]
    ) -> RadioOrder {
        rssi = reception.rssi
        if reception.frame.mode.phy == receiveMode.phy { receiveMode = reception.frame.mode }
        if role == .peripheral, !hasAnchor {
            // The anchor is the start of the event's first packet, readable or not. Vol 6, Part B, 4.5.1.
            hasAnchor = true
            anchor = reception.start
            window = .zero
            lastHeardEvent = event
            limit = min(limit, anchor.advanced(by: interval - AirTiming.interFrameSpace))
        }
        if reception.isIntact {
            badPackets = 0
            accept(reception, at: now, reports: &reports)
            if phase == .over { return .release }
        } else {
            badPackets += 1
            // Two in a row close the event. Vol 6, Part B, 4.5.6.
            if badPackets == 2 { return leaveEvent(reports: &reports) }
        }
        return goOn(at: now, reports: &reports)
    }

    private mutating func goOn(at now: Instant, reports: inout [ConnectionReport]) -> RadioOrder {
        let start = now.advanced(by: AirTiming.interFrameSpace)
        switch role {
        case .peripheral:
            let shortest = transmitMode.duration(payloadCount: inFlight?.payload.count ?? 0)
            guard start.advanced(by: shortest) <= limit || control.farewell != nil else {
                return leaveEvent(reports: &reports)
            }
            return transmit(at: start)
        case .central:
            // The peripheral listens on only for one of these reasons.
            let wantsMore = peerHasMore || sentMore || badPackets > 0 || inFlight != nil
            // The peripheral knows how long its packet is and where the event ends, but not what else is to be done
            // by this device.
            guard wantsMore, maySendAgain, fits(from: now, emptyAnswer: !peerHasMore || !isCutShort) else {
                return leaveEvent(reports: &reports)
            }
            return transmit(at: start)
        }
    }

    /// Whether this side's own limit leaves it another packet in this event.
    var maySendAgain: Bool { packetsPerEvent.map { sentPackets < $0 } ?? true }

    /// Whether the central's next packet and its answer still end before the event must.
    private func fits(from now: Instant, emptyAnswer: Bool) -> Bool {
        let longest = control.receiveLength.octets + (encryption.receive == nil ? 0 : LinkEncryption.micLength)
        let packet: Duration
        let answer: Duration
        switch role {
        case .central:
            packet = transmitMode.duration(payloadCount: inFlight?.payload.count ?? nextCount)
            answer = receiveMode.duration(payloadCount: emptyAnswer ? 0 : longest)
        case .peripheral:
            // It does not know what comes. Where somebody else is to have the radio on time, a central that has more
            // is taken to send the longest.
            packet = receiveMode.duration(payloadCount: isCutShort && peerHasMore ? longest : 0)
            answer = transmitMode.duration(payloadCount: 0)
        }
        return now.advanced(by: AirTiming.interFrameSpace + packet + AirTiming.interFrameSpace + answer) <= limit
    }

    private mutating func leaveEvent(reports: inout [ConnectionReport]) -> RadioOrder {
        if completed > 0 {
            reports.append(.completed(completed))
            completed = 0
        }
        phase = .waiting
        step(skipping: eventsToSkip)
        return .release
    }

    /// A peripheral with nothing to say may stay away. Vol 6, Part B, 4.5.1.
    private var eventsToSkip: Int {
        guard role == .peripheral, hasAnchor, isEstablished, queue.isEmpty, inFlight?.payload.isEmpty ?? true,
            !peerHasMore,
            !control.awaitsInstant, !continues
        else { return 0 }
        return Int(timing.latency) * subrating.factor
    }

    /// Goes to the next event that is used, or further.
    private mutating func step(skipping latency: Int) {
        let events = nextUsedEvent - event + latency
        event += events
        skipped = latency
        anchor = anchor.advanced(by: events == 1 ? pace : pace * events)
    }

    /// Goes back to the earliest of the skipped events that can still be reached: there is something to say.
    mutating func attendNextEvent(at now: Instant) {
        defer { noteTimes() }
        guard skipped > 0, phase == .waiting else { return }
        // Leave the radio time to get ready.
        let earliest = now.advanced(by: AirTiming.slot)
        while skipped > 0, anchor.advanced(by: .zero - pace * subrating.factor) > earliest {
            step(back: subrating.factor)
        }
    }

    private mutating func step(back events: Int) {
        event -= events
        skipped -= events
        anchor = anchor.advanced(by: .zero - pace * events)
    }

    /// Applies what was agreed for this event.
    private mutating func beginEvent(at now: Instant, reports: inout [ConnectionReport]) {
        let previous = interval
        applyInstants(reports: &reports)
        guard interval != previous else { return }
        widening = Self.widening(per: interval, drift: clockDrift)
        pace = interval + Self.widening(per: interval, drift: capabilities.clockError)
        endSubrating()
    }

    mutating func close(_ reason: LinkError, reports: inout [ConnectionReport]) {
        phase = .over
        reports.append(.closed(reason))
    }
}
