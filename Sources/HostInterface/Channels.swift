/// The number of an open L2CAP channel of this adapter; none is used twice.
package struct ChannelNumber: Hashable, Sendable, Comparable {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (left: ChannelNumber, right: ChannelNumber) -> Bool { left.rawValue < right.rawValue }
}

/// An L2CAP channel that is open: a stream of octets to a peer and one from it.
package struct OpenChannel: Equatable, Sendable {
    package var number: ChannelNumber
    package var peer: PeerID
    /// The SPSM under which it was opened. Core 6.0, Vol 3, Part A, 4.22.
    package var psm: UInt16
    /// ATT_MTU of the link.
    package var mtu: Int
    /// How many octets one ``HostRequest/send(_:_:)`` should carry, so that the peer's frames are full.
    package var bestLength: Int

    package init(number: ChannelNumber, peer: PeerID, psm: UInt16, mtu: Int, bestLength: Int) {
        self.number = number
        self.peer = peer
        self.psm = psm
        self.mtu = mtu
        self.bestLength = bestLength
    }
}
