package import BluetoothCrypto
import ByteCodec
package import EventLoop

// Starting encryption, pausing it for a new key, and LE Ping: Core 6.0, Vol 6, Part B, 5.1.3, 5.1.8, 5.4.

extension Connection {
    package var isEncrypted: Bool { encryption.isOn && !encryption.isBusy }
    /// Whether encryption is being started, or changed.
    package var isChangingEncryption: Bool {
        if encryption.isBusy { return true }
        return control.waiting.contains { if case .encrypt = $0 { true } else { false } }
    }
    package var awaitsKey: Bool { if case .awaitingKey = encryption.phase { true } else { false } }

    /// How long the link may go without proof of the peer's key before the host hears of it.
    package mutating func setAuthenticatedPayloadTimeout(_ timeout: Duration, at now: Instant) {
        encryption.payloadTimeout = timeout
        noteProof(at: now)
        noteTimes()
    }

    // MARK: Central

    mutating func beginEncryption(_ order: EncryptionOrder, at now: Instant) {
        queue.isPaused = true
        encryption.isRefresh = encryption.isOn
        guard encryption.isRefresh else { return requestEncryption(order, at: now) }
        encryption.phase = .pausingForOrder(order)
        sendUrgent(controlPayload(.pauseEncryptionRequest, NoFields()), at: now)
    }

    private mutating func requestEncryption(_ order: EncryptionOrder, at now: Instant) {
        encryption.phase = .requesting(order)
        sendUrgent(controlPayload(.encryptionRequest, order.request), at: now)
    }

    /// The peer has no key, or no encryption.
    mutating func encryptionRefused(_ error: LinkError, at now: Instant, reports: inout [ConnectionReport]) {
        let isRefresh = encryption.isRefresh
        encryption.phase = .idle
        queue.isPaused = false
        reports.append(.encryptionChanged(error, isRefresh: isRefresh))
        // What was secret so far may not go on in the clear.
        if isRefresh { terminate(.keyMissing, at: now) }
    }

    // MARK: Peripheral

    /// This side's half of the session, upon ``ConnectionReport/encryptionRequested(randomNumber:diversifier:)``.
    package mutating func contribute(_ half: SessionHalf, at now: Instant) {
        guard case .awaitingHalf(let request) = encryption.phase else { return }
        encryption.phase = .awaitingKey(request, half)
        sendUrgent(controlPayload(.encryptionResponse, half), at: now)
    }

    /// The host's key for the link; `nil` if it has none. To be called while ``awaitsKey``.
    package mutating func answerKeyRequest(_ key: SecretKey?, at now: Instant) {
        guard case .awaitingKey(let request, let half) = encryption.phase else { return }
        defer { noteTimes() }
        guard let key else {
            encryption.phase = .idle
            queue.isPaused = false
            // A link that was encrypted before may not go on in the clear. 5.1.3.1.
            return encryption.isRefresh ? terminate(.keyMissing, at: now) : rejectEncryption(.keyMissing, at: now)
        }
        encryption.phase = .starting(
            LinkEncryption(
                longTermKey: key, centralDiversifier: request.half.diversifier, peripheralDiversifier: half.diversifier,
                centralVector: request.half.vector, peripheralVector: half.vector))
        encryption.until = now.advanced(by: ControlState.responseTimeout)
        sendUrgent(controlPayload(.startEncryptionRequest, NoFields()), at: now)
    }

    /// In the form that the peer is known to understand. 2.4.2.14, 2.4.2.18.
    private mutating func rejectEncryption(_ error: LinkError, at now: Instant) {
        let isUnderstood =
            LinkFeatures(rawValue: control.remoteFeatures ?? 0).contains(.extendedReject)
            && capabilities.supports(.extendedReject)
        sendUrgent(
            isUnderstood
                ? controlPayload(
                    .rejectExtended, ExtendedReject(rejectedOpcode: .encryptionRequest, error: error))
                : controlPayload(.reject, ControlCode(error.rawValue)),
            at: now)
    }

    // MARK: Receiving

    /// Takes one of the PDUs that only these procedures know; one that does not fit the phase is not known.
    mutating func takeEncryption(
        _ opcode: ControlOpcode, _ fields: ArraySlice<UInt8>, at now: Instant, reports: inout [ConnectionReport]
    ) throws(PacketError) {
        switch (opcode, encryption.phase) {
        case (.encryptionRequest, .idle), (.encryptionRequest, .awaitingRequest):
            // A link that is encrypted already is paused first.
            guard role == .peripheral, !encryption.isOn else { throw Self.unexpected(opcode) }
            let request = try EncryptionRequest(octets: fields)
            if case .idle = encryption.phase { encryption.isRefresh = false }
            queue.isPaused = true
            encryption.until = nil
            encryption.phase = .awaitingHalf(request)
            reports.append(
                .encryptionRequested(
                    randomNumber: request.randomNumber, diversifier: request.encryptedDiversifier))
        case (.encryptionResponse, .requesting(let order)):
            let half = try SessionHalf(octets: fields)
            restartProcedure(at: now)
            encryption.phase = .agreed(
                LinkEncryption(
                    longTermKey: order.longTermKey, centralDiversifier: order.half.diversifier,
                    peripheralDiversifier: half.diversifier, centralVector: order.half.vector,
                    peripheralVector: half.vector))
        case (.startEncryptionRequest, .agreed(let session)):
            _ = try NoFields(octets: fields)
            encryption.transmit = DirectionCipher(session, .centralToPeripheral)
            encryption.receive = DirectionCipher(session, .peripheralToCentral)
            encryption.phase = .confirming
            noteProof(at: now)
            restartProcedure(at: now)
            sendUrgent(controlPayload(.startEncryptionResponse, NoFields()), at: now)
        case (.startEncryptionResponse, .confirming):
            _ = try NoFields(octets: fields)
            encryptionIsOn(reports: &reports)
            finish(at: now, reports: &reports)
        case (.startEncryptionResponse, .starting(let session)):
            _ = try NoFields(octets: fields)
            encryption.transmit = DirectionCipher(session, .peripheralToCentral)
            encryption.until = nil
            noteProof(at: now)
            sendUrgent(controlPayload(.startEncryptionResponse, NoFields()), at: now)
            encryptionIsOn(reports: &reports)
        case (.pauseEncryptionRequest, _), (.pauseEncryptionResponse, _):
            try takePause(opcode, fields, at: now)
        default:
            throw Self.unexpected(opcode)
        }
    }

    private mutating func takePause(
        _ opcode: ControlOpcode, _ fields: ArraySlice<UInt8>, at now: Instant
    ) throws(PacketError) {
        _ = try NoFields(octets: fields)
        switch (opcode, encryption.phase) {
        case (.pauseEncryptionRequest, .idle) where role == .peripheral && encryption.isOn:
            queue.isPaused = true
            encryption.isRefresh = true
            encryption.phase = .pausing
            encryption.until = now.advanced(by: ControlState.responseTimeout)
            sendUrgent(controlPayload(.pauseEncryptionResponse, NoFields()), at: now)
        case (.pauseEncryptionResponse, .pausing):
            encryption.transmit = nil
            encryption.until = now.advanced(by: ControlState.responseTimeout)
            encryption.phase = .awaitingRequest
        case (.pauseEncryptionResponse, .pausingForOrder(let order)):
            encryption.transmit = nil
            encryption.receive = nil
            restartProcedure(at: now)
            sendUrgent(controlPayload(.pauseEncryptionResponse, NoFields()), at: now)
            requestEncryption(order, at: now)
        default:
            throw Self.unexpected(opcode)
        }
    }

    /// From the acknowledgement of these two on, what the central sends is encrypted, or is not any more.
    mutating func encryptionAcknowledged(_ opcode: ControlOpcode) {
        switch (opcode, encryption.phase) {
        case (.startEncryptionRequest, .starting(let session)):
            encryption.receive = DirectionCipher(session, .centralToPeripheral)
        case (.pauseEncryptionResponse, .pausing):
            encryption.receive = nil
        default:
            break
        }
    }

    private mutating func encryptionIsOn(reports: inout [ConnectionReport]) {
        encryption.phase = .idle
        queue.isPaused = false
        reports.append(.encryptionChanged(.success, isRefresh: encryption.isRefresh))
    }

    private static func unexpected(_ opcode: ControlOpcode) -> PacketError {
        PacketError(.valueNotAllowed(Int(opcode.rawValue)), field: "Opcode")
    }

    // MARK: LE Ping

    /// A packet came that only the holder of the key can have made.
    mutating func noteProof(at now: Instant) {
        encryption.lastProof = now
        encryption.hasAskedForProof = false
    }

    /// Asks for proof in time, and tells the host when it has not come.
    mutating func superviseProof(at now: Instant, reports: inout [ConnectionReport]) {
        guard let deadline = encryption.proofDeadline, now >= deadline else { return }
        guard encryption.hasAskedForProof else {
            encryption.hasAskedForProof = true
            return start(.ping, at: now, reports: &reports)
        }
        noteProof(at: now)
        reports.append(.authenticatedPayloadTimeout)
    }
}
