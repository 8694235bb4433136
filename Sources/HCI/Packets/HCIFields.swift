package import BluetoothTypes
package import ByteCodec

extension FieldCoder {
    /// A connection handle: 12 bits; the 4 above are reserved and ignored (Core 6.0, Vol 4, Part E, 5.4.2).
    package mutating func handle(_ name: StaticString, _ value: inout UInt16) throws(PacketError) {
        try integer(name, &value)
        value &= 0x0FFF
    }

    /// The kind of an address in one octet, then its 48 bits. The kinds that stand for an identity address, 0x02
    /// and 0x03, are read as the kind of that address.
    package mutating func typedAddress(
        _ kindName: StaticString, _ name: StaticString, _ value: inout DeviceAddress
    ) throws(PacketError) {
        var isIdentity = false
        try typedAddress(kindName, name, &value, isIdentity: &isIdentity)
    }

    /// The same, where it matters whether the controller has found an identity behind a private address.
    mutating func typedAddress(
        _ kindName: StaticString, _ name: StaticString, _ value: inout DeviceAddress, isIdentity: inout Bool
    ) throws(PacketError) {
        var kind = value.kind.rawValue | (isIdentity ? 0x02 : 0)
        try integer(kindName, &kind)
        guard kind <= 0x03, let known = DeviceAddress.Kind(rawValue: kind & 0x01) else {
            throw PacketError(.valueNotAllowed(Int(kind)), field: kindName)
        }
        value.kind = known
        isIdentity = kind & 0x02 != 0
        try address(name, &value)
    }

    /// One octet that counts the octets in use, then always `width` octets, filled up with zeros.
    mutating func paddedOctets(
        _ countName: StaticString, _ name: StaticString, _ value: inout [UInt8], width: Int
    ) throws(PacketError) {
        precondition(value.count <= width, "\(name) holds \(value.count) octets; \(width) are the most.")
        var count = UInt8(value.count)
        try integer(countName, &count)
        guard count <= width else { throw PacketError(.valueNotAllowed(Int(count)), field: countName) }
        var padded = value + Array(repeating: 0, count: width - value.count)
        try octets(name, &padded, count: width)
        value = Array(padded.prefix(Int(count)))
    }

    /// One octet that counts the octets, then the octets.
    mutating func countedOctets(
        _ countName: StaticString, _ name: StaticString, _ value: inout [UInt8], max: Int
    ) throws(PacketError) {
        precondition(value.count <= max, "\(name) holds \(value.count) octets; \(max) are the most.")
        var count = UInt8(value.count)
        try integer(countName, &count)
        guard count <= max else { throw PacketError(.valueNotAllowed(Int(count)), field: countName) }
        try octets(name, &value, count: Int(count))
    }

    /// A number of 24 bits.
    mutating func threeOctets(_ name: StaticString, _ value: inout UInt32) throws(PacketError) {
        var low = UInt16(truncatingIfNeeded: value)
        var high = UInt8(truncatingIfNeeded: value >> 16)
        try integer(name, &low)
        try integer(name, &high)
        value = UInt32(high) << 16 | UInt32(low)
    }

    /// An octet of which the specification admits a range.
    mutating func octet(
        _ name: StaticString, _ value: inout UInt8, in range: ClosedRange<UInt8>
    ) throws(PacketError) {
        try integer(name, &value)
        guard range.contains(value) else { throw PacketError(.valueNotAllowed(Int(value)), field: name) }
    }

    /// A switch: 0x00 or 0x01.
    mutating func flag(_ name: StaticString, _ value: inout Bool) throws(PacketError) {
        var octet: UInt8 = value ? 1 : 0
        try self.octet(name, &octet, in: 0...1)
        value = octet == 1
    }
}
