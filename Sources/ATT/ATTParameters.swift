package import ByteCodec

/// The parameters of one kind of Attribute Protocol PDU.
package protocol ATTParameters: Packet {
    static var opcode: ATTOpcode { get }
}

extension ATTParameters {
    /// The PDU as it travels: the opcode, then the parameters.
    package var pdu: [UInt8] { octets(behind: Self.opcode.rawValue) }
}

/// Sizes that the protocol fixes.
package enum ATTLimits {
    /// ATT_MTU of a bearer on an LE fixed channel before any exchange, and the least there is (Core 6.0, Vol 3,
    /// Part G, 5.2.1).
    package static let defaultMTU = 23
    /// What an attribute value holds at most (Core 6.0, Vol 3, Part F, 3.2.9).
    package static let maximumValueLength = 512
}
