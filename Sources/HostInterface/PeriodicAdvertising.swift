/// What a device says in packets that come at fixed times, so that whoever follows them sleeps in between (Core 6.0,
/// Vol 6, Part B, 4.4.2.12).
package struct PeriodicAdvertisement: Equatable, Sendable {
    /// Whether it is connectable does not count: nobody can connect to it.
    package var content: AdvertisementContent
    /// In slots of 1.25 ms, 6...65535.
    package var interval: UInt16

    package init(_ content: AdvertisementContent, interval: UInt16) {
        self.content = content
        self.interval = interval
    }
}

/// How a device's periodic advertising is followed.
package struct SynchronizationPreference: Equatable, Sendable {
    /// How many packets in a row may be left out, 0...499.
    package var skip: UInt16
    /// After so long without a packet it is lost, in units of 10 ms, 10...16384; `nil` for six packets, a second at
    /// least.
    package var timeout: UInt16?

    package init(skip: UInt16 = 0, timeout: UInt16? = nil) {
        self.skip = skip
        self.timeout = timeout
    }
}

/// Periodic advertising that is followed.
package struct TrainStatus: Equatable, Sendable {
    /// In slots of 1.25 ms.
    package var interval: UInt16
    /// Core 6.0, Vol 4, Part E, 7.7.65.14: 1 is LE 1M, 2 is LE 2M, 3 is LE Coded.
    package var phy: UInt8

    package init(interval: UInt16, phy: UInt8) {
        self.interval = interval
        self.phy = phy
    }
}

/// What one packet of it said, or one chain of packets.
package struct PeriodicReport: Equatable, Sendable {
    /// AD structures as they came (Core 6.0, Vol 3, Part C, 11), up to 1650 octets.
    package var data: [UInt8]
    /// In dBm; 127 means not available.
    package var rssi: Int8
    /// In dBm; 127 where it is not said.
    package var transmitPower: Int8

    package init(data: [UInt8], rssi: Int8, transmitPower: Int8) {
        self.data = data
        self.rssi = rssi
        self.transmitPower = transmitPower
    }
}
