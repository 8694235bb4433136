package import ByteCodec

/// Find By Type Value Request: where in a range do attributes with this type and value lie?
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.3.3.
package struct FindByTypeValueRequest: ATTParameters {
    package static let opcode = ATTOpcode.findByTypeValueRequest

    package var startingHandle: UInt16 = 0x0001
    package var endingHandle: UInt16 = 0xFFFF
    /// A 16-bit UUID; this request knows no other width.
    package var type: UInt16 = 0
    package var value: [UInt8] = []

    package init() {}

    package init(from start: UInt16, through end: UInt16, type: UInt16, value: [UInt8]) {
        (startingHandle, endingHandle) = (start, end)
        self.type = type
        self.value = value
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Starting Handle", &startingHandle)
        try coder.integer("Ending Handle", &endingHandle)
        try coder.integer("Attribute Type", &type)
        try coder.remainder("Attribute Value", &value)
    }
}

/// Find By Type Value Response: each attribute found, and the end of the group that it opens.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.3.4.
package struct FindByTypeValueResponse: ATTParameters {
    package static let opcode = ATTOpcode.findByTypeValueResponse

    package struct Group: Equatable, Sendable {
        package var handle: UInt16
        package var end: UInt16

        package init(handle: UInt16, end: UInt16) {
            self.handle = handle
            self.end = end
        }
    }

    package var groups: [Group] = []

    package init() {}
    package init(groups: [Group]) { self.groups = groups }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        let blank = Group(handle: 0, end: 0)
        try coder.list("Handles Information List", &groups, blank: blank) { coder, group throws(PacketError) in
            try coder.integer("Found Attribute Handle", &group.handle)
            try coder.integer("Group End Handle", &group.end)
        }
    }
}
