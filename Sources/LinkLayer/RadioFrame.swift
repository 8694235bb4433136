package import EventLoop

/// A PDU and where on the air it goes. The payload is shared, never copied on its way.
package struct RadioFrame: Equatable, Sendable {
    /// The channel index, 0...39; 37...39 are the advertising channels. Core 6.0, Vol 6, Part B, 1.4.1.
    package var channel: UInt8
    package var mode: RadioMode
    package var accessAddress: UInt32
    /// The PDU's header, its first octet in the low bits.
    package var header: UInt16
    /// The PDU behind its header, at most 255 octets.
    package var payload: ArraySlice<UInt8>

    package init(
        channel: UInt8, mode: RadioMode = .le1M, accessAddress: UInt32, header: UInt16, payload: ArraySlice<UInt8>
    ) {
        self.channel = channel
        self.mode = mode
        self.accessAddress = accessAddress
        self.header = header
        self.payload = payload
    }

    /// How long it occupies the channel.
    package var duration: Duration { mode.duration(payloadCount: payload.count) }

    /// The PDU as it travels, without access address and CRC.
    package var octets: [UInt8] {
        [UInt8(truncatingIfNeeded: header), UInt8(truncatingIfNeeded: header >> 8)] + payload
    }
}

/// A packet as one receiver got it.
package struct Reception: Sendable {
    package var frame: RadioFrame
    /// When its first bit arrived.
    package var start: Instant
    /// In dBm.
    package var rssi: Int8
    /// Whether its CRC matched.
    package var isIntact: Bool

    package init(frame: RadioFrame, start: Instant, rssi: Int8, isIntact: Bool) {
        self.frame = frame
        self.start = start
        self.rssi = rssi
        self.isIntact = isIntact
    }
}

/// What happens to whoever holds the radio.
package enum RadioInput: Sendable {
    /// The radio is yours. Whoever comes next would like to have it by `limit`.
    case granted(limit: Instant?)
    /// What you ordered to be transmitted is on the air, to its last bit.
    case sent
    case heard(Reception)
    /// You listened as long as you wanted and no packet began.
    case silence
    /// Somebody more important took the radio away.
    case revoked
}

/// What the holder of the radio wants next: the answer to each ``RadioInput``.
package enum RadioOrder: Equatable, Sendable {
    case transmit(RadioFrame, at: Instant)
    /// Listen from now on; `until` bounds the start of a packet, not its end.
    case listen(channel: UInt8, phy: RadioPHY = .le1M, accessAddress: UInt32, until: Instant)
    /// Somebody else may have the radio.
    case release
}
