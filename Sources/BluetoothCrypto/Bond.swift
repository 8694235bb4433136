package import BluetoothTypes

/// A key that encrypts links, and the names by which the central asks for it: both 0 after Secure Connections.
package struct LongTermKey: Hashable, Sendable {
    package var key: SecretKey
    /// EDIV.
    package var diversifier: UInt16
    /// Rand.
    package var random: UInt64

    package init(_ key: SecretKey, diversifier: UInt16 = 0, random: UInt64 = 0) {
        self.key = key
        self.diversifier = diversifier
        self.random = random
    }
}

/// What two devices keep of a pairing, as one of them sees it.
package struct Bond: Hashable, Sendable {
    /// The peer's identity address, or the address that it was connected by if it gave none.
    package var address: DeviceAddress
    /// The peer's IRK; `nil` if its addresses are not to be resolved.
    package var resolvingKey: SecretKey?
    /// The key of links on which this device is the peripheral.
    package var localKey: LongTermKey?
    /// The key of links on which the peer is the peripheral.
    package var peerKey: LongTermKey?
    /// The CSRK with which this device signs.
    package var localSigningKey: SecretKey?
    /// The CSRK with which the peer signs.
    package var peerSigningKey: SecretKey?
    package var security: LinkSecurity

    package init(address: DeviceAddress, security: LinkSecurity) {
        self.address = address
        self.security = security
    }
}

/// Who a device is behind its private addresses.
package struct Identity: Equatable, Sendable {
    /// Public, or static random.
    package var address: DeviceAddress
    /// IRK. Of zeros if the device has none.
    package var resolvingKey: SecretKey

    package init(address: DeviceAddress, resolvingKey: SecretKey) {
        self.address = address
        self.resolvingKey = resolvingKey
    }
}
