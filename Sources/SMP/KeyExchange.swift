import BluetoothCrypto
import BluetoothTypes

/// The keys that one side gives the other.
struct Keys: Sendable {
    var longTermKey: LongTermKey?
    var resolvingKey: SecretKey?
    var address: DeviceAddress?
    var signingKey: SecretKey?
}

/// Phase 3: the responder gives its keys, then the initiator gives its own, in the order of their codes.
///
/// Source: Core 6.0, Vol 3, Part H, 2.4.3 and 3.6.1.
extension Pairing {
    private var ownKeys: KeyDistribution { isInitiator ? response.initiatorKeys : response.responderKeys }
    private var peerKeys: KeyDistribution { isInitiator ? response.responderKeys : response.initiatorKeys }

    /// The link is encrypted.
    mutating func distribute() -> [Effect] {
        step = .keys
        awaitedKeys = []
        if peerKeys.contains(.encryption), !isSecureConnections {
            awaitedKeys += [.encryptionInformation, .centralIdentification]
        }
        if peerKeys.contains(.identity) { awaitedKeys += [.identityInformation, .identityAddressInformation] }
        if peerKeys.contains(.signing) { awaitedKeys += [.signingInformation] }
        let effects = isInitiator && !awaitedKeys.isEmpty ? [] : give()
        finishIfDone()
        return effects
    }

    private mutating func finishIfDone() {
        if awaitedKeys.isEmpty { step = .finished }
    }

    private mutating func give() -> [Effect] {
        var commands: [SMPCommand] = []
        if ownKeys.contains(.encryption), !isSecureConnections {
            let key = LongTermKey(
                SecretKey(random.nextBlock()).shortened(to: keySize),
                diversifier: UInt16(truncatingIfNeeded: random.next()), random: random.next())
            given.longTermKey = key
            commands.append(.encryptionInformation(DistributedKey(key.key)))
            commands.append(
                .centralIdentification(CentralIdentification(diversifier: key.diversifier, random: key.random)))
        }
        if ownKeys.contains(.identity) {
            commands.append(.identityInformation(DistributedKey(configuration.identity.resolvingKey)))
            commands.append(.identityAddressInformation(IdentityAddressInformation(configuration.identity.address)))
        }
        if ownKeys.contains(.signing) {
            let key = SecretKey(random.nextBlock())
            given.signingKey = key
            commands.append(.signingInformation(DistributedKey(key)))
        }
        return commands.map(Self.send)
    }

    mutating func receiveKey(_ command: SMPCommand) throws(PairingFailedReason) -> [Effect] {
        guard awaitedKeys.first == command.code else { throw .unspecified }
        switch command {
        case .encryptionInformation(let information):
            taken.longTermKey = LongTermKey(information.key)
        case .centralIdentification(let identification):
            taken.longTermKey?.diversifier = identification.diversifier
            taken.longTermKey?.random = identification.random
        case .identityInformation(let information):
            // A key of zeros says that the device's address does not change.
            taken.resolvingKey = information.key.value == 0 ? nil : information.key
        case .identityAddressInformation(let information):
            guard information.isIdentity else { throw .keyRejected }
            taken.address = information.address
        case .signingInformation(let information):
            taken.signingKey = information.key
        case .pairingRequest, .pairingResponse, .pairingConfirm, .pairingRandom, .pairingFailed, .securityRequest,
            .pairingPublicKey, .pairingDHKeyCheck, .keypressNotification:
            throw .unspecified
        }
        awaitedKeys.removeFirst()
        guard awaitedKeys.isEmpty else { return [] }
        let effects = isInitiator ? give() : []
        finishIfDone()
        return effects
    }

    /// What is kept of the pairing; `nil` unless both sides want to.
    var bond: Bond? {
        guard request.authentication.contains(.bonding), response.authentication.contains(.bonding) else {
            return nil
        }
        var bond = Bond(address: taken.address ?? remote, security: security)
        bond.resolvingKey = taken.resolvingKey
        bond.localKey = isSecureConnections ? linkKey.map { LongTermKey($0) } : given.longTermKey
        bond.peerKey = isSecureConnections ? linkKey.map { LongTermKey($0) } : taken.longTermKey
        bond.localSigningKey = given.signingKey
        bond.peerSigningKey = taken.signingKey
        return bond
    }
}
