/// What an HCI packet is: the first octet of its H4 form, which is how packets travel everywhere here, within the
/// process too.
///
/// Source: Core 6.0, Vol 4, Part A, 2.
package struct HCIPacketType: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let command = HCIPacketType(rawValue: 0x01)
    package static let aclData = HCIPacketType(rawValue: 0x02)
    package static let synchronousData = HCIPacketType(rawValue: 0x03)
    package static let event = HCIPacketType(rawValue: 0x04)
    package static let isochronousData = HCIPacketType(rawValue: 0x05)

    /// How many octets stand behind the indicator before the payload begins; `nil` for an unknown type.
    ///
    /// Source: Core 6.0, Vol 4, Part E, 5.4.
    package var headerLength: Int? {
        switch self {
        case .command, .synchronousData: 3
        case .aclData, .isochronousData: 4
        case .event: 2
        default: nil
        }
    }

    /// How many octets of payload follow `header`, the ``headerLength`` octets behind the indicator.
    package func payloadLength(header: ArraySlice<UInt8>) -> Int {
        let start = header.startIndex
        switch self {
        case .command, .synchronousData: return Int(header[start + 2])
        case .aclData: return Int(header[start + 2]) | Int(header[start + 3]) << 8
        // Two bits above the length are reserved (5.4.5).
        case .isochronousData: return Int(header[start + 2]) | Int(header[start + 3] & 0x3F) << 8
        case .event: return Int(header[start + 1])
        default: preconditionFailure("Packet type \(rawValue) has no header that is known.")
        }
    }
}
