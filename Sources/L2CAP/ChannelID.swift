/// A channel of a link. Those of an LE link that need no set-up have fixed numbers.
///
/// Source: Core 6.0, Vol 3, Part A, 2.1, table 2.2.
package struct ChannelID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let attribute = ChannelID(rawValue: 0x0004)
    package static let signalling = ChannelID(rawValue: 0x0005)
    package static let securityManager = ChannelID(rawValue: 0x0006)

    /// The channels of an LE link that are set up at run time.
    package static let dynamic: ClosedRange<UInt16> = 0x0040...0x007F
}

/// A basic frame: the length of its payload, its channel, the payload.
///
/// Source: Core 6.0, Vol 3, Part A, 3.1.
package func l2capPDU(_ payload: [UInt8], channel: ChannelID) -> [UInt8] {
    let count = payload.count
    precondition(count <= 0xFFFF, "\(count) octets do not fit an L2CAP PDU.")
    var pdu: [UInt8] = []
    pdu.reserveCapacity(4 + count)
    pdu.append(UInt8(truncatingIfNeeded: count))
    pdu.append(UInt8(truncatingIfNeeded: count >> 8))
    pdu.append(UInt8(truncatingIfNeeded: channel.rawValue))
    pdu.append(UInt8(truncatingIfNeeded: channel.rawValue >> 8))
    pdu.append(contentsOf: payload)
    return pdu
}
