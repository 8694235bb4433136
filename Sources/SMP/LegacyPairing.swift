import BluetoothCrypto
import BluetoothTypes

/// Phase 2 of LE legacy pairing.
///
/// Source: Core 6.0, Vol 3, Part H, 2.3.5.2 to 2.3.5.5.
extension Pairing {
    mutating func beginLegacy() -> [Effect] {
        step = .confirm
        switch method {
        case .passkey: return beginPasskey()
        case .outOfBand: secret = configuration.outOfBand.temporaryKey?.value
        case .justWorks, .numericComparison, nil: secret = 0
        }
        return isInitiator ? sendConfirm() : []
    }

    func legacyConfirmValue(own: Bool) -> UInt128 {
        let initiator = Toolbox.Party(
            command: SMPCommand.pairingRequest(request).octets, addressKind: initiatorAddress.kind.rawValue,
            address: initiatorAddress.value)
        let responder = Toolbox.Party(
            command: SMPCommand.pairingResponse(response).octets, addressKind: responderAddress.kind.rawValue,
            address: responderAddress.value)
        return Toolbox.c1(
            SecretKey(secret ?? 0), own ? ownRandom : peerRandom, initiator: initiator, responder: responder)
    }

    mutating func receiveLegacyRandom() throws(PairingFailedReason) -> [Effect] {
        guard confirmValue(own: false) == peerConfirm else { throw .confirmValueFailed }
        let (initiator, responder) = isInitiator ? (ownRandom, peerRandom) : (peerRandom, ownRandom)
        let key = Toolbox.s1(SecretKey(secret ?? 0), responder: responder, initiator: initiator)
            .shortened(to: keySize)
        linkKey = key
        step = .encryption
        return [isInitiator ? .encrypt(LongTermKey(key)) : Self.send(.pairingRandom(PairingValue(ownRandom)))]
    }
}
