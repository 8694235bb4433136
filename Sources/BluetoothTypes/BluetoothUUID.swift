package import ByteCodec

/// A UUID in the width in which it travels. The specification assigns the short ones.
///
/// Two UUIDs are equal if they mean the same 128 bits, whatever their widths.
///
/// Source: Core 6.0, Vol 3, Part B, 2.5.1.
package enum BluetoothUUID: Sendable {
    case uuid16(UInt16)
    case uuid32(UInt32)
    case uuid128(UInt128)

    /// `0000xxxx-0000-1000-8000-00805F9B34FB`, on which the short ones stand.
    package static let base: UInt128 = 0x0000_0000_0000_1000_8000_0080_5F9B_34FB

    /// All 128 bits.
    package var full: UInt128 {
        switch self {
        case .uuid16(let short): Self.base | UInt128(short) << 96
        case .uuid32(let short): Self.base | UInt128(short) << 96
        case .uuid128(let long): long
        }
    }

    /// The same UUID, in 16 bits if it stands on the base and fits, else in 128.
    ///
    /// ATT knows these two widths only (Core 6.0, Vol 3, Part F, 3.2.1).
    package var attributeForm: BluetoothUUID {
        let full = full
        let short = full >> 96
        guard full & (UInt128.max >> 32) == Self.base, short <= UInt128(UInt16.max) else { return .uuid128(full) }
        return .uuid16(UInt16(short))
    }

    /// As it travels in ATT PDUs and advertising data, least significant octet first: 2, 4 or 16 octets.
    package var octets: [UInt8] {
        switch self {
        case .uuid16(let short): (0..<2).map { UInt8(truncatingIfNeeded: short >> UInt16(8 * $0)) }
        case .uuid32(let short): (0..<4).map { UInt8(truncatingIfNeeded: short >> UInt32(8 * $0)) }
        case .uuid128(let long): (0..<16).map { UInt8(truncatingIfNeeded: long >> UInt128(8 * $0)) }
        }
    }

    /// From 2, 4 or 16 octets, least significant first; `nil` for any other count.
    package init?(octets: ArraySlice<UInt8>) {
        var value: UInt128 = 0
        for octet in octets.reversed() { value = value << 8 | UInt128(octet) }
        switch octets.count {
        case 2: self = .uuid16(UInt16(value))
        case 4: self = .uuid32(UInt32(value))
        case 16: self = .uuid128(value)
        default: return nil
        }
    }
}

extension BluetoothUUID: Hashable {
    package static func == (left: BluetoothUUID, right: BluetoothUUID) -> Bool { left.full == right.full }
    package func hash(into hasher: inout Hasher) { hasher.combine(full) }
}

extension BluetoothUUID: CustomStringConvertible {
    /// Upper case: 4, 8 or 36 characters.
    package var description: String {
        let text = octets.reversed().map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
        guard case .uuid128 = self else { return text }
        var groups: [Substring] = []
        var rest = text[...]
        for length in [8, 4, 4, 4, 12] {
            groups.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return groups.joined(separator: "-")
    }
}

extension FieldCoder {
    /// A UUID, as wide as the case that `value` already has.
    package mutating func uuid(_ name: StaticString, _ value: inout BluetoothUUID) throws(PacketError) {
        switch value {
        case .uuid16(var short):
            try integer(name, &short)
            value = .uuid16(short)
        case .uuid32(var short):
            try integer(name, &short)
            value = .uuid32(short)
        case .uuid128(var long):
            try integer(name, &long)
            value = .uuid128(long)
        }
    }
}
