package import BluetoothCrypto
package import BluetoothTypes

/// What this device can do, wants and insists on in a pairing.
package struct SecurityConfiguration: Sendable {
    /// Who this device is; it gives away its IRK and address if both sides agree.
    package var identity: Identity
    package var ioCapability = IOCapability.noInputNoOutput
    /// Bonding, MITM protection, Secure Connections: what to ask for. The other bits stay clear.
    package var authentication: AuthenticationRequirements = [.bonding, .secureConnections]
    /// In octets; 7...16. A pairing that would end with shorter keys fails.
    package var minimumKeySize: UInt8 = 7
    package var maximumKeySize: UInt8 = 16
    package var initiatorKeys: KeyDistribution = [.encryption, .identity, .signing]
    package var responderKeys: KeyDistribution = [.encryption, .identity, .signing]
    /// Nothing but LE Secure Connections, authenticated, with keys of 128 bits (Vol 3, Part C, 10.2.4).
    package var isSecureConnectionsOnly = false
    /// A pairing in which somebody in the middle would not be found out fails.
    package var requiresAuthentication = false
    /// Whether the peer may start a pairing.
    package var acceptsPairing = true
    /// Whether a person must agree to a pairing that asks nothing of them.
    package var confirmsJustWorks = false
    package var outOfBand = OutOfBandData()

    package init(identity: Identity) { self.identity = identity }
}

/// What came and went by another way than the radio.
///
/// Source: Core 6.0, Vol 3, Part H, 2.3.5.4 (legacy: TK) and 2.3.5.6.4 (Secure Connections).
package struct OutOfBandData: Sendable {
    /// What the peer gave us.
    package struct Received: Hashable, Sendable {
        package var random: SecretKey
        package var confirm: UInt128

        package init(random: SecretKey, confirm: UInt128) {
            self.random = random
            self.confirm = confirm
        }
    }

    /// What we gave to the peer, and the keys that it speaks of.
    package struct Given: Sendable {
        package var random: SecretKey
        package var keyPair: P256KeyPair

        package init(random: SecretKey, keyPair: P256KeyPair) {
            self.random = random
            self.keyPair = keyPair
        }

        /// The peer's part of it.
        package var received: Received {
            let x = keyPair.publicKey.x
            return Received(random: random, confirm: Toolbox.f4(x, x, random.value, 0))
        }
    }

    /// The TK that both sides of a legacy pairing have.
    package var temporaryKey: SecretKey?
    package var received: Received?
    package var given: Given?

    package init() {}
}
