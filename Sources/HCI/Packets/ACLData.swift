/// The first two octets of an ACL data packet: which link, and how its fragments hang together.
///
/// Source: Core 6.0, Vol 4, Part E, 5.4.2.
package struct ACLHeader: RawRepresentable, Hashable, Sendable {
    /// The place of a fragment in its L2CAP PDU, as an LE link uses it.
    package enum Boundary: UInt16, Hashable, Sendable {
        /// Host to controller: the PDU begins here, and the controller may not flush it.
        case firstNonFlushable = 0b00
        case continuation = 0b01
        /// Controller to host: the PDU begins here.
        case firstFlushable = 0b10
        /// BR/EDR only: a whole PDU that may be flushed.
        case complete = 0b11

        /// Whether a PDU begins with this fragment.
        package var isStart: Bool { self != .continuation }
    }

    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// - Parameter handle: 0x000...0xEFF.
    package init(handle: UInt16, boundary: Boundary) {
        precondition(handle <= 0x0EFF, "\(handle) is no connection handle.")
        self.init(rawValue: handle | boundary.rawValue << 12)
    }

    package var handle: UInt16 { rawValue & 0x0FFF }
    package var boundary: Boundary { Boundary(rawValue: rawValue >> 12 & 0b11)! }
    /// The BC flag; 0 on an LE link.
    package var broadcast: UInt8 { UInt8(rawValue >> 14) }
    /// Whether an LE link can carry such a packet.
    package var isPossibleOnLE: Bool { boundary != .complete && broadcast == 0 }
}

/// One ACL data packet in its H4 form.
package func aclPacket(handle: UInt16, boundary: ACLHeader.Boundary, payload: [UInt8]) -> [UInt8] {
    aclPacket(handle: handle, boundary: boundary, payload: payload[...])
}

/// One ACL data packet in its H4 form. The payload's type is a certain one, so that callers elsewhere are not slow.
package func aclPacket(handle: UInt16, boundary: ACLHeader.Boundary, payload: ArraySlice<UInt8>) -> [UInt8] {
    let count = payload.count
    precondition(count <= 0xFFFF, "\(count) octets do not fit an ACL data packet.")
    let header = ACLHeader(handle: handle, boundary: boundary).rawValue
    var packet: [UInt8] = []
    packet.reserveCapacity(5 + count)
    packet.append(HCIPacketType.aclData.rawValue)
    packet.append(UInt8(truncatingIfNeeded: header))
    packet.append(UInt8(truncatingIfNeeded: header >> 8))
    packet.append(UInt8(truncatingIfNeeded: count))
    packet.append(UInt8(truncatingIfNeeded: count >> 8))
    packet.append(contentsOf: payload)
    return packet
}
