import ATT
import BluetoothCrypto
import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import HostInterface
import SMP

/// What clients ask of security, and the questions that pairings have for persons.
extension Host {
    /// The client that speaks for the persons in front of the device.
    private var agent: HostClient? { clients.first { $0.pairing != nil } }

    var pairingPolicy: PairingPolicy { agent?.pairing ?? configuration.pairing }

    func submitSecurity(_ command: SecurityCommand, _ key: RequestKey, at now: Instant) {
        switch command {
        case .setPolicy(let policy): setPolicy(policy, for: key, at: now)
        case .secure(let peer, let authenticated): secure(peer, authenticated: authenticated, for: key, at: now)
        case .reply(let id, let reply):
            if agent?.id == key.client { take(reply, to: id, at: now) }
            finish(key, .success(.done))
        case .listBonds: finish(key, .success(.bonds(bonds)))
        case .removeBond(let peer):
            removeBond(of: peer, at: now)
            finish(key, .success(.done))
        case .importBonds(let records):
            if let failure = importBonds(records, at: now) { fail(key, failure) } else { finish(key, .success(.done)) }
        case .makeOutOfBandData:
            var random = randomness.generator()
            let given = OutOfBandData.Given(
                random: SecretKey(random.nextBlock()), keyPair: P256KeyPair.generate(using: &random))
            outOfBandData = given
            updateSecurityConfigurations()
            let share = given.received
            finish(key, .success(.outOfBand(OutOfBandShare(random: share.random, confirm: share.confirm))))
        case .setOutOfBandData(let peer, let share):
            outOfBandShares.removeAll { $0.peer == peer }
            if outOfBandShares.count >= Self.mostBonds { outOfBandShares.removeFirst() }
            outOfBandShares.append((peer, share))
            updateSecurityConfigurations()
            finish(key, .success(.done))
        case .writeSigned(let peer, let handle, let value):
            writeSigned(peer, handle.rawValue, value, for: key, at: now)
        }
    }

    private func secure(_ peer: PeerID, authenticated: Bool, for key: RequestKey, at now: Instant) {
        guard let index = linkIndex(of: peer) else { return fail(key, .notConnected) }
        links[index].security.demands.append((key, authenticated))
        // While something is under way this does nothing: the end of that shows whether it was enough.
        handleSecurity(.secure(authenticated: authenticated), onLink: index, at: now)
    }

    // MARK: Policy

    private func setPolicy(_ policy: PairingPolicy?, for key: RequestKey, at now: Instant) {
        if let policy {
            let sizes = 7...16 as ClosedRange<UInt8>
            guard sizes.contains(policy.minimumKeySize), sizes.contains(policy.maximumKeySize),
                policy.minimumKeySize <= policy.maximumKeySize
            else {
                return fail(key, .invalidParameters("Keys have 7 to 16 octets, and the least is not above the most."))
            }
        }
        let before = agent?.id
        updateClient(key.client) { $0.pairing = policy }
        agentMayHaveChanged(from: before, at: now)
        finish(key, .success(.done))
    }

    /// Pairings that ask a client which has left, or speaks for nobody any more, end: nobody knows their answers.
    func agentMayHaveChanged(from before: ClientID?, at now: Instant) {
        updateSecurityConfigurations()
        guard let before, agent?.id != before else { return }
        for handle in links.filter({ $0.security.question != nil }).map(\.handle) {
            guard let index = linkIndex(handle: handle), let question = links[index].security.question else { continue }
            links[index].security.question = nil
            deliver(.security(.questionEnded(question.id)), to: before)
            handleSecurity(.cancel, onLink: index, at: now)
        }
    }

    var agentID: ClientID? { agent?.id }

    private func updateSecurityConfigurations() {
        for index in links.indices {
            links[index].security.manager.configuration = securityConfiguration(for: links[index].peer)
        }
    }

    func securityConfiguration(for peer: PeerID) -> SecurityConfiguration {
        let policy = pairingPolicy
        var security = SecurityConfiguration(identity: identity)
        security.ioCapability = policy.ioCapability
        security.minimumKeySize = policy.minimumKeySize
        security.maximumKeySize = policy.maximumKeySize
        security.isSecureConnectionsOnly = policy.isSecureConnectionsOnly
        security.requiresAuthentication = policy.requiresAuthentication
        security.acceptsPairing = policy.acceptsPairing
        security.confirmsJustWorks = policy.confirmsJustWorks
        security.outOfBand.given = outOfBandData
        if let share = outOfBandShares.first(where: { $0.peer == peer })?.share {
            security.outOfBand.received = OutOfBandData.Received(random: share.random, confirm: share.confirm)
        }
        security.authentication = []
        if policy.bonds { security.authentication.insert(.bonding) }
        if policy.usesSecureConnections { security.authentication.insert(.secureConnections) }
        // Who can ask a person asks, as phones do: then one pairing is enough for whatever the peer wants.
        if policy.ioCapability != .noInputNoOutput || policy.requiresAuthentication || policy.isSecureConnectionsOnly {
            security.authentication.insert(.mitm)
        }
        return security
    }

    // MARK: Questions

    func ask(_ question: SecurityManager.UserQuestion, onLink index: Int, at now: Instant) {
        endQuestion(onLink: index)
        guard agent != nil else {
            // Only a policy of the host's own asks without anybody to answer.
            return handleSecurity(.cancel, onLink: index, at: now)
        }
        lastPairingQuestion += 1
        let kind: PairingQuestion.Kind =
            switch question {
            case .displayPasskey(let passkey): .display(passkey: passkey)
            case .enterPasskey: .enterPasskey
            case .compare(let number): .compare(number)
            case .confirm: .confirm
            }
        let asked = PairingQuestion(id: PairingQuestionID(lastPairingQuestion), peer: links[index].peer, kind: kind)
        links[index].security.question = asked
        links[index].security.askedAt = now
        tellAgent(.asked(asked))
    }

    func tellAgent(_ event: SecurityEvent) {
        if let agent { deliver(.security(event), to: agent.id) }
    }

    func endQuestion(onLink index: Int) {
        guard let question = links[index].security.question else { return }
        links[index].security.question = nil
        tellAgent(.questionEnded(question.id))
    }

    private func take(_ reply: PairingReply, to id: PairingQuestionID, at now: Instant) {
        guard let index = links.firstIndex(where: { $0.security.question?.id == id }),
            let question = links[index].security.question
        else { return }
        switch (question.kind, reply) {
        case (.display, .yes): return  // It is shown until the pairing ends.
        case (.display, .no), (.enterPasskey, .no), (.display, .passkey): answer(.cancel, onLink: index, at: now)
        case (.enterPasskey, .passkey(let passkey)): answer(.passkeyEntered(passkey), onLink: index, at: now)
        case (.compare, .yes), (.confirm, .yes): answer(.confirmed(true), onLink: index, at: now)
        case (.compare, _), (.confirm, _): answer(.confirmed(false), onLink: index, at: now)
        case (.enterPasskey, .yes): return  // There is no passkey in it.
        }
    }

    private func answer(_ input: SecurityManager.Input, onLink index: Int, at now: Instant) {
        endQuestion(onLink: index)
        handleSecurity(input, onLink: index, at: now)
    }
}

// MARK: - Requests that the peer refuses

extension Host {
    /// Whether a refusal is for want of security that this side can offer: then the link is secured, and the request
    /// tried again (B-K1, B-K2). Each time the link must be better protected than at the refusal, so this ends.
    ///
    /// - Parameter id: the number that the request has on the link's bearer.
    func waitsForSecurity(
        _ key: RequestKey, _ id: UInt64, _ code: ATTErrorCode, onLink index: Int, at now: Instant
    ) -> Bool {
        switch code {
        case .insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort: break
        default: return false
        }
        guard !links[index].isEnding else { return false }
        if id <= links[index].security.lastIDBefore {
            tryAgain(key, at: now)
            return true
        }
        let security = links[index].security.level
        if let security {
            // What more there is, is that somebody in the middle is found out.
            guard code == .insufficientAuthentication, !security.isAuthenticated,
                pairingPolicy.ioCapability != .noInputNoOutput
                    || outOfBandShares.contains(where: { $0.peer == links[index].peer })
            else { return false }
        }
        links[index].security.refused.append((key, code.rawValue))
        handleSecurity(.secure(authenticated: security != nil), onLink: index, at: now)
        return true
    }

    func tryAgain(_ key: RequestKey, at now: Instant) {
        guard let request = requests.request(key) else { return }
        if case .openChannel = request { return submitChannel(request, key, at: now) }
        submitProcedure(request, key, at: now)
    }
}
