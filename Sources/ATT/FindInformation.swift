package import BluetoothTypes
package import ByteCodec

/// Find Information Request: which attributes lie in a range of handles, and of what type is each?
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.3.1.
package struct FindInformationRequest: ATTParameters {
    package static let opcode = ATTOpcode.findInformationRequest

    package var startingHandle: UInt16 = 0x0001
    package var endingHandle: UInt16 = 0xFFFF

    package init() {}
    package init(from start: UInt16, through end: UInt16) { (startingHandle, endingHandle) = (start, end) }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Starting Handle", &startingHandle)
        try coder.integer("Ending Handle", &endingHandle)
    }
}

/// Find Information Response: pairs of a handle and a type, in ascending order of the handles.
///
/// The types in one response are all of one width. A server with both widths in the range answers with those of
/// the first and lets the client ask again behind them.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.3.2.
package struct FindInformationResponse: ATTParameters {
    package static let opcode = ATTOpcode.findInformationResponse

    package enum Format: UInt8, Sendable {
        case uuid16 = 0x01
        case uuid128 = 0x02
    }

    package struct Attribute: Equatable, Sendable {
        package var handle: UInt16
        package var type: BluetoothUUID

        package init(handle: UInt16, type: BluetoothUUID) {
            self.handle = handle
            self.type = type
        }
    }

    package var format = Format.uuid16
    package var attributes: [Attribute] = []

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Format", &format)
        let blank = Attribute(handle: 0, type: format == .uuid16 ? .uuid16(0) : .uuid128(0))
        try coder.list("Information Data", &attributes, blank: blank) { coder, attribute throws(PacketError) in
            try coder.integer("Handle", &attribute.handle)
            try coder.uuid("UUID", &attribute.type)
        }
    }
}
