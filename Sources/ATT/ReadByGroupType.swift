package import BluetoothTypes
package import ByteCodec

/// Read By Group Type Request: the values of the attributes of one grouping type in a range, and where each group
/// ends.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.4.9.
package struct ReadByGroupTypeRequest: ATTParameters {
    package static let opcode = ATTOpcode.readByGroupTypeRequest

    package var startingHandle: UInt16 = 0x0001
    package var endingHandle: UInt16 = 0xFFFF
    package var groupType = BluetoothUUID.uuid16(0)

    package init() {}

    package init(from start: UInt16, through end: UInt16, groupType: BluetoothUUID) {
        (startingHandle, endingHandle) = (start, end)
        self.groupType = groupType
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Starting Handle", &startingHandle)
        try coder.integer("Ending Handle", &endingHandle)
        try coder.attributeType("Attribute Group Type", &groupType)
    }
}

/// Read By Group Type Response: groups with equally long values.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.4.10.
package struct ReadByGroupTypeResponse: ATTParameters {
    package static let opcode = ATTOpcode.readByGroupTypeResponse

    package struct Group: Equatable, Sendable {
        package var handle: UInt16
        package var end: UInt16
        package var value: [UInt8]

        package init(handle: UInt16, end: UInt16, value: [UInt8]) {
            self.handle = handle
            self.end = end
            self.value = value
        }
    }

    /// Octets of each entry, its two handles among them.
    package var length: UInt8 = 4
    package var groups: [Group] = []

    package init() {}

    /// - Precondition: all values are as long as the first, at most 251 octets.
    package init(groups: [Group]) {
        self.length = UInt8(4 + (groups.first?.value.count ?? 0))
        self.groups = groups
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.length("Length", &length, atLeast: 4)
        let count = Int(length) - 4
        let blank = Group(handle: 0, end: 0, value: [])
        try coder.list("Attribute Data List", &groups, blank: blank) { coder, group throws(PacketError) in
            try coder.integer("Attribute Handle", &group.handle)
            try coder.integer("End Group Handle", &group.end)
            try coder.octets("Attribute Value", &group.value, count: count)
        }
    }
}
