package import BluetoothTypes
package import ByteCodec

// Legacy scanning and the filter accept list: Core 6.0, Vol 4, Part E, 7.8.10, 7.8.11, 7.8.14 to 7.8.17.

/// LE Set Scan Parameters. 7.8.10.
package struct LESetScanParameters: HCICommand {
    package static let opcode = HCIOpcode.leSetScanParameters

    /// Whether scan requests are sent.
    package var isActive = false
    /// In units of 0.625 ms, 0x0004...0x4000.
    package var interval: UInt16 = 0x0010
    /// In units of 0.625 ms, 0x0004...0x4000, at most the interval.
    package var window: UInt16 = 0x0010
    package var ownAddressType = OwnAddressType.publicDevice
    /// Bit 0: only advertisers of the filter accept list; bit 1: directed ones too, to a private address.
    package var filterPolicy: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.flag("LE_Scan_Type", &isActive)
        try coder.integer("LE_Scan_Interval", &interval)
        try coder.integer("LE_Scan_Window", &window)
        try coder.choice("Own_Address_Type", &ownAddressType)
        try coder.octet("Scanning_Filter_Policy", &filterPolicy, in: 0...3)
    }
}

/// LE Set Scan Enable. 7.8.11.
package struct LESetScanEnable: HCICommand {
    package static let opcode = HCIOpcode.leSetScanEnable

    package var isEnabled = false
    /// Whether the controller keeps repeated reports of one device to itself.
    package var filtersDuplicates = false

    package init() {}

    package init(_ isEnabled: Bool, filtersDuplicates: Bool = false) {
        self.isEnabled = isEnabled
        self.filtersDuplicates = filtersDuplicates
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.flag("LE_Scan_Enable", &isEnabled)
        try coder.flag("Filter_Duplicates", &filtersDuplicates)
    }
}

/// LE Read Filter Accept List Size. 7.8.14.
package struct LEReadFilterAcceptListSize: HCICommand {
    package static let opcode = HCIOpcode.leReadFilterAcceptListSize
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var size: UInt8 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Filter_Accept_List_Size", &size)
        }
    }
}

/// LE Clear Filter Accept List. 7.8.15.
package struct LEClearFilterAcceptList: HCICommand {
    package static let opcode = HCIOpcode.leClearFilterAcceptList
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// LE Add Device To Filter Accept List. 7.8.16.
package struct LEAddDeviceToFilterAcceptList: HCICommand {
    package static let opcode = HCIOpcode.leAddDeviceToFilterAcceptList

    package var address = DeviceAddress(0)

    package init() {}
    package init(address: DeviceAddress) { self.address = address }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.typedAddress("Address_Type", "Address", &address)
    }
}

/// LE Remove Device From Filter Accept List. 7.8.17.
package struct LERemoveDeviceFromFilterAcceptList: HCICommand {
    package static let opcode = HCIOpcode.leRemoveDeviceFromFilterAcceptList

    package var address = DeviceAddress(0)

    package init() {}
    package init(address: DeviceAddress) { self.address = address }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.typedAddress("Address_Type", "Address", &address)
    }
}
