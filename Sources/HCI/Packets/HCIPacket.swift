package import ByteCodec

/// An H4 packet taken apart as far as its header, without copying: the slices lie in the packet they came from.
///
/// Source: Core 6.0, Vol 4, Part E, 5.4.
package enum HCIPacket: Equatable, Sendable {
    case command(HCIOpcode, parameters: ArraySlice<UInt8>)
    case acl(ACLHeader, payload: ArraySlice<UInt8>)
    case event(HCIEventCode, parameters: ArraySlice<UInt8>)
    /// LE Meta event: the parameters begin behind the subevent code.
    case leEvent(LESubeventCode, parameters: ArraySlice<UInt8>)
    /// Synchronous or isochronous data.
    case otherData(HCIPacketType)

    /// - Throws: ``PacketError`` if the type is unknown or the length fields do not fit the packet.
    package init(_ packet: [UInt8]) throws(PacketError) {
        try self.init(packet[...])
    }

    package init(_ packet: ArraySlice<UInt8>) throws(PacketError) {
        guard let first = packet.first else { throw PacketError(.truncated, field: "HCI packet indicator") }
        let type = HCIPacketType(rawValue: first)
        guard let headerLength = type.headerLength else {
            throw PacketError(.valueNotAllowed(Int(first)), field: "HCI packet indicator")
        }
        let header = packet.dropFirst()
        guard header.count >= headerLength else { throw PacketError(.truncated, field: "HCI packet header") }
        let payload = header.dropFirst(headerLength)
        let excess = payload.count - type.payloadLength(header: header)
        guard excess >= 0 else { throw PacketError(.truncated, field: "HCI packet payload") }
        guard excess == 0 else { throw PacketError(.trailing(octets: excess), field: "HCI packet payload") }

        let start = header.startIndex
        let word = UInt16(header[start]) | UInt16(header[start + 1]) << 8
        switch type {
        case .command: self = .command(HCIOpcode(rawValue: word), parameters: payload)
        case .aclData: self = .acl(ACLHeader(rawValue: word), payload: payload)
        case .event:
            let code = HCIEventCode(rawValue: header[start])
            guard code == .leMeta else {
                self = .event(code, parameters: payload)
                return
            }
            guard let subevent = payload.first else { throw PacketError(.truncated, field: "Subevent_Code") }
            self = .leEvent(LESubeventCode(rawValue: subevent), parameters: payload.dropFirst())
        default: self = .otherData(type)
        }
    }
}

/// The H4 packet of a command or an event: indicator, header with one octet of length, parameters.
func shortPacket(_ type: HCIPacketType, header: [UInt8], parameters: [UInt8]) -> [UInt8] {
    precondition(parameters.count <= 255, "An HCI packet of \(parameters.count) octets; one octet counts them.")
    var packet: [UInt8] = []
    packet.reserveCapacity(2 + header.count + parameters.count)
    packet.append(type.rawValue)
    packet += header
    packet.append(UInt8(parameters.count))
    packet += parameters
    return packet
}
