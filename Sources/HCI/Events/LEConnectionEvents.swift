package import BluetoothTypes
package import ByteCodec

/// Which side of an LE link this device is.
package enum LinkRole: UInt8, Hashable, Sendable {
    case central = 0x00
    case peripheral = 0x01
}

extension FieldCoder {
    /// The handle of a connection that exists if `status` says so: 0x000...0xEFF then.
    fileprivate mutating func newHandle(_ value: inout UInt16, status: HCIErrorCode) throws(PacketError) {
        try handle("Connection_Handle", &value)
        guard status != .success || value <= 0x0EFF else {
            throw PacketError(.valueNotAllowed(Int(value)), field: "Connection_Handle")
        }
    }
}

/// LE Connection Complete. 7.7.65.1.
package struct LEConnectionComplete: LEEvent {
    package static let subevent = LESubeventCode.connectionComplete

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0
    package var role = LinkRole.central
    package var peer = DeviceAddress(0)
    /// Whether the controller found `peer` behind a private address; the first version of the event does not tell.
    package var peerIsIdentity = false
    /// The private addresses that were on the air, where the second version of the event tells them.
    package var peerPrivateAddress: DeviceAddress?
    package var localPrivateAddress: DeviceAddress?
    /// In units of 1.25 ms.
    package var interval: UInt16 = 0
    package var latency: UInt16 = 0
    /// In units of 10 ms.
    package var supervisionTimeout: UInt16 = 0
    package var clockAccuracy: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.newHandle(&handle, status: status)
        try coder.choice("Role", &role)
        try coder.typedAddress("Peer_Address_Type", "Peer_Address", &peer)
        try coder.integer("Connection_Interval", &interval)
        try coder.integer("Peripheral_Latency", &latency)
        try coder.integer("Supervision_Timeout", &supervisionTimeout)
        try coder.integer("Central_Clock_Accuracy", &clockAccuracy)
    }
}

/// LE Enhanced Connection Complete [v1]. 7.7.65.10.
package struct LEEnhancedConnectionComplete: LEEvent {
    package static let subevent = LESubeventCode.enhancedConnectionComplete

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0
    package var role = LinkRole.central
    package var peer = DeviceAddress(0)
    /// Whether the controller found `peer` behind a private address.
    package var peerIsIdentity = false
    /// Zero unless this device has shown a private address.
    package var localResolvablePrivateAddress = DeviceAddress(0, kind: .random)
    /// Zero unless the peer has shown a private address.
    package var peerResolvablePrivateAddress = DeviceAddress(0, kind: .random)
    /// In units of 1.25 ms.
    package var interval: UInt16 = 0
    package var latency: UInt16 = 0
    /// In units of 10 ms.
    package var supervisionTimeout: UInt16 = 0
    package var clockAccuracy: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.newHandle(&handle, status: status)
        try coder.choice("Role", &role)
        try coder.typedAddress("Peer_Address_Type", "Peer_Address", &peer, isIdentity: &peerIsIdentity)
        try coder.address("Local_Resolvable_Private_Address", &localResolvablePrivateAddress)
        try coder.address("Peer_Resolvable_Private_Address", &peerResolvablePrivateAddress)
        try coder.integer("Connection_Interval", &interval)
        try coder.integer("Peripheral_Latency", &latency)
        try coder.integer("Supervision_Timeout", &supervisionTimeout)
        try coder.integer("Central_Clock_Accuracy", &clockAccuracy)
    }

    /// What the two events of a new connection have in common.
    package var connection: LEConnectionComplete {
        var connection = LEConnectionComplete()
        connection.status = status
        connection.handle = handle
        connection.role = role
        connection.peer = peer
        connection.peerIsIdentity = peerIsIdentity
        if peerResolvablePrivateAddress.value != 0 { connection.peerPrivateAddress = peerResolvablePrivateAddress }
        if localResolvablePrivateAddress.value != 0 { connection.localPrivateAddress = localResolvablePrivateAddress }
        connection.interval = interval
        connection.latency = latency
        connection.supervisionTimeout = supervisionTimeout
        connection.clockAccuracy = clockAccuracy
        return connection
    }
}

/// LE Connection Update Complete. 7.7.65.3.
package struct LEConnectionUpdateComplete: LEEvent {
    package static let subevent = LESubeventCode.connectionUpdateComplete

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0
    /// In units of 1.25 ms.
    package var interval: UInt16 = 0
    package var latency: UInt16 = 0
    /// In units of 10 ms.
    package var supervisionTimeout: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Connection_Interval", &interval)
        try coder.integer("Peripheral_Latency", &latency)
        try coder.integer("Supervision_Timeout", &supervisionTimeout)
    }
}

/// LE Read Remote Features Complete. 7.7.65.4.
package struct LEReadRemoteFeaturesComplete: LEEvent {
    package static let subevent = LESubeventCode.readRemoteFeaturesComplete

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0
    package var features: LEFeatures = []

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Connection_Handle", &handle)
        try coder.choice("LE_Features", &features)
    }
}

/// LE Long Term Key Request. 7.7.65.5.
package struct LELongTermKeyRequest: LEEvent {
    package static let subevent = LESubeventCode.longTermKeyRequest

    package var handle: UInt16 = 0
    package var randomNumber: UInt64 = 0
    package var encryptedDiversifier: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Random_Number", &randomNumber)
        try coder.integer("Encrypted_Diversifier", &encryptedDiversifier)
    }
}

/// LE Remote Connection Parameter Request. 7.7.65.6.
package struct LERemoteConnectionParameterRequest: LEEvent {
    package static let subevent = LESubeventCode.remoteConnectionParameterRequest

    package var handle: UInt16 = 0
    package var parameters = ConnectionParameterRange()

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try parameters.fields(&coder)
    }
}

/// LE Data Length Change. 7.7.65.7.
package struct LEDataLengthChange: LEEvent {
    package static let subevent = LESubeventCode.dataLengthChange

    package var handle: UInt16 = 0
    package var txOctets: UInt16 = 27
    /// In microseconds.
    package var txTime: UInt16 = 328
    package var rxOctets: UInt16 = 27
    package var rxTime: UInt16 = 328

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Max_TX_Octets", &txOctets)
        try coder.integer("Max_TX_Time", &txTime)
        try coder.integer("Max_RX_Octets", &rxOctets)
        try coder.integer("Max_RX_Time", &rxTime)
    }
}

/// LE PHY Update Complete. 7.7.65.12.
package struct LEPHYUpdateComplete: LEEvent {
    package static let subevent = LESubeventCode.phyUpdateComplete

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

/// LE Channel Selection Algorithm. 7.7.65.20.
package struct LEChannelSelectionAlgorithm: LEEvent {
    package static let subevent = LESubeventCode.channelSelectionAlgorithm

    package var handle: UInt16 = 0
    /// 0 for algorithm #1, 1 for #2.
    package var algorithm: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Channel_Selection_Algorithm", &algorithm)
    }
}
