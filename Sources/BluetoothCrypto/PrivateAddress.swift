/// The 48 bits of resolvable private addresses: 22 bits by chance under `01`, and their hash under a key.
///
/// Source: Core 6.0, Vol 6, Part B, 1.3.2.2 (format) and 1.3.2.3 (resolution).
package enum PrivateAddress {
    /// Whether the bits of a random address have that form.
    package static func isResolvable(_ value: UInt64) -> Bool { value >> 46 == 0b01 }

    /// An address for the owner of `key`. `random` gives 22 bits of it, of which not all are equal.
    package static func make(_ key: SecretKey, random: UInt32) -> UInt64 {
        var bits = random & 0x3F_FFFF
        if bits == 0 || bits == 0x3F_FFFF { bits ^= 1 }
        let prand = 0x40_0000 | bits
        return UInt64(prand) << 24 | UInt64(Toolbox.ah(key, prand))
    }

    /// Whether the owner of `key` made the resolvable address. A key of zeros is nobody's.
    package static func isMade(_ value: UInt64, by key: SecretKey) -> Bool {
        key.value != 0 && UInt64(Toolbox.ah(key, UInt32(value >> 24 & 0xFF_FFFF))) == value & 0xFF_FFFF
    }
}
