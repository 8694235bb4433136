package import ByteCodec

/// A Bluetooth device address and its kind.
///
/// Source: Core 6.0, Vol 6, Part B, 1.3.
package struct DeviceAddress: Hashable, Sendable, Comparable, CustomStringConvertible {
    package enum Kind: UInt8, Hashable, Sendable {
        case `public` = 0x00
        case random = 0x01
    }

    package var kind: Kind
    /// The 48 bits of the address; the last octet of the printed form is the least significant.
    package var value: UInt64

    package init(_ value: UInt64, kind: Kind = .public) {
        precondition(value >> 48 == 0, "An address has 48 bits.")
        self.value = value
        self.kind = kind
    }

    /// The address that `text` spells as `AA:BB:CC:DD:EE:FF`; `nil` for any other text.
    package init?(_ text: String, kind: Kind = .public) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6 else { return nil }
        var value: UInt64 = 0
        for part in parts {
            guard part.utf8.count == 2, part.first?.isHexDigit == true, let octet = UInt8(part, radix: 16) else {
                return nil
            }
            value = value << 8 | UInt64(octet)
        }
        self.init(value, kind: kind)
    }

    /// The six octets, least significant first, as they travel.
    package var octets: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) } }

    /// `AA:BB:CC:DD:EE:FF`, most significant octet first.
    package var description: String {
        octets.reversed().map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    }

    /// In one piece, for it is the key of most tables.
    package func hash(into hasher: inout Hasher) { hasher.combine(value | UInt64(kind.rawValue) << 48) }

    package static func < (left: DeviceAddress, right: DeviceAddress) -> Bool {
        (left.value, left.kind.rawValue) < (right.value, right.kind.rawValue)
    }
}

extension FieldCoder {
    /// The 48 bits of an address, least significant octet first. Its kind travels elsewhere.
    package mutating func address(_ name: StaticString, _ value: inout DeviceAddress) throws(PacketError) {
        var low = UInt32(truncatingIfNeeded: value.value)
        var high = UInt16(truncatingIfNeeded: value.value >> 32)
        try integer(name, &low)
        try integer(name, &high)
        value.value = UInt64(high) << 32 | UInt64(low)
    }
}
