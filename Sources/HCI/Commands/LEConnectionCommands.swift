package import BluetoothTypes
package import ByteCodec

// Making LE connections and changing their parameters: Core 6.0, Vol 4, Part E, 7.8.12, 7.8.13, 7.8.18, 7.8.31, 7.8.32.

/// The parameters of a connection as a host proposes them. The fields that four packets share.
///
/// Source: Core 6.0, Vol 4, Part E, 7.8.12.
package struct ConnectionParameterRange: Equatable, Sendable {
    /// In units of 1.25 ms, 6...3200.
    package var intervalMin: UInt16 = 24
    package var intervalMax: UInt16 = 40
    /// In connection events, 0...499.
    package var latency: UInt16 = 0
    /// In units of 10 ms, 10...3200.
    package var supervisionTimeout: UInt16 = 72

    package init() {}

    package init(intervalMin: UInt16, intervalMax: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
        self.intervalMin = intervalMin
        self.intervalMax = intervalMax
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Connection_Interval_Min", &intervalMin)
        try coder.integer("Connection_Interval_Max", &intervalMax)
        try coder.integer("Max_Latency", &latency)
        try coder.integer("Supervision_Timeout", &supervisionTimeout)
    }
}

/// LE Create Connection. 7.8.12.
package struct LECreateConnection: HCICommand {
    package static let opcode = HCIOpcode.leCreateConnection
    package typealias ReturnParameters = NoReturnParameters

    /// In units of 0.625 ms, 0x0004...0x4000.
    package var scanInterval: UInt16 = 0x0060
    package var scanWindow: UInt16 = 0x0060
    /// Whether to connect to whoever of the filter accept list comes first; `peer` does not count then.
    package var usesFilterAcceptList = false
    package var peer = DeviceAddress(0)
    package var ownAddressType = OwnAddressType.publicDevice
    package var parameters = ConnectionParameterRange()
    /// In units of 0.625 ms.
    package var eventLengthMin: UInt16 = 0
    package var eventLengthMax: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("LE_Scan_Interval", &scanInterval)
        try coder.integer("LE_Scan_Window", &scanWindow)
        try coder.flag("Initiator_Filter_Policy", &usesFilterAcceptList)
        try coder.typedAddress("Peer_Address_Type", "Peer_Address", &peer)
        try coder.choice("Own_Address_Type", &ownAddressType)
        try parameters.fields(&coder)
        try coder.integer("Min_CE_Length", &eventLengthMin)
        try coder.integer("Max_CE_Length", &eventLengthMax)
    }
}

/// LE Create Connection Cancel. 7.8.13.
package struct LECreateConnectionCancel: HCICommand {
    package static let opcode = HCIOpcode.leCreateConnectionCancel
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// LE Connection Update. 7.8.18.
package struct LEConnectionUpdate: HCICommand {
    package static let opcode = HCIOpcode.leConnectionUpdate
    package typealias ReturnParameters = NoReturnParameters

    package var handle: UInt16 = 0
    package var parameters = ConnectionParameterRange()
    /// In units of 0.625 ms.
    package var eventLengthMin: UInt16 = 0
    package var eventLengthMax: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try parameters.fields(&coder)
        try coder.integer("Min_CE_Length", &eventLengthMin)
        try coder.integer("Max_CE_Length", &eventLengthMax)
    }
}

/// LE Remote Connection Parameter Request Reply. 7.8.31.
package struct LERemoteConnectionParameterRequestReply: HCICommand {
    package static let opcode = HCIOpcode.leRemoteConnectionParameterRequestReply
    package typealias ReturnParameters = HandleReturn

    package var handle: UInt16 = 0
    package var parameters = ConnectionParameterRange()
    /// In units of 0.625 ms.
    package var eventLengthMin: UInt16 = 0
    package var eventLengthMax: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try parameters.fields(&coder)
        try coder.integer("Min_CE_Length", &eventLengthMin)
        try coder.integer("Max_CE_Length", &eventLengthMax)
    }
}

/// LE Remote Connection Parameter Request Negative Reply. 7.8.32.
package struct LERemoteConnectionParameterRequestNegativeReply: HCICommand {
    package static let opcode = HCIOpcode.leRemoteConnectionParameterRequestNegativeReply
    package typealias ReturnParameters = HandleReturn

    package var handle: UInt16 = 0
    package var reason = HCIErrorCode.unacceptableConnectionParameters

    package init() {}

    package init(handle: UInt16, reason: HCIErrorCode = .unacceptableConnectionParameters) {
        self.handle = handle
        self.reason = reason
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.choice("Reason", &reason)
    }
}
