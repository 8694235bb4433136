package import ByteCodec

/// Write Request. Source: Core 6.0, Vol 3, Part F, 3.4.5.1.
package struct WriteRequest: ATTParameters {
    package static let opcode = ATTOpcode.writeRequest

    package var handle: UInt16 = 0
    package var value: [UInt8] = []

    package init() {}

    package init(handle: UInt16, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Attribute Handle", &handle)
        try coder.remainder("Attribute Value", &value)
    }
}

/// Write Response: nothing but the opcode. Source: Core 6.0, Vol 3, Part F, 3.4.5.2.
package struct WriteResponse: ATTParameters {
    package static let opcode = ATTOpcode.writeResponse
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// Write Command: a write that nobody answers. Source: Core 6.0, Vol 3, Part F, 3.4.5.3.
package struct WriteCommand: ATTParameters {
    package static let opcode = ATTOpcode.writeCommand

    package var handle: UInt16 = 0
    package var value: [UInt8] = []

    package init() {}

    package init(handle: UInt16, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Attribute Handle", &handle)
        try coder.remainder("Attribute Value", &value)
    }
}

extension WriteCommand {
    /// A Signed Write Command with these parameters, up to its signature, which covers all of it.
    ///
    /// Source: Core 6.0, Vol 3, Part F, 3.4.5.4.
    package var signedPDU: [UInt8] {
        var pdu = pdu
        pdu[0] = ATTOpcode.signedWriteCommand.rawValue
        return pdu
    }
}

/// Prepare Write Request: a part to be written later. Source: Core 6.0, Vol 3, Part F, 3.4.6.1.
package struct PrepareWriteRequest: ATTParameters {
    package static let opcode = ATTOpcode.prepareWriteRequest

    package var handle: UInt16 = 0
    package var offset: UInt16 = 0
    package var part: [UInt8] = []

    package init() {}

    package init(handle: UInt16, offset: UInt16, part: [UInt8]) {
        self.handle = handle
        self.offset = offset
        self.part = part
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Attribute Handle", &handle)
        try coder.integer("Value Offset", &offset)
        try coder.remainder("Part Attribute Value", &part)
    }
}

/// Prepare Write Response: the request's parameters once more, so that the client can compare.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.6.2.
package struct PrepareWriteResponse: ATTParameters {
    package static let opcode = ATTOpcode.prepareWriteResponse

    package var echo = PrepareWriteRequest()

    package init() {}
    package init(echo: PrepareWriteRequest) { self.echo = echo }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try echo.fields(&coder)
    }
}

/// Execute Write Request: do all that was prepared, or forget it. Source: Core 6.0, Vol 3, Part F, 3.4.6.3.
package struct ExecuteWriteRequest: ATTParameters {
    package static let opcode = ATTOpcode.executeWriteRequest

    package enum Flags: UInt8, Sendable {
        case cancel = 0x00
        case write = 0x01
    }

    package var flags = Flags.cancel

    package init() {}
    package init(_ flags: Flags) { self.flags = flags }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Flags", &flags)
    }
}

/// Execute Write Response: nothing but the opcode. Source: Core 6.0, Vol 3, Part F, 3.4.6.4.
package struct ExecuteWriteResponse: ATTParameters {
    package static let opcode = ATTOpcode.executeWriteResponse
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// Signed Write Command: a Write Command with the last 12 octets a signature.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.5.4.
package struct SignedWriteCommand: ATTParameters {
    package static let opcode = ATTOpcode.signedWriteCommand
    package static let signatureLength = 12

    package var handle: UInt16 = 0
    package var valueAndSignature: [UInt8] = []

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Attribute Handle", &handle)
        try coder.remainder("Attribute Value and Authentication Signature", &valueAndSignature)
        guard valueAndSignature.count >= Self.signatureLength else {
            throw PacketError(.truncated, field: "Authentication Signature")
        }
    }
}
