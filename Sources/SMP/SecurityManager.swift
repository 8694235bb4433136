package import BluetoothCrypto
package import BluetoothTypes
import ByteCodec
package import EventLoop

/// The Security Manager of one LE link: pairs, encrypts with the keys of an earlier pairing, hands keys out.
///
///              secure, peripheral            Pairing Request
///     idle ──────────────────────▶ requested ────────────────▶ pairing ───▶ finished, failed: idle
///       │ secure, central; LTK request │ LTK request              │ 30 s without a PDU
///       └────────────▶ encrypting ◀────┘                          ▼
///                          └──▶ finished, failed: idle         failed: idle, and no SMP on this link any more
///
/// Source: Core 6.0, Vol 3, Part H, 2 and 3; 3.4 (the timer).
package struct SecurityManager: ProtocolMachine, Sendable {
    /// A central initiates pairings, a peripheral responds.
    package enum Role: Sendable {
        case central
        case peripheral
    }

    package enum Input: Sendable {
        /// Encrypt the link: with the bond if its keys are good enough, else by a new pairing. A peripheral asks its
        /// central to.
        case secure(authenticated: Bool)
        /// A PDU of the Security Manager channel.
        case receive(ArraySlice<UInt8>)
        case encryptionChanged(EncryptionStatus)
        /// Peripheral: the controller wants the key that the central names.
        case longTermKeyRequested(random: UInt64, diversifier: UInt16)
        /// A person typed a passkey, 0...999,999.
        case passkeyEntered(UInt32)
        /// A person compared two numbers, or agreed to a pairing, or did not.
        case confirmed(Bool)
        /// Whoever wanted the pairing does so no more.
        case cancel
        case linkLost
    }

    package enum EncryptionStatus: Sendable {
        case encrypted
        /// The controller reports "PIN or Key Missing": the peer does not have the key.
        case keyMissing
        case failed
    }

    package enum Effect: Equatable, Sendable {
        /// Hand the PDU to the Security Manager channel.
        case send([UInt8])
        /// Central: start encryption.
        case encrypt(LongTermKey)
        /// Peripheral: answer the controller's request; `nil` is a refusal.
        case answerLongTermKey(SecretKey?)
        case needsUser(UserQuestion)
        /// Keep this, instead of what was kept for the device before.
        case bonded(Bond)
        /// The link is encrypted.
        case finished(LinkSecurity)
        case failed(SecurityFailure)
    }

    /// What a person must do.
    package enum UserQuestion: Hashable, Sendable {
        /// Show the passkey of six digits; nothing needs to be answered.
        case displayPasskey(UInt32)
        case enterPasskey
        /// Do both devices show this number of six digits?
        case compare(UInt32)
        /// Shall the devices pair?
        case confirm
    }

    enum State: Sendable {
        case idle
        /// Peripheral: the central was asked to encrypt.
        case requested(authenticated: Bool)
        case encrypting(LinkSecurity)
        case pairing(Pairing)
        /// The link is gone.
        case closed
    }

    package static let timeout = Duration.seconds(30)

    package let role: Role
    /// The addresses by which the link was made.
    package let local: DeviceAddress
    package let remote: DeviceAddress
    /// What the next pairing goes by.
    package var configuration: SecurityConfiguration
    /// What is kept for the peer.
    package var bond: Bond?
    /// The owner hands it to the machine of the peer's next link.
    package private(set) var attempts: AttemptLimiter
    /// How the link is protected now; `nil` if it is in the clear.
    package private(set) var security: LinkSecurity?
    /// The bond's key has failed on this link: it is not tried again (2.4.4.2).
    private var hasKeyFailed = false
    private var state = State.idle
    private var timer: Instant?
    /// A pairing has timed out: no PDU comes or goes on this link any more.
    private var isExpired = false
    private var random: any RandomNumberGenerator & Sendable

    /// - Parameter random: the source of keys and random values. Where keys matter it is the system's.
    package init(
        role: Role, local: DeviceAddress, remote: DeviceAddress, configuration: SecurityConfiguration,
        bond: Bond? = nil, attempts: AttemptLimiter = AttemptLimiter(), random: any RandomNumberGenerator & Sendable
    ) {
        precondition(
            7...configuration.maximumKeySize ~= configuration.minimumKeySize && configuration.maximumKeySize <= 16,
            "Keys have 7 to 16 octets, and the least is not above the most.")
        self.role = role
        self.local = local
        self.remote = remote
        self.configuration = configuration
        self.bond = bond
        self.attempts = attempts
        self.random = random
    }

    package var deadline: Instant? { timer }
    /// Since when the peer has left the last step of a pairing without the next one.
    package var waitingSince: Instant? { timer?.advanced(by: .zero - Self.timeout) }

    package mutating func wake(at now: Instant) -> [Effect] {
        guard let timer, timer <= now else { return [] }
        isExpired = true
        return end(.timedOut)
    }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .secure(let authenticated): return secure(authenticated, at: now)
        case .receive(let octets): return receive(octets, at: now)
        case .encryptionChanged(let status): return encryptionChanged(status, at: now)
        case .longTermKeyRequested(let random, let diversifier):
            return answer(random: random, diversifier: diversifier, at: now)
        case .passkeyEntered(let passkey):
            return run(at: now) { pairing throws(PairingFailedReason) in try pairing.enter(passkey) }
        case .confirmed(let isConfirmed):
            return run(at: now) { pairing throws(PairingFailedReason) in try pairing.confirm(isConfirmed) }
        case .cancel:
            guard case .pairing(let pairing) = state else { return [] }
            let reason = pairing.isPasskeyEntry ? PairingFailedReason.passkeyEntryFailed : .unspecified
            return [.send(SMPCommand.pairingFailed(PairingFailed(reason)).octets)] + end(.cancelled)
        case .linkLost:
            security = nil
            let wasBusy = isBusy
            state = .closed
            timer = nil
            return wasBusy ? [.failed(.linkLost)] : []
        }
    }

    private var isBusy: Bool {
        switch state {
        case .idle, .closed: false
        case .requested, .encrypting, .pairing: true
        }
    }
}

// MARK: - Beginnings

extension SecurityManager {
    private mutating func secure(_ authenticated: Bool, at now: Instant) -> [Effect] {
        switch state {
        case .requested, .encrypting, .pairing: return []
        case .closed: return [.failed(.linkLost)]
        case .idle: break
        }
        let needsAuthentication = authenticated || configuration.requiresAuthentication
        if let security, security.isAuthenticated || !needsAuthentication { return [.finished(security)] }
        switch role {
        case .central:
            return encryptOrPair(authenticated: needsAuthentication, at: now)
        case .peripheral:
            guard !isExpired else { return [.failed(.timedOut)] }
            guard attempts.waits(at: now) == nil else { return [.failed(.local(.repeatedAttempts))] }
            var request = SecurityRequest(configuration.authentication)
            if needsAuthentication { request.authentication.insert(.mitm) }
            state = .requested(authenticated: needsAuthentication)
            timer = now.advanced(by: Self.timeout)
            return [.send(SMPCommand.securityRequest(request).octets)]
        }
    }

    /// Central: the bond's key if it is good enough, else a pairing (2.4.6).
    private mutating func encryptOrPair(authenticated: Bool, at now: Instant) -> [Effect] {
        if let bond, let key = bond.peerKey, isUsable(bond, authenticated: authenticated) {
            state = .encrypting(bond.security)
            return [.encrypt(key)]
        }
        guard !isExpired else { return [.failed(.timedOut)] }
        guard attempts.waits(at: now) == nil else { return [.failed(.local(.repeatedAttempts))] }
        begin(authenticated: authenticated, at: now)
        return run(at: now) { pairing throws(PairingFailedReason) in pairing.sendRequest() }
    }

    private func isUsable(_ bond: Bond, authenticated: Bool) -> Bool {
        let security = bond.security
        return !hasKeyFailed && (security.isAuthenticated || !authenticated)
            && security.keySize >= Int(configuration.minimumKeySize)
            && (security.level == 4 || !configuration.isSecureConnectionsOnly)
    }

    private mutating func begin(authenticated: Bool, at now: Instant) {
        var configuration = configuration
        if authenticated {
            configuration.requiresAuthentication = true
            configuration.authentication.insert(.mitm)
        }
        let pairing = Pairing(
            isInitiator: role == .central, local: local, remote: remote, configuration: configuration,
            floor: bond?.security, random: random)
        state = .pairing(pairing)
        timer = now.advanced(by: Self.timeout)
    }
}

// MARK: - The peer's PDUs

extension SecurityManager {
    private mutating func receive(_ octets: ArraySlice<UInt8>, at now: Instant) -> [Effect] {
        if isExpired { return [] }
        if case .closed = state { return [] }
        do throws(PacketError) {
            guard let command = try SMPCommand(octets: octets) else { return [] }
            return receive(command, at: now)
        } catch {
            if case .pairing = state { return fail(.invalidParameters, at: now) }
            let isRequest = octets.first == SMPCommand.Code.pairingRequest.rawValue
            return isRequest && role == .peripheral ? refuse(.invalidParameters) : []
        }
    }

    private mutating func receive(_ command: SMPCommand, at now: Instant) -> [Effect] {
        switch command {
        case .keypressNotification:
            return []
        case .pairingFailed(let failed):
            return peerFailed(failed.reason, at: now)
        case .pairingRequest(let features):
            if case .pairing = state { return fail(.unspecified, at: now) }
            guard role == .peripheral else { return refuse(.commandNotSupported) }
            return respond(to: features, at: now)
        case .securityRequest(let request):
            if role == .peripheral {
                if case .pairing = state { return fail(.commandNotSupported, at: now) }
                return refuse(.commandNotSupported)
            }
            return serve(request, at: now)
        case .pairingResponse, .pairingConfirm, .pairingRandom, .encryptionInformation, .centralIdentification,
            .identityInformation, .identityAddressInformation, .signingInformation, .pairingPublicKey,
            .pairingDHKeyCheck:
            return run(at: now) { pairing throws(PairingFailedReason) in try pairing.receive(command) }
        }
    }

    private mutating func respond(to features: PairingFeatures, at now: Instant) -> [Effect] {
        guard configuration.acceptsPairing else { return refuse(.pairingNotSupported) }
        guard attempts.waits(at: now) == nil else { return refuse(.repeatedAttempts) }
        var isDemanded = false
        if case .requested(let authenticated) = state { isDemanded = authenticated }
        begin(authenticated: isDemanded || configuration.requiresAuthentication, at: now)
        return run(at: now) { pairing throws(PairingFailedReason) in try pairing.respond(to: features) }
    }

    /// Central: the peripheral wants the link encrypted. While something is under way it is ignored.
    private mutating func serve(_ request: SecurityRequest, at now: Instant) -> [Effect] {
        guard case .idle = state else { return [] }
        // Without input and output a new pairing would be no better than the bond, however often it is asked for.
        let authenticated =
            request.authentication.contains(.mitm) && configuration.ioCapability != .noInputNoOutput
        if let security, security.isAuthenticated || !authenticated { return [] }
        if let bond, let key = bond.peerKey, isUsable(bond, authenticated: authenticated) {
            state = .encrypting(bond.security)
            return [.encrypt(key)]
        }
        guard configuration.acceptsPairing else { return refuse(.pairingNotSupported) }
        guard attempts.waits(at: now) == nil else { return refuse(.repeatedAttempts) }
        begin(authenticated: configuration.requiresAuthentication, at: now)
        return run(at: now) { pairing throws(PairingFailedReason) in
            if authenticated { pairing.configuration.authentication.insert(.mitm) }
            return pairing.sendRequest()
        }
    }

    private mutating func peerFailed(_ reason: PairingFailedReason, at now: Instant) -> [Effect] {
        switch state {
        case .pairing(let pairing):
            if pairing.hasMethod { attempts.recordFailure(at: now) }
            return end(.peer(reason))
        case .requested: return end(.peer(reason))
        case .idle, .encrypting, .closed: return []
        }
    }
}

// MARK: - Encryption

extension SecurityManager {
    private mutating func encryptionChanged(_ status: EncryptionStatus, at now: Instant) -> [Effect] {
        switch (state, status) {
        case (.encrypting(let security), .encrypted):
            self.security = security
            end()
            return [.finished(security)]
        case (.encrypting, .keyMissing), (.encrypting, .failed):
            hasKeyFailed = true
            return end(status == .keyMissing ? .keyMissing : .encryptionFailed)
        case (.pairing(let pairing), .encrypted):
            guard pairing.awaitsEncryption else { return [] }
            security = pairing.security
            return run(at: now) { pairing throws(PairingFailedReason) in pairing.distribute() }
        case (.pairing(let pairing), .keyMissing), (.pairing(let pairing), .failed):
            return pairing.awaitsEncryption ? end(.encryptionFailed) : []
        case (.idle, .encrypted), (.requested, .encrypted), (.closed, _):
            return []
        case (.idle, .keyMissing), (.idle, .failed), (.requested, .keyMissing), (.requested, .failed):
            security = nil
            return []
        }
    }

    private mutating func answer(random: UInt64, diversifier: UInt16, at now: Instant) -> [Effect] {
        switch state {
        case .pairing(let pairing):
            // The key exists once both sides have proved what they know, and goes by no name (2.4.4.1). Asking before
            // is how links have been encrypted with a key of zeros (CVE-2020-13593).
            guard pairing.awaitsEncryption, random == 0, diversifier == 0, let key = pairing.linkKey else {
                return [.answerLongTermKey(nil)] + fail(.unspecified, at: now)
            }
            return [.answerLongTermKey(key)]
        case .idle, .requested, .encrypting:
            guard role == .peripheral, let bond, let key = bond.localKey, key.random == random,
                key.diversifier == diversifier,
                isUsable(bond, authenticated: configuration.requiresAuthentication)
            else { return [.answerLongTermKey(nil)] + end(.unknownKey) }
            state = .encrypting(bond.security)
            timer = nil
            return [.answerLongTermKey(key.key)]
        case .closed:
            return []
        }
    }
}

// MARK: - Ends

extension SecurityManager {
    /// Lets the pairing under way take a step, if there is one, and does what follows from it.
    private mutating func run(
        at now: Instant, _ step: (inout Pairing) throws(PairingFailedReason) -> [Effect]
    ) -> [Effect] {
        guard case .pairing(var pairing) = state else { return [] }
        do throws(PairingFailedReason) {
            var effects = try step(&pairing)
            state = .pairing(pairing)
            if effects.contains(where: { if case .send = $0 { true } else { false } }) {
                timer = now.advanced(by: Self.timeout)
            }
            if let security = pairing.finished {
                if let bond = pairing.bond {
                    self.bond = bond
                    effects.append(.bonded(bond))
                }
                attempts.recordSuccess()
                end()
                effects.append(.finished(security))
            }
            return effects
        } catch {
            state = .pairing(pairing)
            return fail(error, at: now)
        }
    }

    private func refuse(_ reason: PairingFailedReason) -> [Effect] {
        [.send(SMPCommand.pairingFailed(PairingFailed(reason)).octets)]
    }

    /// Ends the pairing under way, and tells the peer why.
    private mutating func fail(_ reason: PairingFailedReason, at now: Instant) -> [Effect] {
        if case .pairing(let pairing) = state, pairing.hasMethod { attempts.recordFailure(at: now) }
        return refuse(reason) + end(.local(reason))
    }

    private mutating func end(_ failure: SecurityFailure) -> [Effect] {
        end()
        return [.failed(failure)]
    }

    private mutating func end() {
        if case .pairing(let pairing) = state { random = pairing.random }
        state = .idle
        timer = nil
    }
}
