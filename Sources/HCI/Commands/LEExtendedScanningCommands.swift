package import BluetoothTypes
package import ByteCodec

// Scanning and connecting on several PHYs: Core 6.0, Vol 4, Part E, 7.8.64 to 7.8.66.

/// LE Set Extended Scan Parameters. 7.8.64.
package struct LESetExtendedScanParameters: HCICommand {
    package static let opcode = HCIOpcode.leSetExtendedScanParameters

    package struct Entry: Equatable, Sendable {
        /// Whether scan requests are sent.
        package var isActive = false
        /// In units of 0.625 ms, from 4.
        package var interval: UInt16 = 0x0010
        package var window: UInt16 = 0x0010

        package init() {}
    }

    package var ownAddressType = OwnAddressType.publicDevice
    /// Bit 0: only advertisers of the filter accept list; bit 1: directed ones too, to a private address.
    package var filterPolicy: UInt8 = 0
    /// LE 1M, coded, or both.
    package var phys: PHYPreference = .le1M
    /// One for each PHY, in the order of their bits.
    package var entries: [Entry] = [Entry()]

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Own_Address_Type", &ownAddressType)
        try coder.octet("Scanning_Filter_Policy", &filterPolicy, in: 0...3)
        try coder.choice("Scanning_PHYs", &phys)
        let count = phys.rawValue.nonzeroBitCount
        try coder.list("Scanning_PHYs", &entries, blank: Entry()) { coder, entry throws(PacketError) in
            try coder.flag("Scan_Type", &entry.isActive)
            try coder.integer("Scan_Interval", &entry.interval)
            try coder.integer("Scan_Window", &entry.window)
        }
        guard entries.count == count else { throw PacketError(.valueNotAllowed(count), field: "Scanning_PHYs") }
    }
}

/// LE Set Extended Scan Enable. 7.8.65.
package struct LESetExtendedScanEnable: HCICommand {
    package static let opcode = HCIOpcode.leSetExtendedScanEnable

    package var isEnabled = false
    /// 0 no, 1 yes, 2 yes, anew in each period.
    package var filtersDuplicates: UInt8 = 0
    /// In units of 10 ms; 0 for no end.
    package var duration: UInt16 = 0
    /// In units of 1.28 s; 0 for scanning once.
    package var period: UInt16 = 0

    package init() {}

    package init(_ isEnabled: Bool, filtersDuplicates: UInt8 = 0, duration: UInt16 = 0, period: UInt16 = 0) {
        self.isEnabled = isEnabled
        self.filtersDuplicates = filtersDuplicates
        self.duration = duration
        self.period = period
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.flag("Enable", &isEnabled)
        try coder.octet("Filter_Duplicates", &filtersDuplicates, in: 0...2)
        try coder.integer("Duration", &duration)
        try coder.integer("Period", &period)
    }
}

/// LE Extended Create Connection [v1]. 7.8.66.
package struct LEExtendedCreateConnection: HCICommand {
    package static let opcode = HCIOpcode.leExtendedCreateConnection
    package typealias ReturnParameters = NoReturnParameters

    package struct Entry: Equatable, Sendable {
        /// In units of 0.625 ms, from 4.
        package var scanInterval: UInt16 = 0x0060
        package var scanWindow: UInt16 = 0x0060
        package var parameters = ConnectionParameterRange()
        /// In units of 0.625 ms.
        package var eventLengthMin: UInt16 = 0
        package var eventLengthMax: UInt16 = 0

        package init() {}
    }

    /// Whether to connect to whoever of the filter accept list comes first; `peer` does not count then.
    package var usesFilterAcceptList = false
    package var ownAddressType = OwnAddressType.publicDevice
    package var peer = DeviceAddress(0)
    /// On which to look for the peer, and what the link is to be if it begins on them.
    package var phys: PHYPreference = .le1M
    /// One for each PHY, in the order of their bits.
    package var entries: [Entry] = [Entry()]

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.flag("Initiator_Filter_Policy", &usesFilterAcceptList)
        try coder.choice("Own_Address_Type", &ownAddressType)
        try coder.typedAddress("Peer_Address_Type", "Peer_Address", &peer)
        try coder.choice("Initiating_PHYs", &phys)
        let count = phys.rawValue.nonzeroBitCount
        try coder.list("Initiating_PHYs", &entries, blank: Entry()) { coder, entry throws(PacketError) in
            try coder.integer("Scan_Interval", &entry.scanInterval)
            try coder.integer("Scan_Window", &entry.scanWindow)
            try entry.parameters.fields(&coder)
            try coder.integer("Min_CE_Length", &entry.eventLengthMin)
            try coder.integer("Max_CE_Length", &entry.eventLengthMax)
        }
        guard entries.count == count else { throw PacketError(.valueNotAllowed(count), field: "Initiating_PHYs") }
    }
}
