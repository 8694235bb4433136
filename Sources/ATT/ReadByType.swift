package import BluetoothTypes
package import ByteCodec

/// Read By Type Request: the values of the attributes of one type in a range.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.4.1.
package struct ReadByTypeRequest: ATTParameters {
    package static let opcode = ATTOpcode.readByTypeRequest

    package var startingHandle: UInt16 = 0x0001
    package var endingHandle: UInt16 = 0xFFFF
    package var type = BluetoothUUID.uuid16(0)

    package init() {}

    package init(from start: UInt16, through end: UInt16, type: BluetoothUUID) {
        (startingHandle, endingHandle) = (start, end)
        self.type = type
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Starting Handle", &startingHandle)
        try coder.integer("Ending Handle", &endingHandle)
        try coder.attributeType("Attribute Type", &type)
    }
}

/// Read By Type Response: pairs of a handle and a value, all values equally long.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.4.2.
package struct ReadByTypeResponse: ATTParameters {
    package static let opcode = ATTOpcode.readByTypeResponse

    package struct Attribute: Equatable, Sendable {
        package var handle: UInt16
        package var value: [UInt8]

        package init(handle: UInt16, value: [UInt8]) {
            self.handle = handle
            self.value = value
        }
    }

    /// Octets of each pair, its handle among them.
    package var length: UInt8 = 2
    package var attributes: [Attribute] = []

    package init() {}

    /// - Precondition: all values are as long as the first, at most 253 octets.
    package init(attributes: [Attribute]) {
        self.length = UInt8(2 + (attributes.first?.value.count ?? 0))
        self.attributes = attributes
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.length("Length", &length, atLeast: 2)
        let count = Int(length) - 2
        let blank = Attribute(handle: 0, value: [])
        try coder.list("Attribute Data List", &attributes, blank: blank) { coder, attribute throws(PacketError) in
            try coder.integer("Attribute Handle", &attribute.handle)
            try coder.octets("Attribute Value", &attribute.value, count: count)
        }
    }
}

extension FieldCoder {
    /// The octet that says how long each entry of the list behind it is.
    mutating func length(_ name: StaticString, _ value: inout UInt8, atLeast least: UInt8) throws(PacketError) {
        try integer(name, &value)
        guard value >= least else { throw PacketError(.valueNotAllowed(Int(value)), field: name) }
    }

    /// A UUID of 16 or 128 bits that ends the packet (Core 6.0, Vol 3, Part F, 3.2.1).
    mutating func attributeType(_ name: StaticString, _ value: inout BluetoothUUID) throws(PacketError) {
        var octets = value.octets
        try remainder(name, &octets)
        guard octets.count != 4, let uuid = BluetoothUUID(octets: octets[...]) else {
            throw PacketError(.valueNotAllowed(octets.count), field: name)
        }
        value = uuid
    }
}
