package import BluetoothTypes
package import ByteCodec

// Legacy advertising: Core 6.0, Vol 4, Part E, 7.8.5 to 7.8.9.

/// Which of its own addresses a device shows. 7.8.5.
package struct OwnAddressType: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let publicDevice = OwnAddressType(rawValue: 0x00)
    package static let randomDevice = OwnAddressType(rawValue: 0x01)
    package static let resolvableOrPublic = OwnAddressType(rawValue: 0x02)
    package static let resolvableOrRandom = OwnAddressType(rawValue: 0x03)

    /// Whether the controller makes a private address, where it has the key.
    package var isPrivate: Bool { self == .resolvableOrPublic || self == .resolvableOrRandom }
}

/// LE Set Advertising Parameters. 7.8.5.
package struct LESetAdvertisingParameters: HCICommand {
    package static let opcode = HCIOpcode.leSetAdvertisingParameters

    package enum AdvertisingType: UInt8, Hashable, Sendable {
        /// ADV_IND: connectable and scannable.
        case connectable = 0x00
        /// ADV_DIRECT_IND, high duty cycle.
        case directedHighDuty = 0x01
        /// ADV_SCAN_IND: scannable.
        case scannable = 0x02
        /// ADV_NONCONN_IND.
        case nonconnectable = 0x03
        /// ADV_DIRECT_IND, low duty cycle.
        case directedLowDuty = 0x04

        package var isDirected: Bool { self == .directedHighDuty || self == .directedLowDuty }
    }

    /// In units of 0.625 ms, 0x0020...0x4000.
    package var intervalMin: UInt16 = 0x0800
    package var intervalMax: UInt16 = 0x0800
    package var type = AdvertisingType.connectable
    package var ownAddressType = OwnAddressType.publicDevice
    package var peer = DeviceAddress(0)
    /// Bits 0...2 for channels 37...39.
    package var channelMap: UInt8 = 0b111
    /// Bit 0: scan requests, bit 1: connection requests, only from the filter accept list.
    package var filterPolicy: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Advertising_Interval_Min", &intervalMin)
        try coder.integer("Advertising_Interval_Max", &intervalMax)
        try coder.choice("Advertising_Type", &type)
        try coder.choice("Own_Address_Type", &ownAddressType)
        try coder.typedAddress("Peer_Address_Type", "Peer_Address", &peer)
        try coder.integer("Advertising_Channel_Map", &channelMap)
        try coder.octet("Advertising_Filter_Policy", &filterPolicy, in: 0...3)
    }
}

/// LE Read Advertising Physical Channel Tx Power. 7.8.6.
package struct LEReadAdvertisingTxPower: HCICommand {
    package static let opcode = HCIOpcode.leReadAdvertisingTxPower
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        /// dBm, -20...10.
        package var level: Int8 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("TX_Power_Level", &level)
        }
    }
}

/// LE Set Advertising Data. 7.8.7.
package struct LESetAdvertisingData: HCICommand {
    package static let opcode = HCIOpcode.leSetAdvertisingData

    /// At most 31 octets.
    package var data: [UInt8] = []

    package init() {}
    package init(data: [UInt8]) { self.data = data }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.paddedOctets("Advertising_Data_Length", "Advertising_Data", &data, width: 31)
    }
}

/// LE Set Scan Response Data. 7.8.8.
package struct LESetScanResponseData: HCICommand {
    package static let opcode = HCIOpcode.leSetScanResponseData

    /// At most 31 octets.
    package var data: [UInt8] = []

    package init() {}
    package init(data: [UInt8]) { self.data = data }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.paddedOctets("Scan_Response_Data_Length", "Scan_Response_Data", &data, width: 31)
    }
}

/// LE Set Advertising Enable. 7.8.9.
package struct LESetAdvertisingEnable: HCICommand {
    package static let opcode = HCIOpcode.leSetAdvertisingEnable

    package var isEnabled = false

    package init() {}
    package init(_ isEnabled: Bool) { self.isEnabled = isEnabled }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.flag("Advertising_Enable", &isEnabled)
    }
}
