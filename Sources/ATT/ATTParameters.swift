package import ByteCodec

/// The parameters of one kind of Attribute Protocol PDU.
package protocol ATTParameters: Packet {
    static var opcode: ATTOpcode { get }
}

extension ATTParameters {
    /// The PDU as it travels: the opcode, then the parameters.
    package var pdu: [UInt8] { [Self.opcode.rawValue] + octets }
}
