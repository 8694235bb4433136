/// Encodes: appends the fields of a packet to its octets. It leaves the fields alone and never fails.
@usableFromInline
package struct FieldWriter: FieldCoder {
    @usableFromInline
    var octets: [UInt8] = []

    @inlinable
    package init() {}

    /// What it writes stands behind one octet.
    @inlinable
    init(behind first: UInt8) { octets = [first] }

    @inlinable
    package mutating func integer<Value: FixedWidthInteger & Sendable>(_ name: StaticString, _ value: inout Value) {
        let width = Value.bitWidth / 8
        // Only one step is generic, for callers to whom this cannot be specialised.
        guard width <= 8 else { return wide(value, width) }
        var bits = UInt64(truncatingIfNeeded: value)
        for _ in 0..<width {
            octets.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
        }
    }

    @inlinable
    mutating func wide<Value: FixedWidthInteger & Sendable>(_ value: Value, _ width: Int) {
        for index in 0..<width { octets.append(UInt8(truncatingIfNeeded: value >> Value(8 * index))) }
    }

    @inlinable
    package mutating func octets(_ name: StaticString, _ value: inout [UInt8], count: Int) {
        precondition(value.count == count, "\(name) holds \(value.count) octets; the layout says \(count).")
        octets += value
    }

    @inlinable
    package mutating func octets(_ name: StaticString, _ value: inout [UInt8], upTo limit: Int) {
        precondition(value.count <= limit, "\(name) holds \(value.count) octets; the layout allows \(limit).")
        octets += value
    }

    @inlinable
    package mutating func remainder(_ name: StaticString, _ value: inout [UInt8]) {
        octets += value
    }

    @inlinable
    package mutating func octets(_ name: StaticString, _ value: inout ArraySlice<UInt8>, count: Int) {
        precondition(value.count == count, "\(name) holds \(value.count) octets; the layout says \(count).")
        octets += value
    }

    @inlinable
    package mutating func remainder(_ name: StaticString, _ value: inout ArraySlice<UInt8>) { octets += value }

    @inlinable
    package mutating func list<Element>(
        _ name: StaticString, _ elements: inout [Element], blank: Element,
        _ visit: (inout Self, inout Element) throws(PacketError) -> Void
    ) throws(PacketError) {
        for var element in elements { try visit(&self, &element) }
    }

    @inlinable
    package mutating func countedList<Element>(
        _ name: StaticString, _ elements: inout [Element], blank: Element,
        _ visit: (inout Self, inout Element) throws(PacketError) -> Void
    ) throws(PacketError) {
        precondition(elements.count <= 255, "\(name) has \(elements.count) entries; one octet counts them.")
        octets.append(UInt8(elements.count))
        for var element in elements { try visit(&self, &element) }
    }
}
