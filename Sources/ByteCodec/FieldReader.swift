/// Decodes: takes the octets from the front of a packet and puts them into its fields.
@usableFromInline
package struct FieldReader: FieldCoder {
    @usableFromInline
    let octets: ArraySlice<UInt8>
    @usableFromInline
    var position: Int

    @inlinable
    package init(_ octets: ArraySlice<UInt8>) {
        self.octets = octets
        self.position = octets.startIndex
    }

    /// How many octets no field has taken yet.
    @inlinable
    package var remaining: Int { octets.endIndex - position }

    @inlinable
    package mutating func integer<Value: FixedWidthInteger & Sendable>(
        _ name: StaticString, _ value: inout Value
    ) throws(PacketError) {
        let width = Value.bitWidth / 8
        guard remaining >= width else { throw PacketError(.truncated, field: name) }
        // Only one step is generic, for callers to whom this cannot be specialised.
        guard width <= 8 else { return wide(&value, width) }
        var bits: UInt64 = 0
        for index in 0..<width { bits |= UInt64(octets[position + index]) << UInt64(8 * index) }
        value = Value(truncatingIfNeeded: bits)
        position += width
    }

    @inlinable
    mutating func wide<Value: FixedWidthInteger & Sendable>(_ value: inout Value, _ width: Int) {
        value = 0
        for index in 0..<width {
            value |= Value(truncatingIfNeeded: octets[position + index]) << Value(8 * index)
        }
        position += width
    }

    @inlinable
    package mutating func octets(
        _ name: StaticString, _ value: inout [UInt8], count: Int
    ) throws(PacketError) {
        guard remaining >= count else { throw PacketError(.truncated, field: name) }
        value = Array(octets[position..<position + count])
        position += count
    }

    @inlinable
    package mutating func octets(
        _ name: StaticString, _ value: inout [UInt8], upTo limit: Int
    ) throws(PacketError) {
        try octets(name, &value, count: min(limit, remaining))
    }

    @inlinable
    package mutating func remainder(_ name: StaticString, _ value: inout [UInt8]) {
        value = Array(octets[position...])
        position = octets.endIndex
    }

    @inlinable
    package mutating func octets(
        _ name: StaticString, _ value: inout ArraySlice<UInt8>, count: Int
    ) throws(PacketError) {
        guard remaining >= count else { throw PacketError(.truncated, field: name) }
        value = octets[position..<position + count]
        position += count
    }

    @inlinable
    package mutating func remainder(_ name: StaticString, _ value: inout ArraySlice<UInt8>) {
        value = octets[position...]
        position = octets.endIndex
    }

    @inlinable
    package mutating func list<Element>(
        _ name: StaticString, _ elements: inout [Element], blank: Element,
        _ visit: (inout Self, inout Element) throws(PacketError) -> Void
    ) throws(PacketError) {
        elements.removeAll()
        while position < octets.endIndex {
            let start = position
            var element = blank
            try visit(&self, &element)
            precondition(position > start, "An element of \(name) takes up no octet.")
            elements.append(element)
        }
    }

    @inlinable
    package mutating func countedList<Element>(
        _ name: StaticString, _ elements: inout [Element], blank: Element,
        _ visit: (inout Self, inout Element) throws(PacketError) -> Void
    ) throws(PacketError) {
        var count: UInt8 = 0
        try integer(name, &count)
        elements.removeAll()
        for _ in 0..<count {
            var element = blank
            try visit(&self, &element)
            elements.append(element)
        }
    }

    /// Checks that the fields have used the packet up.
    @inlinable
    package func finish() throws(PacketError) {
        guard position == octets.endIndex else {
            throw PacketError(.trailing(octets: remaining), field: "end of packet")
        }
    }
}
