/// 128 bits that nobody but their owner may read. It prints and reflects as its kind alone, wherever it is put.
package struct SecretKey: Hashable, Sendable {
    /// The key as a number: its most significant octet is the one that the Core specification prints first.
    package let value: UInt128

    package init(_ value: UInt128) { self.value = value }

    /// The key that travels as `octets`, least significant first; `nil` unless there are 16.
    package init?(wire octets: some Sequence<UInt8>) {
        guard let value = UInt128(leastSignificantFirst: octets) else { return nil }
        self.value = value
    }

    /// The 16 octets as they travel in SMP and HCI: least significant first.
    package var wire: [UInt8] { value.octets.reversed() }

    /// The key cut down to `size` octets, 7...16: the most significant ones become zero.
    ///
    /// Source: Core 6.0, Vol 3, Part H, 2.3.4.
    package func shortened(to size: Int) -> SecretKey {
        precondition((1...16).contains(size), "A key has 1 to 16 octets, not \(size).")
        return SecretKey(value & (UInt128.max >> UInt128(8 * (16 - size))))
    }
}

extension SecretKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "SecretKey(redacted)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension UInt128 {
    /// The number of 16 octets, least significant first; `nil` for any other count.
    package init?(leastSignificantFirst octets: some Sequence<UInt8>) {
        var value: UInt128 = 0
        var count = 0
        for octet in octets {
            guard count < 16 else { return nil }
            value |= UInt128(octet) << UInt128(8 * count)
            count += 1
        }
        guard count == 16 else { return nil }
        self = value
    }

    /// The 16 octets, most significant first, which is the order in which the cryptographic functions take them.
    package var octets: [UInt8] { bigEndianOctets(16) }
}

extension FixedWidthInteger {
    /// The lowest `count` octets, most significant first.
    func bigEndianOctets(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: self >> Self(8 * (count - 1 - $0))) }
    }

    /// The number that `octets` spell, most significant first. Octets that do not fit fall off the top.
    init(bigEndianOctets octets: some Sequence<UInt8>) {
        self = octets.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }
}
