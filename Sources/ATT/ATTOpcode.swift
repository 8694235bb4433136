/// What an Attribute Protocol PDU is: its first octet.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.8.
package struct ATTOpcode: RawRepresentable, Hashable, Sendable {
    // A struct and not an enum, for a peer may send any octet and be answered "Request Not Supported".
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let errorResponse = ATTOpcode(rawValue: 0x01)
    package static let findInformationRequest = ATTOpcode(rawValue: 0x04)
    package static let findInformationResponse = ATTOpcode(rawValue: 0x05)
    package static let readRequest = ATTOpcode(rawValue: 0x0A)
    package static let readResponse = ATTOpcode(rawValue: 0x0B)

    /// The opcode that answers this request: always the next one.
    package var response: ATTOpcode { ATTOpcode(rawValue: rawValue &+ 1) }
}
