package import EventLoop
package import LinkLayer

/// A packet as somebody sees it who watches all of the air.
package struct AirPacket: Equatable, Sendable {
    /// How one receiver got it.
    package struct Reception: Equatable, Sendable {
        /// The device's number.
        package var device: Int
        /// In dBm.
        package var rssi: Int8
        package var isIntact: Bool
    }

    /// The channel index, 0...39.
    package var channel: UInt8
    package var mode: RadioMode
    package var accessAddress: UInt32
    package var start: Instant
    package var duration: Duration
    /// Header and payload of the PDU.
    package var octets: [UInt8]
    /// The device's number.
    package var sender: Int
    /// Whoever listened to it from its start to its end, in the order of their numbers.
    package var receptions: [Reception]
}
