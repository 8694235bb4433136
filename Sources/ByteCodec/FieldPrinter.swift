/// Describes: one line a field, with the specification's own field names.
package struct FieldPrinter: FieldCoder {
    package private(set) var lines: [String] = []

    package init() {}

    package mutating func integer<Value: FixedWidthInteger & Sendable>(_ name: StaticString, _ value: inout Value) {
        let digits = String(value, radix: 16, uppercase: true)
        let padding = String(repeating: "0", count: max(0, Value.bitWidth / 4 - digits.count))
        lines.append("\(name): 0x\(padding)\(digits)")
    }

    package mutating func octets(_ name: StaticString, _ value: inout [UInt8], count: Int) {
        remainder(name, &value)
    }

    package mutating func octets(_ name: StaticString, _ value: inout [UInt8], upTo limit: Int) {
        remainder(name, &value)
    }

    package mutating func remainder(_ name: StaticString, _ value: inout [UInt8]) {
        lines.append("\(name): \(value.count) octets")
    }

    package mutating func list<Element>(
        _ name: StaticString, _ elements: inout [Element], blank: Element,
        _ visit: (inout Self, inout Element) throws(PacketError) -> Void
    ) throws(PacketError) {
        lines.append("\(name): \(elements.count) entries")
        for var element in elements { try visit(&self, &element) }
    }

    package mutating func countedList<Element>(
        _ name: StaticString, _ elements: inout [Element], blank: Element,
        _ visit: (inout Self, inout Element) throws(PacketError) -> Void
    ) throws(PacketError) {
        try list(name, &elements, blank: blank, visit)
    }
}
