package import BluetoothTypes
package import ByteCodec

// Events of periodic advertising: Core 6.0, Vol 4, Part E, 7.7.65.14 to 7.7.65.16.

/// LE Periodic Advertising Sync Established [v1]. 7.7.65.14.
package struct LEPeriodicAdvertisingSyncEstablished: LEEvent {
    package static let subevent = LESubeventCode.periodicAdvertisingSyncEstablished

    package var status = HCIErrorCode.success
    package var sync: UInt16 = 0
    /// Advertising_SID, 0...15.
    package var identifier: UInt8 = 0
    package var advertiser = DeviceAddress(0)
    /// Whether the controller found `advertiser` behind a private address.
    package var isIdentity = false
    package var phy = PHY.le1M
    /// In units of 1.25 ms.
    package var interval: UInt16 = 0
    /// Of the advertiser's sleep clock, as a class from 0 (500 ppm) to 7 (20 ppm).
    package var clockAccuracy: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Sync_Handle", &sync)
        try coder.integer("Advertising_SID", &identifier)
        try coder.typedAddress("Advertiser_Address_Type", "Advertiser_Address", &advertiser, isIdentity: &isIdentity)
        try coder.choice("Advertiser_PHY", &phy)
        try coder.integer("Periodic_Advertising_Interval", &interval)
        try coder.integer("Advertiser_Clock_Accuracy", &clockAccuracy)
    }
}

/// LE Periodic Advertising Report [v1]. 7.7.65.15.
package struct LEPeriodicAdvertisingReport: LEEvent {
    package static let subevent = LESubeventCode.periodicAdvertisingReport

    package enum DataStatus: UInt8, Hashable, Sendable {
        case complete = 0x00
        /// More of it follows.
        case incomplete = 0x01
        /// The rest was not received.
        case truncated = 0x02
    }

    package var sync: UInt16 = 0
    /// In dBm; 127 where it was not said.
    package var txPower: Int8 = 127
    /// In dBm; 127 means not available.
    package var rssi: Int8 = 127
    /// 0xFF: no constant tone extension.
    package var constantTone: UInt8 = 0xFF
    package var dataStatus = DataStatus.complete
    /// At most 247 octets.
    package var data: [UInt8] = []

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Sync_Handle", &sync)
        try coder.integer("TX_Power", &txPower)
        try coder.integer("RSSI", &rssi)
        try coder.integer("CTE_Type", &constantTone)
        try coder.choice("Data_Status", &dataStatus)
        try coder.countedOctets("Data_Length", "Data", &data, max: 247)
    }
}

/// LE Periodic Advertising Sync Lost. 7.7.65.16.
package struct LEPeriodicAdvertisingSyncLost: LEEvent {
    package static let subevent = LESubeventCode.periodicAdvertisingSyncLost

    package var sync: UInt16 = 0

    package init() {}
    package init(sync: UInt16) { self.sync = sync }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Sync_Handle", &sync)
    }
}
