import EventLoop

// Connection subrating: Core 6.0, Vol 6, Part B, 4.5.1, 5.1.19 and 5.1.20.

/// Which of a link's events are used: one in so many, and some behind one in which there was something to say.
package struct Subrating: Hashable, Sendable {
    /// 1...500.
    package var factor = 1
    /// An event that is used, counted without wrapping.
    var base = 0
    /// For how many events after one with data both sides stay; 0...factor - 1.
    package var continuation = 0

    /// The first subrated event behind an event.
    func next(after event: Int) -> Int {
        let distance = (event - base) % factor
        return event + factor - (distance < 0 ? distance + factor : distance)
    }
}

/// What the central has announced and the peripheral has not acknowledged yet.
struct PendingSubrating: Sendable {
    var subrating: Subrating
    var timing: ConnectionTiming
    /// Whether the announcement has been on the air: from then on both the old and the new events are used.
    var isOut = false
}

extension Connection {
    /// The first event behind the present one that is used at all, the peripheral's latency left aside.
    var nextUsedEvent: Int {
        guard subrating.factor > 1 || control.pendingSubrating != nil else { return event + 1 }
        var next = subrating.next(after: event)
        if let pending = control.pendingSubrating, pending.isOut {
            next = min(next, pending.subrating.next(after: event))
        }
        if continues { next = event + 1 }
        // The event of an update's instant and the one before it are used in any case. 5.1.1.
        if let update = control.pendingUpdate?.event {
            for used in [update - 1, update] where used > event { next = min(next, used) }
        }
        return next
    }

    /// Whether the next event is a continuation event.
    var continues: Bool {
        guard subrating.continuation > 0, let lastActivity else { return false }
        // What was before the last subrated event does not count.
        let lastSubrated = subrating.next(after: event) - subrating.factor
        return lastActivity >= lastSubrated && event + 1 - lastActivity <= subrating.continuation
    }

    // MARK: The central, 5.1.19

    mutating func beginSubrating(_ request: SubrateRequest, at now: Instant, reports: inout [ConnectionReport]) -> Bool
    {
        guard role == .central else {
            sendControl(controlPayload(.subrateRequest, request), at: now)
            return true
        }
        guard let features = control.remoteFeatures else {
            // It must know first whether the peripheral's host is for it. The host has not asked for the answer.
            control.waiting.insert(.subrate(request), at: 0)
            control.isFeatureExchangeQuiet = true
            control.running = (.featureExchange, now.advanced(by: ControlState.responseTimeout))
            sendControl(controlPayload(.featureRequest, FeatureSet(capabilities.features)), at: now)
            return false
        }
        guard features & LinkFeatures.subratingHost.rawValue != 0 else {
            reports.append(.subrated(.unsupportedRemoteFeature))
            return false
        }
        control.acceptableSubrates = request
        announce(
            factor: request.factorMax, latency: request.maxLatency, continuation: request.continuation,
            timeout: request.timeout, at: now)
        return true
    }

    private mutating func announce(
        factor: UInt16, latency: UInt16, continuation: UInt16, timeout: UInt16, at now: Instant
    ) {
        // The present event is one that both sides can count from, and its high bits are the counter's. 5.1.19.
        var indication = SubrateIndication()
        indication.factor = factor
        indication.baseEvent = UInt16(truncatingIfNeeded: event)
        indication.latency = latency
        indication.continuation = min(continuation, factor - 1)
        indication.timeout = timeout
        control.pendingSubrating = PendingSubrating(
            subrating: Subrating(factor: Int(factor), base: event, continuation: Int(indication.continuation)),
            timing: ConnectionTiming(interval: timing.interval, latency: latency, timeout: timeout))
        sendControl(controlPayload(.subrateIndication, indication), at: now)
    }

    mutating func subrateAcknowledged(reports: inout [ConnectionReport]) {
        guard let pending = control.pendingSubrating else { return }
        control.pendingSubrating = nil
        apply(pending.subrating, pending.timing, reports: &reports)
    }

    /// LL_SUBRATE_REQ. 5.1.20.
    mutating func takeSubrateRequest(_ request: SubrateRequest, at now: Instant) {
        let acceptable = control.acceptableSubrates
        guard capabilities.supports(.subratingHost) else {
            return sendReject(.subrateRequest, .unsupportedRemoteFeature, at: now)
        }
        // Its own change goes first, and one of the parameters excludes it. 5.3.
        if control.pendingSubrating != nil { return sendReject(.subrateRequest, .procedureCollision, at: now) }
        if isUpdating || control.askedParameters != nil || control.awaitsInstant {
            return sendReject(.subrateRequest, .differentTransactionCollision, at: now)
        }
        let factor = min(request.factorMax, acceptable.factorMax)
        guard request.isValid, request.maxLatency <= acceptable.maxLatency, request.timeout <= acceptable.timeout,
            factor >= max(request.factorMin, acceptable.factorMin), request.holds(factor, interval: timing.interval)
        else {
            return sendReject(.subrateRequest, .unsupportedParameterValue, at: now)
        }
        announce(
            factor: factor, latency: request.maxLatency,
            continuation: max(acceptable.continuation, request.continuation), timeout: request.timeout, at: now)
    }

    // MARK: The peripheral

    /// LL_SUBRATE_IND: it is in force at once. 5.1.19.
    mutating func takeSubrating(_ indication: SubrateIndication, at now: Instant, reports: inout [ConnectionReport]) {
        let isPossible =
            (1...500).contains(indication.factor) && indication.continuation < indication.factor
            && Int(indication.factor) * (Int(indication.latency) + 1) <= 500
            && (10...3200).contains(indication.timeout)
        guard isPossible else { return close(.invalidParameters, reports: &reports) }
        var base = event & ~0xFFFF | Int(indication.baseEvent)
        // The counter has wrapped since the central wrote it.
        if indication.baseEvent >> 14 == 0b11, event >> 14 & 0b11 == 0 { base -= 0x1_0000 }
        let subrating = Subrating(
            factor: Int(indication.factor), base: base, continuation: Int(indication.continuation))
        let timing = ConnectionTiming(
            interval: timing.interval, latency: indication.latency, timeout: indication.timeout)
        apply(subrating, timing, reports: &reports)
    }

    // MARK: Both

    private mutating func apply(
        _ subrating: Subrating, _ timing: ConnectionTiming, reports: inout [ConnectionReport]
    ) {
        let isAsked = if case .subrate = control.running?.procedure { true } else { false }
        let isChange =
            self.timing != timing || self.subrating.factor != subrating.factor
            || self.subrating.continuation != subrating.continuation
        self.subrating = subrating
        self.timing = timing
        if isAsked || isChange { reports.append(.subrated(.success)) }
        if isAsked { finish(at: lastHeard, reports: &reports) } else { startNext(at: lastHeard, reports: &reports) }
    }

    /// Another interval ends it. 5.1.1.
    mutating func endSubrating() { subrating = Subrating() }
}
