package import BluetoothTypes
package import ByteCodec

// Advertising sets: Core 6.0, Vol 4, Part E, 7.8.52 to 7.8.60.

/// LE Set Advertising Set Random Address. 7.8.52.
package struct LESetAdvertisingSetRandomAddress: HCICommand {
    package static let opcode = HCIOpcode.leSetAdvertisingSetRandomAddress

    package var set: UInt8 = 0
    package var address = DeviceAddress(0, kind: .random)

    package init() {}

    package init(set: UInt8, address: DeviceAddress) {
        self.set = set
        self.address = address
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Advertising_Handle", &set, in: 0...0xEF)
        try coder.address("Random_Address", &address)
    }
}

/// LE Set Extended Advertising Parameters [v1]. 7.8.53.
package struct LESetExtendedAdvertisingParameters: HCICommand {
    package static let opcode = HCIOpcode.leSetExtendedAdvertisingParameters

    package struct Properties: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let connectable = Properties(rawValue: 1 << 0)
        package static let scannable = Properties(rawValue: 1 << 1)
        package static let directed = Properties(rawValue: 1 << 2)
        package static let highDuty = Properties(rawValue: 1 << 3)
        package static let legacy = Properties(rawValue: 1 << 4)
        package static let anonymous = Properties(rawValue: 1 << 5)
        package static let includesTxPower = Properties(rawValue: 1 << 6)
    }

    /// 0...0xEF.
    package var set: UInt8 = 0
    package var properties: Properties = [.connectable, .scannable, .legacy]
    /// In units of 0.625 ms, 24 bits, from 0x20.
    package var intervalMin: UInt32 = 0x0800
    package var intervalMax: UInt32 = 0x0800
    /// Bits 0...2 for channels 37...39.
    package var channelMap: UInt8 = 0b111
    package var ownAddressType = OwnAddressType.publicDevice
    package var peer = DeviceAddress(0)
    /// Bit 0: scan requests, bit 1: connection requests, only from the filter accept list.
    package var filterPolicy: UInt8 = 0
    /// In dBm; 127 for no preference.
    package var txPower: Int8 = 127
    package var primaryPHY = PHY.le1M
    /// How many events the auxiliary packet may be left out of.
    package var maxSkip: UInt8 = 0
    package var secondaryPHY = PHY.le1M
    /// Advertising_SID, 0...15.
    package var identifier: UInt8 = 0
    package var reportsScanRequests = false

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Advertising_Handle", &set, in: 0...0xEF)
        try coder.choice("Advertising_Event_Properties", &properties)
        try coder.threeOctets("Primary_Advertising_Interval_Min", &intervalMin)
        try coder.threeOctets("Primary_Advertising_Interval_Max", &intervalMax)
        try coder.integer("Primary_Advertising_Channel_Map", &channelMap)
        try coder.choice("Own_Address_Type", &ownAddressType)
        try coder.typedAddress("Peer_Address_Type", "Peer_Address", &peer)
        try coder.octet("Advertising_Filter_Policy", &filterPolicy, in: 0...3)
        try coder.integer("Advertising_TX_Power", &txPower)
        try coder.choice("Primary_Advertising_PHY", &primaryPHY)
        try coder.integer("Secondary_Advertising_Max_Skip", &maxSkip)
        try coder.choice("Secondary_Advertising_PHY", &secondaryPHY)
        try coder.octet("Advertising_SID", &identifier, in: 0...15)
        try coder.flag("Scan_Request_Notification_Enable", &reportsScanRequests)
    }

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        /// In dBm.
        package var txPower: Int8 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Selected_TX_Power", &txPower)
        }
    }
}

/// Which part of a set's data a command brings. 7.8.54.
package enum DataOperation: UInt8, Hashable, Sendable {
    case intermediate = 0x00
    case first = 0x01
    case last = 0x02
    case complete = 0x03
    /// The data stays, and counts as new.
    case unchanged = 0x04
}

/// LE Set Extended Advertising Data. 7.8.54.
package struct LESetExtendedAdvertisingData: HCICommand {
    package static let opcode = HCIOpcode.leSetExtendedAdvertisingData

    package var set: UInt8 = 0
    package var operation = DataOperation.complete
    /// 0: the controller may fragment the data; 1: it should not.
    package var fragmentPreference: UInt8 = 1
    /// At most 251 octets.
    package var data: [UInt8] = []

    package init() {}

    package init(set: UInt8, operation: DataOperation = .complete, data: [UInt8]) {
        self.set = set
        self.operation = operation
        self.data = data
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Advertising_Handle", &set, in: 0...0xEF)
        try coder.choice("Operation", &operation)
        try coder.octet("Fragment_Preference", &fragmentPreference, in: 0...1)
        try coder.countedOctets("Advertising_Data_Length", "Advertising_Data", &data, max: 251)
    }
}

/// LE Set Extended Scan Response Data. 7.8.55.
package struct LESetExtendedScanResponseData: HCICommand {
    package static let opcode = HCIOpcode.leSetExtendedScanResponseData

    package var set: UInt8 = 0
    package var operation = DataOperation.complete
    package var fragmentPreference: UInt8 = 1
    /// At most 251 octets.
    package var data: [UInt8] = []

    package init() {}

    package init(set: UInt8, operation: DataOperation = .complete, data: [UInt8]) {
        self.set = set
        self.operation = operation
        self.data = data
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Advertising_Handle", &set, in: 0...0xEF)
        try coder.choice("Operation", &operation)
        try coder.octet("Fragment_Preference", &fragmentPreference, in: 0...1)
        try coder.countedOctets("Scan_Response_Data_Length", "Scan_Response_Data", &data, max: 251)
    }
}

/// LE Set Extended Advertising Enable. 7.8.56.
package struct LESetExtendedAdvertisingEnable: HCICommand {
    package static let opcode = HCIOpcode.leSetExtendedAdvertisingEnable

    package struct Entry: Equatable, Sendable {
        package var set: UInt8
        /// In units of 10 ms; 0 for no end.
        package var duration: UInt16
        /// 0 for no limit.
        package var maxEvents: UInt8

        package init(set: UInt8, duration: UInt16 = 0, maxEvents: UInt8 = 0) {
            self.set = set
            self.duration = duration
            self.maxEvents = maxEvents
        }
    }

    package var isEnabled = false
    /// None, together with disabling, means all sets.
    package var entries: [Entry] = []

    package init() {}

    package init(_ isEnabled: Bool, _ entries: [Entry] = []) {
        self.isEnabled = isEnabled
        self.entries = entries
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.flag("Enable", &isEnabled)
        let blank = Entry(set: 0)
        try coder.countedList("Num_Sets", &entries, blank: blank) { coder, entry throws(PacketError) in
            try coder.octet("Advertising_Handle", &entry.set, in: 0...0xEF)
            try coder.integer("Duration", &entry.duration)
            try coder.integer("Max_Extended_Advertising_Events", &entry.maxEvents)
        }
    }
}

/// LE Read Maximum Advertising Data Length. 7.8.57.
package struct LEReadMaximumAdvertisingDataLength: HCICommand {
    package static let opcode = HCIOpcode.leReadMaximumAdvertisingDataLength
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        /// 31...1650 octets.
        package var length: UInt16 = 31

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Max_Advertising_Data_Length", &length)
        }
    }
}

/// LE Read Number of Supported Advertising Sets. 7.8.58.
package struct LEReadNumberOfAdvertisingSets: HCICommand {
    package static let opcode = HCIOpcode.leReadNumberOfAdvertisingSets
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var count: UInt8 = 1

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Num_Supported_Advertising_Sets", &count)
        }
    }
}

/// LE Remove Advertising Set. 7.8.59.
package struct LERemoveAdvertisingSet: HCICommand {
    package static let opcode = HCIOpcode.leRemoveAdvertisingSet

    package var set: UInt8 = 0

    package init() {}
    package init(set: UInt8) { self.set = set }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Advertising_Handle", &set, in: 0...0xEF)
    }
}

/// LE Clear Advertising Sets. 7.8.60.
package struct LEClearAdvertisingSets: HCICommand {
    package static let opcode = HCIOpcode.leClearAdvertisingSets
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}
