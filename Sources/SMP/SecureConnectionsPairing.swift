import BluetoothCrypto
import BluetoothTypes

/// Phase 2 of LE Secure Connections pairing.
///
/// Source: Core 6.0, Vol 3, Part H, 2.3.5.6.
extension Pairing {
    var initiatorAddress: DeviceAddress { isInitiator ? local : remote }
    var responderAddress: DeviceAddress { isInitiator ? remote : local }

    /// 2.3.5.6.1
    mutating func beginPublicKeys() -> [Effect] {
        let pair = newKeyPair()
        keyPair = pair
        step = .publicKey
        return isInitiator ? [Self.send(.pairingPublicKey(PairingPublicKey(pair.publicKey)))] : []
    }

    private mutating func newKeyPair() -> P256KeyPair {
        if method == .outOfBand, let given = configuration.outOfBand.given { return given.keyPair }
        return P256KeyPair.generate(using: &random)
    }

    mutating func receivePublicKey(_ received: PairingPublicKey) throws(PairingFailedReason) -> [Effect] {
        guard let keyPair else { throw .unspecified }
        guard let key = P256PublicKey(wire: received.coordinates) else { throw .invalidParameters }
        // Our own key sent back makes a DHKey and check values that its sender need not know.
        guard key.x != keyPair.publicKey.x else { throw .unspecified }
        guard key.x != P256KeyPair.debug.publicKey.x else { throw .authenticationRequirements }
        peerKey = key
        let answer = isInitiator ? [] : [Self.send(.pairingPublicKey(PairingPublicKey(keyPair.publicKey)))]
        return answer + (try beginAuthentication())
    }

    private mutating func beginAuthentication() throws(PairingFailedReason) -> [Effect] {
        switch method {
        case .justWorks, .numericComparison, nil:
            // Only the responder commits itself (2.3.5.6.2).
            step = .confirm
            return isInitiator ? [] : sendConfirm()
        case .passkey:
            return beginPasskey()
        case .outOfBand:
            if let received = configuration.outOfBand.received, let peerKey {
                let confirm = Toolbox.f4(peerKey.x, peerKey.x, received.random.value, 0)
                guard confirm == received.confirm else { throw .confirmValueFailed }
            }
            ownRandom = random.nextBlock()
            step = .random
            return isInitiator ? [Self.send(.pairingRandom(PairingValue(ownRandom)))] : []
        }
    }

    func secureConfirmValue(own: Bool) -> UInt128 {
        guard let keyPair, let peerKey else { return 0 }
        let (first, second) = own ? (keyPair.publicKey, peerKey) : (peerKey, keyPair.publicKey)
        return Toolbox.f4(first.x, second.x, own ? ownRandom : peerRandom, passkeyBit)
    }

    /// The bit of the passkey whose turn it is, with the mark that f4 wants; 0 for methods that have none.
    private var passkeyBit: UInt8 {
        guard isPasskeyEntry, let secret else { return 0 }
        return 0x80 | UInt8(truncatingIfNeeded: secret >> UInt128(round) & 1)
    }

    mutating func receiveSecureRandom() throws(PairingFailedReason) -> [Effect] {
        // The initiator of Just Works and numeric comparison makes no promise that could be checked.
        let isPromised = isPasskeyEntry || (isInitiator && method != .outOfBand)
        if isPromised {
            guard confirmValue(own: false) == peerConfirm else { throw .confirmValueFailed }
        }
        let answer = isInitiator ? [] : [Self.send(.pairingRandom(PairingValue(ownRandom)))]
        if isPasskeyEntry {
            round += 1
            if round < 20 {
                step = .confirm
                return answer + (isInitiator ? sendConfirm() : [])
            }
        }
        deriveKeys()
        guard method == .numericComparison else {
            step = .check
            return answer + (isInitiator ? sendCheck() : [])
        }
        step = .comparison
        return answer + [.needsUser(.compare(comparisonValue))]
    }

    private var comparisonValue: UInt32 {
        guard let keyPair, let peerKey else { return 0 }
        let (own, peer) = (keyPair.publicKey.x, peerKey.x)
        let value =
            isInitiator
            ? Toolbox.g2(own, peer, ownRandom, peerRandom) : Toolbox.g2(peer, own, peerRandom, ownRandom)
        return value % 1_000_000
    }

    /// 2.3.5.6.5
    private mutating func deriveKeys() {
        guard let keyPair, let peerKey else { return }
        let (initiator, responder) = isInitiator ? (ownRandom, peerRandom) : (peerRandom, ownRandom)
        let keys = Toolbox.f5(
            keyPair.sharedSecret(with: peerKey), initiator, responder, initiatorAddress.toolboxValue,
            responderAddress.toolboxValue)
        macKey = keys.macKey
        linkKey = keys.longTermKey.shortened(to: keySize)
    }

    mutating func sendCheck() -> [Effect] {
        guard let check = checkValue(own: true) else { return [] }
        return [Self.send(.pairingDHKeyCheck(PairingValue(check)))]
    }

    mutating func receiveCheck(_ check: UInt128) throws(PairingFailedReason) -> [Effect] {
        guard check == checkValue(own: false) else { throw .dhKeyCheckFailed }
        let answer = isInitiator ? [] : sendCheck()
        step = .encryption
        guard isInitiator, let linkKey else { return answer }
        return answer + [.encrypt(LongTermKey(linkKey))]
    }

    /// The value with which this side, or the peer, proves that it has the DHKey.
    private func checkValue(own: Bool) -> UInt128? {
        guard let macKey else { return nil }
        let features = own == isInitiator ? request : response
        let (first, second) = own ? (ownRandom, peerRandom) : (peerRandom, ownRandom)
        let (sender, receiver) = own ? (local, remote) : (remote, local)
        return Toolbox.f6(
            macKey, first, second, sharedValue(own: own), ioCapability: features.ioCapabilityValue,
            sender.toolboxValue, receiver.toolboxValue)
    }

    /// What the sender of a check knows besides the DHKey: the passkey, or what it got from the other out of band.
    private func sharedValue(own: Bool) -> UInt128 {
        switch method {
        case .passkey: return secret ?? 0
        case .justWorks, .numericComparison, nil: return 0
        case .outOfBand: break
        }
        if own { return configuration.outOfBand.received?.random.value ?? 0 }
        let peer = isInitiator ? response : request
        return peer.hasOutOfBandData ? configuration.outOfBand.given?.random.value ?? 0 : 0
    }
}

extension DeviceAddress {
    /// 56 bits: the kind, then the address.
    fileprivate var toolboxValue: UInt64 { UInt64(kind.rawValue) << 48 | value }
}
