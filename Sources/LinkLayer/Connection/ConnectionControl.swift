import ByteCodec
package import EventLoop

// The link layer's control procedures: Core 6.0, Vol 6, Part B, 5.1.

extension Connection {
    // MARK: What the host asks for

    /// Starts a procedure, now or behind the one that is running.
    package mutating func start(
        _ procedure: LinkProcedure, at now: Instant, reports: inout [ConnectionReport]
    ) {
        guard phase != .over, !control.isTerminating else { return }
        control.waiting.append(procedure)
        startNext(at: now, reports: &reports)
        noteTimes()
    }

    /// Ends the connection, with a word to the peer. 5.1.6.
    package mutating func terminate(_ reason: LinkError, at now: Instant) {
        guard phase != .over, !control.isTerminating else { return }
        control.terminateUntil = now.advanced(by: timing.timeoutDuration)
        queue.removeAll()
        queue.append(urgent: controlPayload(.terminate, ControlCode(reason.rawValue)))
        attendNextEvent(at: now)
    }

    /// The host's word on the parameters that the peer asked for; `nil` refuses. 5.1.7.
    package mutating func answerParameterRequest(
        _ answer: LinkParameterRange?, at now: Instant
    ) {
        guard control.askedParameters != nil else { return }
        control.askedParameters = nil
        guard let answer else {
            sendReject(.parameterRequest, .unacceptableParameters, at: now)
            return
        }
        switch role {
        // An instant would pass while encryption holds its announcement back.
        case .central where encryption.isBusy: control.waiting.append(.update(answer))
        case .central: sendUpdate(answer, at: now)
        case .peripheral: sendControl(controlPayload(.parameterResponse, answer), at: now)
        }
    }

    package var hasParameterQuestion: Bool { control.askedParameters != nil }
    package var isUpdating: Bool {
        if control.pendingUpdate != nil { return true }
        if case .update = control.running?.procedure { return true }
        return control.waiting.contains { if case .update = $0 { true } else { false } }
    }

    mutating func startNext(at now: Instant, reports: inout [ConnectionReport]) {
        // What both sides have agreed for an instant comes first. 5.3.
        while control.running == nil, !control.waiting.isEmpty, !control.awaitsInstant, control.pendingSubrating == nil
        {
            let procedure = control.waiting.removeFirst()
            guard begin(procedure, at: now, reports: &reports) else { continue }
            control.running = (procedure, now.advanced(by: ControlState.responseTimeout))
        }
    }

    /// Sends the first PDU of a procedure; `false` if the answer is known already, or another must go before it.
    private mutating func begin(
        _ procedure: LinkProcedure, at now: Instant, reports: inout [ConnectionReport]
    ) -> Bool {
        switch procedure {
        case .update(let range):
            switch role {
            case .central: sendUpdate(range, at: now)
            case .peripheral: sendControl(controlPayload(.parameterRequest, range), at: now)
            }
        case .channelMap(let channels):
            var indication = ChannelMapIndication()
            indication.channels = channels
            let instant = nextInstant
            indication.instant = UInt16(truncatingIfNeeded: instant)
            control.pendingChannels = (channels, instant)
            sendControl(controlPayload(.channelMap, indication), at: now)
        case .featureExchange:
            if let features = control.remoteFeatures {
                reports.append(.remoteFeatures(.success, features))
                return false
            }
            let opcode = role == .central ? ControlOpcode.featureRequest : .peripheralFeatureRequest
            sendControl(controlPayload(opcode, FeatureSet(capabilities.features)), at: now)
        case .versionExchange:
            if let version = control.remoteVersion {
                reports.append(.remoteVersion(.success, version))
                return false
            }
            sendVersion(at: now)
        case .length(let maxTxOctets, let maxTxTime):
            control.ownMaxTxOctets = maxTxOctets
            control.ownMaxTxTime = maxTxTime
            sendControl(controlPayload(.lengthRequest, ownLengths), at: now)
        case .phy(let preferences):
            beginPHYUpdate(preferences, at: now)
        case .encrypt(let order):
            beginEncryption(order, at: now)
        case .subrate(let request):
            return beginSubrating(request, at: now, reports: &reports)
        case .ping:
            sendControl(controlPayload(.pingRequest, NoFields()), at: now)
        }
        return true
    }

    /// The peer has answered and more is to come: its time begins anew. 5.2.
    mutating func restartProcedure(at now: Instant) {
        control.running?.until = now.advanced(by: ControlState.responseTimeout)
    }

    mutating func finish(at now: Instant, reports: inout [ConnectionReport]) {
        control.running = nil
        startNext(at: now, reports: &reports)
    }

    // MARK: Sending

    mutating func sendControl(_ payload: [UInt8], at now: Instant) {
        // A peer that keeps asking and never acknowledges is not answered without end.
        guard queue.controlCount < 16 else { return }
        queue.append(control: payload)
        attendNextEvent(at: now)
    }

    mutating func sendUrgent(_ payload: [UInt8], at now: Instant) {
        queue.append(urgent: payload)
        attendNextEvent(at: now)
    }

    mutating func sendReject(_ opcode: ControlOpcode, _ error: LinkError, at now: Instant) {
        sendControl(controlPayload(.rejectExtended, ExtendedReject(rejectedOpcode: opcode, error: error)), at: now)
    }

    mutating func sendVersion(at now: Instant) {
        guard !control.hasSentVersion else { return }
        control.hasSentVersion = true
        sendControl(controlPayload(.version, capabilities.version), at: now)
    }

    /// An event that both sides reach after the announcement, even if some packets get lost. 5.5: at least six of those
    /// that are used.
    var nextInstant: Int { event + (6 + Int(timing.latency)) * subrating.factor }

    private mutating func sendUpdate(_ range: LinkParameterRange, at now: Instant) {
        var indication = ConnectionUpdateIndication()
        indication.timing = ConnectionTiming(
            interval: range.intervalMax, latency: range.latency, timeout: range.timeout)
        let instant = nextInstant
        indication.instant = UInt16(truncatingIfNeeded: instant)
        control.pendingUpdate = (indication, instant)
        sendControl(controlPayload(.connectionUpdate, indication), at: now)
    }

    // MARK: Instants

    /// Puts into force what was agreed for the event that is about to begin.
    mutating func applyInstants(reports: inout [ConnectionReport]) {
        if let pending = control.pendingChannels, event >= pending.event {
            channels = pending.channels
            control.pendingChannels = nil
            if case .channelMap = control.running?.procedure {
                finish(at: anchor, reports: &reports)
            } else {
                startNext(at: anchor, reports: &reports)
            }
        }
        applyPHYs(reports: &reports)
        guard let pending = control.pendingUpdate, event >= pending.event else { return }
        control.pendingUpdate = nil
        let isChange = timing != pending.indication.timing
        timing = pending.indication.timing
        interval = timing.intervalDuration
        anchor = anchor.advanced(by: AirTiming.slot * Int(pending.indication.windowOffset))
        window = role == .peripheral ? AirTiming.slot * Int(pending.indication.windowSize) : .zero
        if case .update = control.running?.procedure {
            reports.append(.updated(timing))
            finish(at: anchor, reports: &reports)
        } else {
            if isChange { reports.append(.updated(timing)) }
            startNext(at: anchor, reports: &reports)
        }
    }

    /// The event that an instant of 16 bits means; `nil` if it has passed. 5.5.
    func event(at instant: UInt16) -> Int? {
        let distance = instant &- UInt16(truncatingIfNeeded: event)
        return distance < 32767 ? event + Int(distance) : nil
    }

    // MARK: Receiving

    mutating func controlAcknowledged(_ opcode: UInt8, reports: inout [ConnectionReport]) {
        let opcode = ControlOpcode(rawValue: opcode)
        if opcode == .terminate { return close(.localHostTerminated, reports: &reports) }
        if opcode == .subrateIndication { subrateAcknowledged(reports: &reports) }
        encryptionAcknowledged(opcode)
    }

    mutating func receiveControl(
        _ payload: ArraySlice<UInt8>, at now: Instant, reports: inout [ConnectionReport]
    ) {
        guard let first = payload.first else { return }
        guard encryption.expects(ControlOpcode(rawValue: first)) else { return close(.micFailure, reports: &reports) }
        do throws(PacketError) {
            try take(
                ControlOpcode(rawValue: first), payload.dropFirst(), at: now, reports: &reports)
        } catch {
            // Of the wrong length or with reserved values: answered like one that is not known. 2.4.2.
            sendControl(controlPayload(.unknownResponse, ControlCode(first)), at: now)
        }
    }

    private mutating func take(
        _ opcode: ControlOpcode, _ fields: ArraySlice<UInt8>, at now: Instant, reports: inout [ConnectionReport]
    ) throws(PacketError) {
        switch opcode {
        case .connectionUpdate where role == .peripheral:
            takeUpdate(try ConnectionUpdateIndication(octets: fields), reports: &reports)
        case .channelMap where role == .peripheral:
            let indication = try ChannelMapIndication(octets: fields)
            guard let event = event(at: indication.instant) else { return close(.instantPassed, reports: &reports) }
            guard indication.channels.count >= 2 else { return }
            control.pendingChannels = (indication.channels, event)
        case .terminate:
            control.farewell = LinkError(rawValue: try ControlCode(octets: fields).code)
            queue.removeAll()
        case .unknownResponse:
            takeRefusal(
                of: ControlOpcode(rawValue: try ControlCode(octets: fields).code), .unsupportedRemoteFeature, at: now,
                reports: &reports)
        case .rejectExtended:
            let reject = try ExtendedReject(octets: fields)
            takeRefusal(
                of: ControlOpcode(rawValue: reject.rejectedOpcode), LinkError(rawValue: reject.errorCode), at: now,
                reports: &reports)
        case .reject:
            takeRefusal(of: nil, LinkError(rawValue: try ControlCode(octets: fields).code), at: now, reports: &reports)
        case .parameterRequest:
            takeParameterRequest(try LinkParameterRange(octets: fields), at: now, reports: &reports)
        case .subrateRequest where role == .central:
            takeSubrateRequest(try SubrateRequest(octets: fields), at: now)
        case .subrateIndication where role == .peripheral:
            takeSubrating(try SubrateIndication(octets: fields), at: now, reports: &reports)
        case .encryptionRequest, .encryptionResponse, .startEncryptionRequest, .startEncryptionResponse,
            .pauseEncryptionRequest, .pauseEncryptionResponse:
            try takeEncryption(opcode, fields, at: now, reports: &reports)
        default:
            try takeExchange(opcode, fields, at: now, reports: &reports)
        }
    }

    private mutating func takeUpdate(_ indication: ConnectionUpdateIndication, reports: inout [ConnectionReport]) {
        guard let event = event(at: indication.instant) else { return close(.instantPassed, reports: &reports) }
        guard indication.timing.isValid, indication.windowSize >= 1,
            indication.windowOffset <= indication.timing.interval
        else {
            return close(.invalidParameters, reports: &reports)
        }
        control.pendingUpdate = (indication, event)
    }

    private mutating func takeParameterRequest(
        _ range: LinkParameterRange, at now: Instant, reports: inout [ConnectionReport]
    ) {
        guard range.isValid else { return sendReject(.parameterRequest, .invalidParameters, at: now) }
        if role == .central, isUpdating {
            // The central's own change goes first. 5.3.
            return sendReject(.parameterRequest, .differentTransactionCollision, at: now)
        }
        guard capabilities.hostAnswersParameterRequests else {
            return sendReject(.parameterRequest, .unsupportedRemoteFeature, at: now)
        }
        control.askedParameters = range
        reports.append(.parametersRequested(range))
    }

    /// The peer will not take part in a procedure of this side.
    private mutating func takeRefusal(
        of opcode: ControlOpcode?, _ error: LinkError, at now: Instant, reports: inout [ConnectionReport]
    ) {
        guard let running = control.running?.procedure else { return }
        switch running {
        case .update where Self.isRefused(.parameterRequest, by: opcode):
            reports.append(.updateFailed(error))
        case .featureExchange where Self.isRefused(.featureRequest, .peripheralFeatureRequest, by: opcode):
            control.remoteFeatures = 0
            if !control.takeQuiet() { reports.append(.remoteFeatures(error, 0)) }
        case .versionExchange where Self.isRefused(.version, by: opcode):
            reports.append(.remoteVersion(error, VersionIndication()))
        case .subrate where role == .peripheral && Self.isRefused(.subrateRequest, by: opcode):
            reports.append(.subrated(error))
        case .phy where Self.isRefused(.phyRequest, by: opcode):
            reports.append(.phyUpdated(error))
        case .length where Self.isRefused(.lengthRequest, by: opcode),
            .ping where Self.isRefused(.pingRequest, by: opcode):
            break
        case .encrypt where Self.isRefused(.encryptionRequest, .pauseEncryptionRequest, by: opcode):
            encryptionRefused(error, at: now, reports: &reports)
        case .update, .channelMap, .featureExchange, .versionExchange, .length, .phy, .ping, .encrypt, .subrate:
            return
        }
        finish(at: now, reports: &reports)
    }

    /// - Parameter opcode: `nil` from LL_REJECT_IND, which does not say what it is about.
    private static func isRefused(_ requests: ControlOpcode..., by opcode: ControlOpcode?) -> Bool {
        opcode.map { requests.contains($0) } ?? true
    }
}
