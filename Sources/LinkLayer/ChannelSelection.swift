import ByteCodec

/// Which of the 37 data channels a connection uses.
package struct UsedChannels: Hashable, Sendable {
    /// Bit *n* stands for channel *n*.
    package let bits: UInt64
    /// The used ones in ascending order.
    let table: [UInt8]

    package static let all = UsedChannels(bits: 0x1F_FFFF_FFFF)

    /// Bits from 37 on are reserved and dropped.
    package init(bits: UInt64) {
        self.bits = bits & 0x1F_FFFF_FFFF
        table = (0..<37).filter { [bits = self.bits] in bits >> UInt64($0) & 1 == 1 }
    }

    package var count: Int { table.count }

    package static func == (left: UsedChannels, right: UsedChannels) -> Bool { left.bits == right.bits }
    package func hash(into hasher: inout Hasher) { hasher.combine(bits) }
}

extension FieldCoder {
    /// A channel map in five octets. Core 6.0, Vol 6, Part B, 2.3.3.1.
    mutating func usedChannels(_ name: StaticString, _ value: inout UsedChannels) throws(PacketError) {
        var low = UInt32(truncatingIfNeeded: value.bits)
        var high = UInt8(truncatingIfNeeded: value.bits >> 32)
        try integer(name, &low)
        try integer(name, &high)
        value = UsedChannels(bits: UInt64(high) << 32 | UInt64(low))
    }
}

/// The order in which a connection goes through its channels.
///
/// Both algorithms are functions of the number of the event alone, so that events can be skipped and gone back to.
package enum ChannelSelection: Equatable, Sendable {
    /// Core 6.0, Vol 6, Part B, 4.5.8.2. The increment is 5...16.
    case algorithm1(hopIncrement: UInt8)
    /// Core 6.0, Vol 6, Part B, 4.5.8.3.
    case algorithm2(channelIdentifier: UInt16)

    /// Algorithm #2 for the connection with this access address.
    package static func algorithm2(accessAddress: UInt32) -> ChannelSelection {
        .algorithm2(
            channelIdentifier: UInt16(truncatingIfNeeded: accessAddress >> 16 ^ accessAddress))
    }

    /// The channel of an event.
    ///
    /// - Parameters:
    ///   - event: counted from 0, without wrapping at 16 bits.
    ///   - used: at least one channel.
    package func channel(event: Int, used: UsedChannels) -> UInt8 {
        switch self {
        case .algorithm1(let hopIncrement):
            let unmapped = UInt8((event + 1) * Int(hopIncrement) % 37)
            if used.bits >> UInt64(unmapped) & 1 == 1 { return unmapped }
            return used.table[Int(unmapped) % used.count]
        case .algorithm2(let identifier):
            let number = Self.pseudoRandom(counter: UInt16(truncatingIfNeeded: event), identifier: identifier)
            let unmapped = UInt8(number % 37)
            if used.bits >> UInt64(unmapped) & 1 == 1 { return unmapped }
            return used.table[(used.count * Int(number)) >> 16]
        }
    }

    /// `prn_e` of an event. Vol 6, Part B, 4.5.8.3.3.
    static func pseudoRandom(counter: UInt16, identifier: UInt16) -> UInt16 {
        var number = counter ^ identifier
        for _ in 0..<3 {
            number = permuted(number) &* 17 &+ identifier
        }
        return number ^ identifier
    }

    /// PERM: the bits of each octet in reverse order.
    private static func permuted(_ number: UInt16) -> UInt16 {
        var bits = number
        bits = (bits & 0xAAAA) >> 1 | (bits & 0x5555) << 1
        bits = (bits & 0xCCCC) >> 2 | (bits & 0x3333) << 2
        return (bits & 0xF0F0) >> 4 | (bits & 0x0F0F) << 4
    }
}
