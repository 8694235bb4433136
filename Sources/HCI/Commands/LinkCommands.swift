package import ByteCodec

// Link control and status commands: Core 6.0, Vol 4, Part E, 7.1 and 7.5. The last three are about a link too, but
// LE's own.

/// Disconnect. 7.1.6.
package struct Disconnect: HCICommand {
    package static let opcode = HCIOpcode.disconnect
    package typealias ReturnParameters = NoReturnParameters

    package var handle: UInt16 = 0
    package var reason = HCIErrorCode.remoteUserTerminated

    package init() {}

    package init(handle: UInt16, reason: HCIErrorCode = .remoteUserTerminated) {
        self.handle = handle
        self.reason = reason
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.choice("Reason", &reason)
    }
}

/// Read Remote Version Information. 7.1.23.
package struct ReadRemoteVersion: HCICommand {
    package static let opcode = HCIOpcode.readRemoteVersion
    package typealias ReturnParameters = NoReturnParameters

    package var handle: UInt16 = 0

    package init() {}
    package init(handle: UInt16) { self.handle = handle }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
    }
}

/// Read RSSI of a link. 7.5.4.
package struct ReadRSSI: HCICommand {
    package static let opcode = HCIOpcode.readRSSI

    package var handle: UInt16 = 0

    package init() {}
    package init(handle: UInt16) { self.handle = handle }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Handle", &handle)
    }

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var handle: UInt16 = 0
        /// dBm, -127...20; 127 means not available.
        package var rssi: Int8 = 127

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.handle("Handle", &handle)
            try coder.integer("RSSI", &rssi)
        }
    }
}

/// LE Read Remote Features. 7.8.21.
package struct LEReadRemoteFeatures: HCICommand {
    package static let opcode = HCIOpcode.leReadRemoteFeatures
    package typealias ReturnParameters = NoReturnParameters

    package var handle: UInt16 = 0

    package init() {}
    package init(handle: UInt16) { self.handle = handle }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
    }
}

/// LE Set Host Channel Classification. 7.8.19.
package struct LESetHostChannelClassification: HCICommand {
    package static let opcode = HCIOpcode.leSetHostChannelClassification

    /// Bits 0...36: 0 for a channel known to be bad.
    package var channelMap = ChannelMap()

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.channelMap("Channel_Map", &channelMap)
    }
}

/// LE Read Channel Map. 7.8.20.
package struct LEReadChannelMap: HCICommand {
    package static let opcode = HCIOpcode.leReadChannelMap

    package var handle: UInt16 = 0

    package init() {}
    package init(handle: UInt16) { self.handle = handle }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
    }

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var handle: UInt16 = 0
        package var channelMap = ChannelMap()

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.handle("Connection_Handle", &handle)
            try coder.channelMap("Channel_Map", &channelMap)
        }
    }
}

/// The 37 data channels, one bit each.
///
/// Source: Core 6.0, Vol 4, Part E, 7.8.19.
package struct ChannelMap: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt64

    /// All channels.
    package init() { self.init(rawValue: 0x1F_FFFF_FFFF) }
    /// Bits from 37 on are reserved and dropped.
    package init(rawValue: UInt64) { self.rawValue = rawValue & 0x1F_FFFF_FFFF }

    package func contains(_ channel: UInt8) -> Bool { rawValue >> UInt64(channel) & 1 == 1 }
}

extension FieldCoder {
    /// A channel map in five octets.
    mutating func channelMap(_ name: StaticString, _ value: inout ChannelMap) throws(PacketError) {
        var low = UInt32(truncatingIfNeeded: value.rawValue)
        var high = UInt8(truncatingIfNeeded: value.rawValue >> 32)
        try integer(name, &low)
        try integer(name, &high)
        value = ChannelMap(rawValue: UInt64(high) << 32 | UInt64(low))
    }
}
