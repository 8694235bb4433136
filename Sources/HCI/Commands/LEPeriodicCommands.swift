package import BluetoothTypes
package import ByteCodec

// Periodic advertising: Core 6.0, Vol 4, Part E, 7.8.61 to 7.8.63, 7.8.67 to 7.8.73 and 7.8.88.

/// LE Set Periodic Advertising Parameters [v1]. 7.8.61.
package struct LESetPeriodicAdvertisingParameters: HCICommand {
    package static let opcode = HCIOpcode.leSetPeriodicAdvertisingParameters

    package var set: UInt8 = 0
    /// In units of 1.25 ms, 6 and more.
    package var intervalMin: UInt16 = 80
    package var intervalMax: UInt16 = 80
    /// Bit 6: the power is said.
    package var properties: UInt16 = 0
    package var includesTxPower: Bool { properties & 1 << 6 != 0 }

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Advertising_Handle", &set, in: 0...0xEF)
        try coder.integer("Periodic_Advertising_Interval_Min", &intervalMin)
        try coder.integer("Periodic_Advertising_Interval_Max", &intervalMax)
        try coder.integer("Periodic_Advertising_Properties", &properties)
    }
}

/// LE Set Periodic Advertising Data. 7.8.62.
package struct LESetPeriodicAdvertisingData: HCICommand {
    package static let opcode = HCIOpcode.leSetPeriodicAdvertisingData

    package var set: UInt8 = 0
    package var operation = DataOperation.complete
    /// At most 252 octets.
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
        try coder.countedOctets("Advertising_Data_Length", "Advertising_Data", &data, max: 252)
    }
}

/// LE Set Periodic Advertising Enable. 7.8.63.
package struct LESetPeriodicAdvertisingEnable: HCICommand {
    package static let opcode = HCIOpcode.leSetPeriodicAdvertisingEnable

    /// Bit 0: on; bit 1: each packet says which data it is.
    package var enable: UInt8 = 0
    package var set: UInt8 = 0
    package var isEnabled: Bool { enable & 0b01 != 0 }
    package var includesInfo: Bool { enable & 0b10 != 0 }

    package init() {}

    package init(_ isEnabled: Bool, set: UInt8, includesInfo: Bool = false) {
        enable = (isEnabled ? 0b01 : 0) | (includesInfo ? 0b10 : 0)
        self.set = set
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Enable", &enable, in: 0...3)
        try coder.octet("Advertising_Handle", &set, in: 0...0xEF)
    }
}

/// LE Periodic Advertising Create Sync. 7.8.67.
package struct LEPeriodicAdvertisingCreateSync: HCICommand {
    package static let opcode = HCIOpcode.lePeriodicAdvertisingCreateSync
    package typealias ReturnParameters = NoReturnParameters

    /// Bit 0: the advertisers are those of the list; bit 1: reports come only once they are asked for; bit 2: each data
    /// is reported once.
    package var options: UInt8 = 0
    /// Advertising_SID, 0...15.
    package var identifier: UInt8 = 0
    package var advertiser = DeviceAddress(0)
    /// How many packets in a row may be left out, 0...499.
    package var skip: UInt16 = 0
    /// In units of 10 ms, 10...16384.
    package var timeout: UInt16 = 100
    package var constantTones: UInt8 = 0

    package var usesList: Bool { options & 0b001 != 0 }
    package var reports: Bool { options & 0b010 == 0 }
    package var filtersDuplicates: Bool { options & 0b100 != 0 }

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Options", &options, in: 0...7)
        try coder.octet("Advertising_SID", &identifier, in: 0...15)
        try coder.typedAddress("Advertiser_Address_Type", "Advertiser_Address", &advertiser)
        try coder.integer("Skip", &skip)
        try coder.integer("Sync_Timeout", &timeout)
        try coder.integer("Sync_CTE_Type", &constantTones)
    }
}

/// LE Periodic Advertising Create Sync Cancel. 7.8.68.
package struct LEPeriodicAdvertisingCreateSyncCancel: HCICommand {
    package static let opcode = HCIOpcode.lePeriodicAdvertisingCreateSyncCancel
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// LE Periodic Advertising Terminate Sync. 7.8.69.
package struct LEPeriodicAdvertisingTerminateSync: HCICommand {
    package static let opcode = HCIOpcode.lePeriodicAdvertisingTerminateSync

    package var sync: UInt16 = 0

    package init() {}
    package init(sync: UInt16) { self.sync = sync }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Sync_Handle", &sync)
    }
}

/// One place of the periodic advertiser list: whose train, and which one of theirs.
package struct PeriodicAdvertiser: Hashable, Sendable {
    package var address = DeviceAddress(0)
    /// Advertising_SID, 0...15.
    package var identifier: UInt8 = 0

    package init() {}

    package init(address: DeviceAddress, identifier: UInt8) {
        self.address = address
        self.identifier = identifier
    }

    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.typedAddress("Advertiser_Address_Type", "Advertiser_Address", &address)
        try coder.octet("Advertising_SID", &identifier, in: 0...15)
    }
}

/// LE Add Device To Periodic Advertiser List. 7.8.70.
package struct LEAddDeviceToPeriodicAdvertiserList: HCICommand {
    package static let opcode = HCIOpcode.leAddDeviceToPeriodicAdvertiserList
    package var advertiser = PeriodicAdvertiser()
    package init() {}
    package init(_ advertiser: PeriodicAdvertiser) { self.advertiser = advertiser }
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) { try advertiser.fields(&coder) }
}

/// LE Remove Device From Periodic Advertiser List. 7.8.71.
package struct LERemoveDeviceFromPeriodicAdvertiserList: HCICommand {
    package static let opcode = HCIOpcode.leRemoveDeviceFromPeriodicAdvertiserList
    package var advertiser = PeriodicAdvertiser()
    package init() {}
    package init(_ advertiser: PeriodicAdvertiser) { self.advertiser = advertiser }
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) { try advertiser.fields(&coder) }
}

/// LE Clear Periodic Advertiser List. 7.8.72.
package struct LEClearPeriodicAdvertiserList: HCICommand {
    package static let opcode = HCIOpcode.leClearPeriodicAdvertiserList
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// LE Read Periodic Advertiser List Size. 7.8.73.
package struct LEReadPeriodicAdvertiserListSize: HCICommand {
    package static let opcode = HCIOpcode.leReadPeriodicAdvertiserListSize
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var size: UInt8 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Periodic_Advertiser_List_Size", &size)
        }
    }
}

/// LE Set Periodic Advertising Receive Enable. 7.8.88.
package struct LESetPeriodicAdvertisingReceiveEnable: HCICommand {
    package static let opcode = HCIOpcode.leSetPeriodicAdvertisingReceiveEnable

    package var sync: UInt16 = 0
    /// Bit 0: reports come; bit 1: each data is reported once.
    package var enable: UInt8 = 0
    package var reports: Bool { enable & 0b01 != 0 }
    package var filtersDuplicates: Bool { enable & 0b10 != 0 }

    package init() {}

    package init(sync: UInt16, reports: Bool, filtersDuplicates: Bool = false) {
        self.sync = sync
        enable = (reports ? 0b01 : 0) | (filtersDuplicates ? 0b10 : 0)
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Sync_Handle", &sync)
        try coder.octet("Enable", &enable, in: 0...3)
    }
}
