package import ByteCodec

/// Error Response: which request could not be done, at which attribute, and why.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.1.1.
package struct ErrorResponse: ATTParameters {
    package static let opcode = ATTOpcode.errorResponse

    package var request = ATTOpcode(rawValue: 0)
    /// 0 where no attribute is at fault.
    package var handle: UInt16 = 0
    package var code = ATTErrorCode(rawValue: 0)

    package init() {}

    package init(_ code: ATTErrorCode, to request: ATTOpcode, at handle: UInt16) {
        self.request = request
        self.handle = handle
        self.code = code
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Request Opcode In Error", &request)
        try coder.integer("Attribute Handle In Error", &handle)
        try coder.choice("Error Code", &code)
    }
}
