/// A value that travels as octets, with one statement of its layout.
@usableFromInline
package protocol Packet: Equatable, Sendable {
    /// A packet with every field at its default.
    init()

    /// Visits every field once, in the order of the specification.
    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError)
}

extension Packet {
    /// Decodes a packet that takes up all of `octets`.
    ///
    /// - Throws: ``PacketError`` that names the field in which the octets stop making sense.
    @inlinable
    package init(octets: [UInt8]) throws(PacketError) {
        try self.init(octets: octets[...])
    }

    /// Decodes a packet that takes up all of `octets`, without copying them first.
    @inlinable
    package init(octets: ArraySlice<UInt8>) throws(PacketError) {
        self.init()
        var reader = FieldReader(octets)
        try fields(&reader)
        try reader.finish()
    }

    /// The packet as it travels.
    @inlinable
    package var octets: [UInt8] {
        var writer = FieldWriter()
        visited(by: &writer)
        return writer.octets
    }

    /// The packet as it travels, behind an octet that says what it is.
    @inlinable
    package func octets(behind first: UInt8) -> [UInt8] {
        var writer = FieldWriter(behind: first)
        visited(by: &writer)
        return writer.octets
    }

    /// The packet as a person reads it: one line a field.
    package var summary: String {
        var printer = FieldPrinter()
        visited(by: &printer)
        return printer.lines.joined(separator: "\n")
    }

    @inlinable
    func visited(by coder: inout some FieldCoder) {
        var copy = self
        do throws(PacketError) {
            try copy.fields(&coder)
        } catch {
            preconditionFailure("\(Self.self) holds a value that cannot travel: \(error)")
        }
    }
}
