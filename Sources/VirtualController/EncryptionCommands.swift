import BluetoothCrypto
import EventLoop
import HCI
import LinkLayer

// Encryption: Core 6.0, Vol 4, Part E, 7.3.93, 7.3.94, 7.8.22 to 7.8.26, and the events that come of it.

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeEncryptionCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .leEncrypt:
            run(LEEncrypt.self, parameters) { command, answer in
                answer.encrypted = aes128(SecretKey(command.key), command.plaintext)
            }
        case .leRand: run(LERand.self, parameters) { _, answer in answer.number = self.generator.next() }
        case .leEnableEncryption:
            begin(LEEnableEncryption.self, parameters) { command throws(HCIErrorCode) in
                try self.enableEncryption(command, at: now)
            }
        case .leLongTermKeyRequestReply:
            run(LELongTermKeyRequestReply.self, parameters, on: \.handle) { command, link throws(HCIErrorCode) in
                guard link.connection.awaitsKey else { throw .commandDisallowed }
                link.connection.answerKeyRequest(SecretKey(command.longTermKey), at: now)
            }
        case .leLongTermKeyRequestNegativeReply:
            run(LELongTermKeyRequestNegativeReply.self, parameters, on: \.handle) { _, link throws(HCIErrorCode) in
                guard link.connection.awaitsKey else { throw .commandDisallowed }
                link.connection.answerKeyRequest(nil, at: now)
            }
        case .readAuthenticatedPayloadTimeout:
            run(ReadAuthenticatedPayloadTimeout.self, parameters) { command, answer throws(HCIErrorCode) in
                answer.handle = command.handle
                answer.timeout = try self.checkedLink(command.handle).authenticatedPayloadTimeout
            }
        case .writeAuthenticatedPayloadTimeout:
            run(WriteAuthenticatedPayloadTimeout.self, parameters, on: \.handle) { command, link throws(HCIErrorCode) in
                try self.setAuthenticatedPayloadTimeout(command.timeout, on: link, at: now)
            }
        default:
            return false
        }
        return true
    }

    private func enableEncryption(_ command: LEEnableEncryption, at now: Instant) throws(HCIErrorCode) -> () -> Void {
        let link = try checkedLink(command.handle)
        guard link.connection.role == .central, !link.connection.isChangingEncryption else { throw .commandDisallowed }
        let order = EncryptionOrder(
            randomNumber: command.randomNumber, encryptedDiversifier: command.encryptedDiversifier,
            longTermKey: SecretKey(command.longTermKey), half: nextSessionHalf())
        return { self.start(.encrypt(order), on: link, at: now) }
    }

    /// Vol 6, Part B, 5.1.3.1: SKD and IV come from the random number generator of Vol 2, Part H, 2.
    private func nextSessionHalf() -> SessionHalf {
        SessionHalf(diversifier: generator.next(), vector: UInt32(truncatingIfNeeded: generator.next()))
    }

    private func setAuthenticatedPayloadTimeout(
        _ timeout: UInt16, on link: Link, at now: Instant
    ) throws(HCIErrorCode) {
        let duration = Duration.milliseconds(10 * Int(timeout))
        let timing = link.connection.timing
        // The peer must have had a chance to speak. 7.3.94.
        guard timeout > 0, duration >= timing.intervalDuration * (1 + Int(timing.latency)) else {
            throw .invalidParameters
        }
        link.authenticatedPayloadTimeout = timeout
        link.connection.setAuthenticatedPayloadTimeout(duration, at: now)
    }

    // MARK: Events

    /// The peer wants an encrypted link: this side adds its half, and the host is asked for the key.
    func encryptionRequested(on link: Link, _ randomNumber: UInt64, _ diversifier: UInt16, at now: Instant) {
        link.connection.contribute(nextSessionHalf(), at: now)
        guard isUnmasked(.longTermKeyRequest) else {
            // A host that is not asked has no key. 7.7.65.5.
            return link.connection.answerKeyRequest(nil, at: now)
        }
        var event = LELongTermKeyRequest()
        event.handle = link.handle
        event.randomNumber = randomNumber
        event.encryptedDiversifier = diversifier
        emit(event)
    }

    func emitEncryptionChange(of link: Link, _ status: HCIErrorCode, isRefresh: Bool) {
        guard !isRefresh else {
            var event = EncryptionKeyRefreshComplete()
            event.status = status
            event.handle = link.handle
            return emit(event)
        }
        var event = EncryptionChangeV2()
        event.status = status
        event.handle = link.handle
        event.enabled = status == .success ? 1 : 0
        event.keySize = status == .success ? 16 : 0
        // The host that has asked for the second version gets that one alone. 7.7.8.
        if isUnmasked(.encryptionChangeV2) { emit(event) } else { emit(event.change) }
    }
}
