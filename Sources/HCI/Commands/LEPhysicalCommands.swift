package import ByteCodec

// Packet lengths and PHYs: Core 6.0, Vol 4, Part E, 7.8.33 to 7.8.35 and 7.8.46 to 7.8.49.

/// LE Set Data Length. 7.8.33.
package struct LESetDataLength: HCICommand {
    package static let opcode = HCIOpcode.leSetDataLength
    package typealias ReturnParameters = HandleReturn

    package var handle: UInt16 = 0
    /// 27...251.
    package var txOctets: UInt16 = 27
    /// In microseconds, 328...17040.
    package var txTime: UInt16 = 328

    package init() {}

    package init(handle: UInt16, txOctets: UInt16, txTime: UInt16) {
        self.handle = handle
        self.txOctets = txOctets
        self.txTime = txTime
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("TX_Octets", &txOctets)
        try coder.integer("TX_Time", &txTime)
    }
}

/// LE Read Suggested Default Data Length. 7.8.34.
package struct LEReadSuggestedDefaultDataLength: HCICommand {
    package static let opcode = HCIOpcode.leReadSuggestedDefaultDataLength
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var txOctets: UInt16 = 27
        package var txTime: UInt16 = 328

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Suggested_Max_TX_Octets", &txOctets)
            try coder.integer("Suggested_Max_TX_Time", &txTime)
        }
    }
}

/// LE Write Suggested Default Data Length. 7.8.35.
package struct LEWriteSuggestedDefaultDataLength: HCICommand {
    package static let opcode = HCIOpcode.leWriteSuggestedDefaultDataLength

    package var txOctets: UInt16 = 27
    package var txTime: UInt16 = 328

    package init() {}

    package init(txOctets: UInt16, txTime: UInt16) {
        self.txOctets = txOctets
        self.txTime = txTime
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Suggested_Max_TX_Octets", &txOctets)
        try coder.integer("Suggested_Max_TX_Time", &txTime)
    }
}

/// LE Read Maximum Data Length. 7.8.46.
package struct LEReadMaximumDataLength: HCICommand {
    package static let opcode = HCIOpcode.leReadMaximumDataLength
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var txOctets: UInt16 = 27
        package var txTime: UInt16 = 328
        package var rxOctets: UInt16 = 27
        package var rxTime: UInt16 = 328

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Supported_Max_TX_Octets", &txOctets)
            try coder.integer("Supported_Max_TX_Time", &txTime)
            try coder.integer("Supported_Max_RX_Octets", &rxOctets)
            try coder.integer("Supported_Max_RX_Time", &rxTime)
        }
    }
}

/// A PHY that is in use. 7.8.47.
package struct PHY: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let le1M = PHY(rawValue: 0x01)
    package static let le2M = PHY(rawValue: 0x02)
    package static let leCoded = PHY(rawValue: 0x03)
}

/// PHYs that a host prefers. 7.8.48.
package struct PHYPreference: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let le1M = PHYPreference(rawValue: 0x01)
    package static let le2M = PHYPreference(rawValue: 0x02)
    package static let leCoded = PHYPreference(rawValue: 0x04)
}

/// LE Read PHY. 7.8.47.
package struct LEReadPHY: HCICommand {
    package static let opcode = HCIOpcode.leReadPHY

    package var handle: UInt16 = 0

    package init() {}
    package init(handle: UInt16) { self.handle = handle }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
    }

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var handle: UInt16 = 0
        package var tx = PHY.le1M
        package var rx = PHY.le1M

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.handle("Connection_Handle", &handle)
            try coder.choice("TX_PHY", &tx)
            try coder.choice("RX_PHY", &rx)
        }
    }
}

/// LE Set Default PHY. 7.8.48.
package struct LESetDefaultPHY: HCICommand {
    package static let opcode = HCIOpcode.leSetDefaultPHY

    /// Bit 0: no preference for sending; bit 1: none for receiving.
    package var noPreference: UInt8 = 0b11
    package var tx: PHYPreference = []
    package var rx: PHYPreference = []

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("All_PHYs", &noPreference)
        try coder.choice("TX_PHYs", &tx)
        try coder.choice("RX_PHYs", &rx)
    }
}

/// LE Set PHY. 7.8.49.
package struct LESetPHY: HCICommand {
    package static let opcode = HCIOpcode.leSetPHY
    package typealias ReturnParameters = NoReturnParameters

    package var handle: UInt16 = 0
    /// Bit 0: no preference for sending; bit 1: none for receiving.
    package var noPreference: UInt8 = 0b11
    package var tx: PHYPreference = []
    package var rx: PHYPreference = []
    /// Preferred coding on the coded PHY: 0 none, 1 S=2, 2 S=8.
    package var options: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("All_PHYs", &noPreference)
        try coder.choice("TX_PHYs", &tx)
        try coder.choice("RX_PHYs", &rx)
        try coder.integer("PHY_Options", &options)
    }
}
