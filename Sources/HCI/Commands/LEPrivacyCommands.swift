package import BluetoothTypes
package import ByteCodec

// Private addresses, made and resolved by the controller: Core 6.0, Vol 4, Part E, 7.8.38 to 7.8.45, 7.8.77.

/// LE Add Device To Resolving List. 7.8.38.
package struct LEAddDeviceToResolvingList: HCICommand {
    package static let opcode = HCIOpcode.leAddDeviceToResolvingList

    package var peer = DeviceAddress(0)
    /// Identity resolving keys; of zeros where that side has none.
    package var peerKey: UInt128 = 0
    package var localKey: UInt128 = 0

    package init() {}

    package init(peer: DeviceAddress, peerKey: UInt128, localKey: UInt128) {
        self.peer = peer
        self.peerKey = peerKey
        self.localKey = localKey
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.typedAddress("Peer_Identity_Address_Type", "Peer_Identity_Address", &peer)
        try coder.integer("Peer_IRK", &peerKey)
        try coder.integer("Local_IRK", &localKey)
    }
}

/// LE Remove Device From Resolving List. 7.8.39.
package struct LERemoveDeviceFromResolvingList: HCICommand {
    package static let opcode = HCIOpcode.leRemoveDeviceFromResolvingList

    package var peer = DeviceAddress(0)

    package init() {}
    package init(peer: DeviceAddress) { self.peer = peer }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.typedAddress("Peer_Identity_Address_Type", "Peer_Identity_Address", &peer)
    }
}

/// LE Clear Resolving List. 7.8.40.
package struct LEClearResolvingList: HCICommand {
    package static let opcode = HCIOpcode.leClearResolvingList
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// LE Read Resolving List Size. 7.8.41.
package struct LEReadResolvingListSize: HCICommand {
    package static let opcode = HCIOpcode.leReadResolvingListSize
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var size: UInt8 = 0

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.integer("Resolving_List_Size", &size)
        }
    }
}

/// What the two commands answer that read an address.
package struct ResolvableAddressReturn: Packet {
    package var status = HCIErrorCode.success
    package var address = DeviceAddress(0, kind: .random)

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.address("Resolvable_Address", &address)
    }
}

/// LE Read Peer Resolvable Address: the one that it used last. 7.8.42.
package struct LEReadPeerResolvableAddress: HCICommand {
    package static let opcode = HCIOpcode.leReadPeerResolvableAddress
    package typealias ReturnParameters = ResolvableAddressReturn

    package var peer = DeviceAddress(0)

    package init() {}
    package init(peer: DeviceAddress) { self.peer = peer }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.typedAddress("Peer_Identity_Address_Type", "Peer_Identity_Address", &peer)
    }
}

/// LE Read Local Resolvable Address: the one that this device shows to the peer. 7.8.43.
package struct LEReadLocalResolvableAddress: HCICommand {
    package static let opcode = HCIOpcode.leReadLocalResolvableAddress
    package typealias ReturnParameters = ResolvableAddressReturn

    package var peer = DeviceAddress(0)

    package init() {}
    package init(peer: DeviceAddress) { self.peer = peer }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.typedAddress("Peer_Identity_Address_Type", "Peer_Identity_Address", &peer)
    }
}

/// LE Set Address Resolution Enable. 7.8.44.
package struct LESetAddressResolutionEnable: HCICommand {
    package static let opcode = HCIOpcode.leSetAddressResolutionEnable

    package var isEnabled = false

    package init() {}
    package init(_ isEnabled: Bool) { self.isEnabled = isEnabled }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.flag("Address_Resolution_Enable", &isEnabled)
    }
}

/// LE Set Resolvable Private Address Timeout. 7.8.45.
package struct LESetResolvablePrivateAddressTimeout: HCICommand {
    package static let opcode = HCIOpcode.leSetResolvablePrivateAddressTimeout

    /// In seconds, 1...3600.
    package var timeout: UInt16 = 900

    package init() {}
    package init(timeout: UInt16) { self.timeout = timeout }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("RPA_Timeout", &timeout)
    }
}

/// LE Set Privacy Mode. 7.8.77.
package struct LESetPrivacyMode: HCICommand {
    package static let opcode = HCIOpcode.leSetPrivacyMode

    package enum Mode: UInt8, Hashable, Sendable {
        /// The peer is heard under its private addresses alone.
        case network = 0x00
        /// It is heard under its identity address too.
        case device = 0x01
    }

    package var peer = DeviceAddress(0)
    package var mode = Mode.network

    package init() {}

    package init(peer: DeviceAddress, mode: Mode) {
        self.peer = peer
        self.mode = mode
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.typedAddress("Peer_Identity_Address_Type", "Peer_Identity_Address", &peer)
        try coder.choice("Privacy_Mode", &mode)
    }
}
