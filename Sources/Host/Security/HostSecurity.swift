import BluetoothCrypto
package import BluetoothTypes
import EventLoop
import GATT
import HCI
package import HostInterface
import L2CAP
import SMP

/// The Security Managers of the links: their PDUs, the controller's encryption, and what their outcome means.
extension Host {
    /// The controller gives an encryption procedure up after 40 s (Core 6.0, Vol 6, Part B, 5.2); this is for those
    /// that forget to tell.
    static let patienceForEncryption = Duration.seconds(45)

    /// What protects a new link.
    func makeGuard(for event: LEConnectionComplete, bond index: Int?) -> LinkGuard {
        let record = index.map { bonds[$0] }
        let role = event.role == .central ? SecurityManager.Role.central : .peripheral
        let manager = SecurityManager(
            // The addresses that were on the air: Core 6.0, Vol 3, Part H, 2.3.5.6.
            role: role, local: event.localPrivateAddress ?? ownAddress, remote: event.peerPrivateAddress ?? event.peer,
            configuration: securityConfiguration(for: record?.peer ?? PeerID(event.peer)), bond: record?.bond,
            attempts: attempts(of: record?.identity ?? event.peer), random: randomness.generator())
        return LinkGuard(manager: manager, identity: record?.identity)
    }

    /// A link to a bonded peer is encrypted at once, before anybody is told of it (B-K3). A peripheral leaves that to
    /// the central: two who begin at the same time cross each other.
    func secureNewLink(_ index: Int, at now: Instant) {
        let bond = links[index].security.manager.bond
        handle(.securityChanged(.unencrypted(hasKey: bond?.localKey != nil)), onLink: index, at: now)
        links[index].signalling.protection = LinkProtection(hasKey: bond?.localKey != nil)
        guard links[index].role == .central, bond?.peerKey != nil, pairingPolicy.encryptsAtOnce else { return }
        links[index].security.delaysReport = true
        handleSecurity(.secure(authenticated: false), onLink: index, at: now)
    }

    func handleSecurity(_ input: SecurityManager.Input, onLink index: Int, at now: Instant) {
        let handle = links[index].handle
        let before = links[index].security.level
        let effects = links[index].security.manager.handle(input, at: now)
        securityMoved(from: before, effects, onLink: handle, at: now)
    }

    func wakeSecurity(onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle) else { return }
        if let encryptBy = links[index].security.encryptBy, encryptBy <= now {
            links[index].security.encryptBy = nil
            endLink(index, because: .security(.timedOut), at: now)
        }
        let before = links[index].security.level
        let effects = links[index].security.manager.wake(at: now)
        securityMoved(from: before, effects, onLink: handle, at: now)
    }

    /// Attributes see the link as it is before anything else happens on it: peers go on as soon as it is encrypted.
    private func securityMoved(
        from before: LinkSecurity?, _ effects: [SecurityManager.Effect], onLink handle: UInt16, at now: Instant
    ) {
        guard let index = linkIndex(handle: handle) else { return }
        let security = links[index].security.level
        if security != before {
            links[index].security.lastIDBefore = lastBearerID
            let hasKey = links[index].security.manager.bond?.localKey != nil
            links[index].signalling.protection = LinkProtection(security, hasKey: hasKey)
            self.handle(
                .securityChanged(security == nil ? .unencrypted(hasKey: hasKey) : .encrypted), onLink: index, at: now)
        }
        for effect in effects { performSecurity(effect, onLink: handle, at: now) }
    }

    private func performSecurity(_ effect: SecurityManager.Effect, onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle) else { return }
        switch effect {
        case .send(let pdu): sendPDU(pdu, channel: .securityManager, onLink: handle)
        case .encrypt(let key):
            var command = LEEnableEncryption()
            command.handle = handle
            command.randomNumber = key.random
            command.encryptedDiversifier = key.diversifier
            command.longTermKey = key.key.value
            links[index].security.encryptBy = now.advanced(by: Self.patienceForEncryption)
            submit(command.packet, for: .encryption(link: handle), at: now)
        case .answerLongTermKey(let key?):
            var reply = LELongTermKeyRequestReply()
            reply.handle = handle
            reply.longTermKey = key.value
            links[index].security.encryptBy = now.advanced(by: Self.patienceForEncryption)
            submit(reply.packet, for: .nobody, at: now)
        case .answerLongTermKey(nil):
            submit(LELongTermKeyRequestNegativeReply(handle: handle).packet, for: .nobody, at: now)
        case .needsUser(let question): ask(question, onLink: index, at: now)
        case .bonded(let bond):
            keep(bond, onLink: index, at: now)
            // The last keys are the central's (Core 6.0, Vol 3, Part H, 3.6.1).
            guard links[index].role == .central else { return }
            let packets = acl.unacknowledgedPackets(on: handle)
            if packets > 0, let level = links[index].security.level {
                links[index].security.keysUnderWay = (level, packets)
            }
        case .finished(let security):
            // Who is told may end the link at once, and the peer would be without the keys.
            if links[index].security.keysUnderWay != nil {
                links[index].security.keysUnderWay?.security = security
            } else {
                secured(security, onLink: index, at: now)
            }
        case .failed(let failure): notSecured(failure, onLink: index, at: now)
        }
    }

    // MARK: The controller

    /// The peer has acknowledged packets: perhaps the last of the keys.
    func packetsAcknowledged(_ count: Int, onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle), let keys = links[index].security.keysUnderWay else { return }
        links[index].security.keysUnderWay?.packets -= count
        guard keys.packets <= count else { return }
        links[index].security.keysUnderWay = nil
        secured(keys.security, onLink: index, at: now)
    }

    func longTermKeyRequested(_ event: LELongTermKeyRequest, at now: Instant) {
        guard let index = linkIndex(handle: event.handle), !links[index].isReplaced else {
            // A link that is not known has no key. The peer is told so (Core 6.0, Vol 4, Part E, 7.8.26).
            return submit(LELongTermKeyRequestNegativeReply(handle: event.handle).packet, for: .nobody, at: now)
        }
        handleSecurity(
            .longTermKeyRequested(random: event.randomNumber, diversifier: event.encryptedDiversifier),
            onLink: index, at: now)
    }

    /// - Parameter isOn: whether the link is encrypted, if `status` is success.
    func encryptionChanged(_ handle: UInt16, status: HCIErrorCode, isOn: Bool = true, at now: Instant) {
        guard let index = linkIndex(handle: handle), !links[index].isReplaced else { return }
        links[index].security.encryptBy = nil
        links[index].security.encryptionStatus = status
        let isEncrypted = status == .success && isOn
        if isEncrypted, links[index].security.manager.bond != nil { links[index].security.awaitsProof = true }
        let outcome: SecurityManager.EncryptionStatus =
            if isEncrypted { .encrypted } else if status == .pinOrKeyMissing { .keyMissing } else { .failed }
        handleSecurity(.encryptionChanged(outcome), onLink: index, at: now)
    }

    /// The controller has refused to start.
    func encryptionRefused(onLink handle: UInt16, _ outcome: CommandOutcome, at now: Instant) {
        switch outcome {
        case .started, .completed: break
        case .refused(let error): encryptionChanged(handle, status: error, at: now)
        case .timedOut: encryptionChanged(handle, status: .unspecified, at: now)
        }
    }

    // MARK: Outcomes

    private func secured(_ security: LinkSecurity, onLink index: Int, at now: Instant) {
        let handle = links[index].handle
        let peer = links[index].peer
        endQuestion(onLink: index)
        tellEveryone(.secured(peer, security))
        restoreClient(onLink: index, at: now)
        considerBearers(onLink: index, at: now)
        let status = linkStatus(index)
        let (met, open) = links[index].security.demands.split { security.isAuthenticated || !$0.authenticated }
        links[index].security.demands = open
        for demand in met { finish(demand.key, .success(.link(status))) }
        let refused = links[index].security.refused
        links[index].security.refused = []
        for request in refused { tryAgain(request.key, at: now) }
        reportSecuredLink(handle, at: now)
        // Somebody wants more than what was under way.
        if let index = linkIndex(handle: handle), !open.isEmpty {
            handleSecurity(.secure(authenticated: true), onLink: index, at: now)
        }
    }

    private func notSecured(_ failure: SecurityFailure, onLink index: Int, at now: Instant) {
        let handle = links[index].handle
        let peer = links[index].peer
        let problem = SecurityProblem(failure, status: links[index].security.encryptionStatus)
        links[index].security.encryptBy = nil
        links[index].security.keysUnderWay = nil
        endQuestion(onLink: index)
        tellEveryone(.failed(peer, problem))
        let demands = links[index].security.demands
        let refused = links[index].security.refused
        links[index].security.demands = []
        links[index].security.refused = []
        for demand in demands { fail(demand.key, .security(problem)) }
        for request in refused { fail(request.key, problem.failure(ofRefused: request.code)) }
        guard let index = linkIndex(handle: handle) else { return }
        // Without its key the link is a stranger's; only by the policy may it go on as one (B-D11).
        let isKeyLost = problem == .peerLostBond || problem == .wrongKey
        if isKeyLost, links[index].role == .central, pairingPolicy.lostBond == .disconnect {
            // At once, for whoever connects from now on means the next link.
            for client in clients { dropHold(of: client.id, on: peer, .security(problem)) }
            return endLink(index, because: .security(problem), at: now)
        }
        reportSecuredLink(handle, at: now)
    }

    private func reportSecuredLink(_ handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle), links[index].security.delaysReport else { return }
        links[index].security.delaysReport = false
        if links[index].hasAgreedMTU { reportLink(handle, at: now) }
    }

    /// How the link to `peer` is protected; `nil` in the clear, and without a link.
    package func protection(of peer: PeerID) -> LinkSecurity? {
        linkIndex(of: peer).flatMap { links[$0].security.level }
    }

    /// The link is gone: who waited for its security is told, and what was learnt of the peer is kept.
    func endSecurity(of link: Link, because failure: HostFailure, at now: Instant) {
        var link = link
        for demand in link.security.demands { fail(demand.key, failure) }
        for request in link.security.refused { fail(request.key, failure) }
        for case .failed(let cause) in link.security.manager.handle(.linkLost, at: now) {
            if case .security = failure { continue }
            tellEveryone(.failed(link.peer, SecurityProblem(cause, status: .success)))
        }
        if let question = link.security.question { tellAgent(.questionEnded(question.id)) }
        remember(link.security.manager.attempts, of: link.security.identity ?? link.security.manager.remote)
    }

    /// What the end of a link really means: keys that do not fit are found out by the first packet's check.
    func reason(of link: Link, _ reason: HCIErrorCode) -> HostFailure {
        guard reason == .messageIntegrityFailure, link.security.awaitsProof || link.security.encryptBy != nil,
            link.security.manager.bond != nil
        else { return .disconnected(reason: reason.rawValue) }
        tellEveryone(.failed(link.peer, .wrongKey))
        return .security(.wrongKey)
    }
}

// MARK: - Who may not try again yet

extension Host {
    private static let mostAttempts = 64

    private func attempts(of address: DeviceAddress) -> AttemptLimiter {
        pairingAttempts.first { $0.address == address }?.limiter ?? AttemptLimiter()
    }

    private func remember(_ limiter: AttemptLimiter, of address: DeviceAddress) {
        pairingAttempts.removeAll { $0.address == address }
        guard limiter != AttemptLimiter() else { return }
        if pairingAttempts.count >= Self.mostAttempts { pairingAttempts.removeFirst() }
        pairingAttempts.append((address, limiter))
    }
}

extension SecurityProblem {
    init(_ failure: SecurityFailure, status: HCIErrorCode) {
        switch failure {
        case .local(let reason): self = .refused(reason: reason.rawValue)
        case .peer(let reason): self = .refusedByPeer(reason: reason.rawValue)
        case .timedOut: self = .timedOut
        case .keyMissing: self = .peerLostBond
        case .unknownKey: self = .bondMissingHere
        case .encryptionFailed:
            switch status {
            // Authentication Failure and MIC Failure: the two keys are not the same.
            case .authenticationFailure, .messageIntegrityFailure: self = .wrongKey
            default: self = .timedOut
            }
        case .linkLost: self = .linkLost
        case .cancelled: self = .cancelled
        }
    }

    /// How a request ends that the peer refused and that no pairing could help: with the peer's own word, unless
    /// Apple's systems have a better one (B-K1, B-N3).
    func failure(ofRefused code: UInt8) -> HostFailure {
        switch self {
        case .peerLostBond, .wrongKey, .timedOut: .security(self)
        case .bondMissingHere, .tooWeak, .refused, .refusedByPeer, .cancelled, .tooManyBonds, .linkLost:
            .attribute(errorCode: code)
        }
    }
}

extension Array {
    /// Those that fit, and those that do not, in their order.
    fileprivate func split(_ fits: (Element) -> Bool) -> (met: [Element], open: [Element]) {
        (filter(fits), filter { !fits($0) })
    }
}
