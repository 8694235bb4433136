package import BluetoothTypes
package import ByteCodec

// What the host asks of an LE controller as a whole: Core 6.0, Vol 4, Part E, 7.8.

/// LE Set Event Mask. 7.8.1.
package struct LESetEventMask: HCICommand {
    package static let opcode = HCIOpcode.leSetEventMask

    /// Bit *n* - 1 enables the subevent with code *n*. The default is the one after Reset.
    package var mask: UInt64 = 0x1F

    package init() {}
    package init(mask: UInt64) { self.mask = mask }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("LE_Event_Mask", &mask)
    }
}

/// LE Read Buffer Size [v1]. 7.8.2.
package struct LEReadBufferSize: HCICommand {
    package static let opcode = HCIOpcode.leReadBufferSize
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        /// Octets of one ACL data packet's payload; 0 says that LE shares the buffers of Read Buffer Size.
        package var aclLength: UInt16 = 0
        package var aclCount: UInt8 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("LE_ACL_Data_Packet_Length", &aclLength)
            try coder.integer("Total_Num_LE_ACL_Data_Packets", &aclCount)
        }
    }
}

/// LE Read Buffer Size [v2], which tells of isochronous data too. 7.8.2.
package struct LEReadBufferSizeV2: HCICommand {
    package static let opcode = HCIOpcode.leReadBufferSizeV2
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var aclLength: UInt16 = 0
        package var aclCount: UInt8 = 0
        package var isochronousLength: UInt16 = 0
        package var isochronousCount: UInt8 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("LE_ACL_Data_Packet_Length", &aclLength)
            try coder.integer("Total_Num_LE_ACL_Data_Packets", &aclCount)
            try coder.integer("ISO_Data_Packet_Length", &isochronousLength)
            try coder.integer("Total_Num_ISO_Data_Packets", &isochronousCount)
        }
    }
}

/// LE Read Local Supported Features. 7.8.3.
package struct LEReadLocalSupportedFeatures: HCICommand {
    package static let opcode = HCIOpcode.leReadLocalSupportedFeatures
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var features: LEFeatures = []

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.choice("LE_Features", &features)
        }
    }
}

/// LE Set Random Address. 7.8.4.
package struct LESetRandomAddress: HCICommand {
    package static let opcode = HCIOpcode.leSetRandomAddress

    package var address = DeviceAddress(0, kind: .random)

    package init() {}
    package init(address: DeviceAddress) { self.address = address }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.address("Random_Address", &address)
    }
}

/// LE Encrypt: AES-128 of one block. 7.8.22.
package struct LEEncrypt: HCICommand {
    package static let opcode = HCIOpcode.leEncrypt

    /// Least significant octet first, as is everything in HCI.
    package var key: UInt128 = 0
    package var plaintext: UInt128 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Key", &key)
        try coder.integer("Plaintext_Data", &plaintext)
    }

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var encrypted: UInt128 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Encrypted_Data", &encrypted)
        }
    }
}

/// LE Rand: 64 random bits. 7.8.23.
package struct LERand: HCICommand {
    package static let opcode = HCIOpcode.leRand
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var number: UInt64 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Random_Number", &number)
        }
    }
}

/// LE Read Supported States: which roles a controller can play at once. 7.8.27.
package struct LEReadSupportedStates: HCICommand {
    package static let opcode = HCIOpcode.leReadSupportedStates
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var states: LESupportedStates = []

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.choice("LE_States", &states)
        }
    }
}
