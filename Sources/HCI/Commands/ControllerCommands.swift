package import BluetoothTypes
package import ByteCodec

// Controller, baseband and informational commands: Core 6.0, Vol 4, Part E, 7.3 and 7.4.

/// Reset: the controller is then as after power-on. 7.3.2.
package struct Reset: HCICommand {
    package static let opcode = HCIOpcode.reset
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// Set Event Mask. 7.3.1.
package struct SetEventMask: HCICommand {
    package static let opcode = HCIOpcode.setEventMask

    /// Bit *n* - 1 enables the event with code *n*; bit 61 is LE Meta. The default is the one after Reset.
    package var mask: UInt64 = 0x0000_1FFF_FFFF_FFFF

    package init() {}
    package init(mask: UInt64) { self.mask = mask }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Event_Mask", &mask)
    }
}

/// Set Event Mask Page 2. 7.3.69.
package struct SetEventMaskPage2: HCICommand {
    package static let opcode = HCIOpcode.setEventMaskPage2

    /// Bit 23: Authenticated Payload Timeout Expired; bit 25: Encryption Change [v2]. None after Reset.
    package var mask: UInt64 = 0

    package init() {}
    package init(mask: UInt64) { self.mask = mask }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Event_Mask_Page_2", &mask)
    }
}

/// Set Controller To Host Flow Control. 7.3.38.
package struct SetControllerToHostFlowControl: HCICommand {
    package static let opcode = HCIOpcode.setControllerToHostFlowControl

    /// 0 off, 1 for ACL data, 2 for synchronous data, 3 for both.
    package var enable: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Flow_Control_Enable", &enable, in: 0...3)
    }
}

/// Host Buffer Size. 7.3.39.
package struct HostBufferSize: HCICommand {
    package static let opcode = HCIOpcode.hostBufferSize

    package var aclLength: UInt16 = 27
    package var synchronousLength: UInt8 = 0
    package var aclCount: UInt16 = 1
    package var synchronousCount: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Host_ACL_Data_Packet_Length", &aclLength)
        try coder.integer("Host_Synchronous_Data_Packet_Length", &synchronousLength)
        try coder.integer("Host_Total_Num_ACL_Data_Packets", &aclCount)
        try coder.integer("Host_Total_Num_Synchronous_Data_Packets", &synchronousCount)
    }
}

/// Read Transmit Power Level of a link. 7.3.35.
package struct ReadTransmitPowerLevel: HCICommand {
    package static let opcode = HCIOpcode.readTransmitPowerLevel

    package var handle: UInt16 = 0
    /// 0 for the current level, 1 for the highest.
    package var type: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.octet("Type", &type, in: 0...1)
    }

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var handle: UInt16 = 0
        /// dBm, -30...20.
        package var level: Int8 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.handle("Connection_Handle", &handle)
            try coder.integer("TX_Power_Level", &level)
        }
    }
}

/// Write LE Host Support: whether the host of a dual-mode controller uses LE. 7.3.79.
package struct WriteLEHostSupport: HCICommand {
    package static let opcode = HCIOpcode.writeLEHostSupport

    package var isSupported = true
    /// Not used any more, always 0.
    package var simultaneous: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.flag("LE_Supported_Host", &isSupported)
        try coder.integer("Unused", &simultaneous)
    }
}

/// Read Local Version Information. 7.4.1.
package struct ReadLocalVersion: HCICommand {
    package static let opcode = HCIOpcode.readLocalVersion
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        /// Assigned numbers: 0x06 is 4.0, 0x08 is 4.2, 0x09 is 5.0, 0x0E is 6.0.
        package var hciVersion: UInt8 = 0
        package var hciSubversion: UInt16 = 0
        package var linkLayerVersion: UInt8 = 0
        package var companyIdentifier: UInt16 = 0
        package var linkLayerSubversion: UInt16 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("HCI_Version", &hciVersion)
            try coder.integer("HCI_Subversion", &hciSubversion)
            try coder.integer("LMP_Version", &linkLayerVersion)
            try coder.integer("Company_Identifier", &companyIdentifier)
            try coder.integer("LMP_Subversion", &linkLayerSubversion)
        }
    }
}

/// Read Local Supported Commands. 7.4.2.
package struct ReadLocalSupportedCommands: HCICommand {
    package static let opcode = HCIOpcode.readLocalSupportedCommands
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var commands = SupportedCommands()

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.octets("Supported_Commands", &commands.octets, count: 64)
        }
    }
}

/// Read Local Supported Features: page 0 of the features of BR/EDR and, in three bits, of LE. 7.4.3.
package struct ReadLocalSupportedFeatures: HCICommand {
    package static let opcode = HCIOpcode.readLocalSupportedFeatures
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var features: UInt64 = 0

        /// "LE Supported (Controller)": Core 6.0, Vol 2, Part C, 3.3, bit 38.
        package static let leSupported: UInt64 = 1 << 38
        /// "BR/EDR Not Supported": bit 37.
        package static let bredrNotSupported: UInt64 = 1 << 37

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("LMP_Features", &features)
        }
    }
}

/// Read Buffer Size: the buffers of BR/EDR, shared with LE where LE Read Buffer Size answers 0. 7.4.5.
package struct ReadBufferSize: HCICommand {
    package static let opcode = HCIOpcode.readBufferSize
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var aclLength: UInt16 = 0
        package var synchronousLength: UInt8 = 0
        package var aclCount: UInt16 = 0
        package var synchronousCount: UInt16 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("ACL_Data_Packet_Length", &aclLength)
            try coder.integer("Synchronous_Data_Packet_Length", &synchronousLength)
            try coder.integer("Total_Num_ACL_Data_Packets", &aclCount)
            try coder.integer("Total_Num_Synchronous_Data_Packets", &synchronousCount)
        }
    }
}

/// Read BD_ADDR: the controller's public address. 7.4.6.
package struct ReadAddress: HCICommand {
    package static let opcode = HCIOpcode.readAddress
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var address = DeviceAddress(0)

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.address("BD_ADDR", &address)
        }
    }
}
