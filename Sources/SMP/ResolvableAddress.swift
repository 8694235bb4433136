package import BluetoothCrypto
package import BluetoothTypes

/// A resolvable private address, taken apart.
///
/// Source: Core 6.0, Vol 6, Part B, 1.3.2.2 (format) and 1.3.2.3 (resolution).
package struct ResolvableAddress: Equatable, Sendable {
    package let address: DeviceAddress

    /// - Returns: `nil` if the address is of another kind.
    package init?(_ address: DeviceAddress) {
        guard address.kind == .random, PrivateAddress.isResolvable(address.value) else { return nil }
        self.address = address
    }

    /// An address for the owner of `key`. `random` gives 22 bits of it, of which not all are equal.
    package init(key: SecretKey, random: UInt32) {
        address = DeviceAddress(PrivateAddress.make(key, random: random), kind: .random)
    }

    /// Whether the owner of `key` made it. A key of zeros is nobody's.
    package func isOf(_ key: SecretKey) -> Bool { PrivateAddress.isMade(address.value, by: key) }

    /// The identity among `identities` whose address it is; the first, should two fit.
    package func identity(in identities: some Sequence<Identity>) -> DeviceAddress? {
        identities.first { isOf($0.resolvingKey) }?.address
    }
}
