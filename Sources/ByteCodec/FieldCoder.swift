/// Visits the fields of a packet in the order in which they travel.
///
/// A packet names its fields once, in ``Packet/fields(_:)``. The coder it is handed decides what the visit
/// means: ``FieldReader`` decodes, ``FieldWriter`` encodes, ``FieldPrinter`` describes. There is no second
/// list of fields that could fall out of step with the first.
@usableFromInline
package protocol FieldCoder {
    /// An integer, least significant octet first.
    mutating func integer<Value: FixedWidthInteger & Sendable>(
        _ name: StaticString, _ value: inout Value
    ) throws(PacketError)

    /// As many octets as `count` says.
    mutating func octets(_ name: StaticString, _ value: inout [UInt8], count: Int) throws(PacketError)

    /// As many octets as `limit` says, or fewer where the packet ends before.
    mutating func octets(_ name: StaticString, _ value: inout [UInt8], upTo limit: Int) throws(PacketError)

    /// All octets from here to the end of the packet.
    mutating func remainder(_ name: StaticString, _ value: inout [UInt8]) throws(PacketError)

    /// As many octets as `count` says, without a copy of their own when they are read.
    mutating func octets(_ name: StaticString, _ value: inout ArraySlice<UInt8>, count: Int) throws(PacketError)

    /// All octets from here to the end of the packet, without a copy of their own when they are read.
    mutating func remainder(_ name: StaticString, _ value: inout ArraySlice<UInt8>) throws(PacketError)

    /// As many elements as fill the packet from here to its end.
    ///
    /// - Parameter blank: the element a reader starts from each time; a writer does not use it.
    mutating func list<Element>(
        _ name: StaticString, _ elements: inout [Element], blank: Element,
        _ visit: (inout Self, inout Element) throws(PacketError) -> Void
    ) throws(PacketError)

    /// One octet that counts the elements, then the elements.
    mutating func countedList<Element>(
        _ name: StaticString, _ elements: inout [Element], blank: Element,
        _ visit: (inout Self, inout Element) throws(PacketError) -> Void
    ) throws(PacketError)
}

extension FieldCoder {
    @inlinable
    package mutating func octets(
        _ name: StaticString, _ value: inout ArraySlice<UInt8>, count: Int
    ) throws(PacketError) {
        var copy = Array(value)
        try octets(name, &copy, count: count)
        value = copy[...]
    }

    @inlinable
    package mutating func remainder(_ name: StaticString, _ value: inout ArraySlice<UInt8>) throws(PacketError) {
        var copy = Array(value)
        try remainder(name, &copy)
        value = copy[...]
    }

    /// One octet that counts the octets, then the octets.
    @inlinable
    package mutating func countedOctets(_ name: StaticString, _ value: inout [UInt8]) throws(PacketError) {
        var count = UInt8(truncatingIfNeeded: value.count)
        try integer(name, &count)
        try octets(name, &value, count: Int(count))
    }

    /// An integer that must be one of the raw values of `Value`.
    @inlinable
    package mutating func choice<Value: RawRepresentable>(
        _ name: StaticString, _ value: inout Value
    ) throws(PacketError) where Value.RawValue: FixedWidthInteger & Sendable {
        var rawValue = value.rawValue
        try integer(name, &rawValue)
        guard let known = Value(rawValue: rawValue) else {
            throw PacketError(.valueNotAllowed(Int(truncatingIfNeeded: rawValue)), field: name)
        }
        value = known
    }
}
