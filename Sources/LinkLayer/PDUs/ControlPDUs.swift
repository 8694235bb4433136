package import ByteCodec

/// Which LL control PDU: the first octet of its payload.
///
/// Source: Core 6.0, Vol 6, Part B, 2.4.2.
package struct ControlOpcode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let connectionUpdate = ControlOpcode(rawValue: 0x00)
    package static let channelMap = ControlOpcode(rawValue: 0x01)
    package static let terminate = ControlOpcode(rawValue: 0x02)
    package static let encryptionRequest = ControlOpcode(rawValue: 0x03)
    package static let encryptionResponse = ControlOpcode(rawValue: 0x04)
    package static let startEncryptionRequest = ControlOpcode(rawValue: 0x05)
    package static let startEncryptionResponse = ControlOpcode(rawValue: 0x06)
    package static let unknownResponse = ControlOpcode(rawValue: 0x07)
    package static let featureRequest = ControlOpcode(rawValue: 0x08)
    package static let featureResponse = ControlOpcode(rawValue: 0x09)
    package static let pauseEncryptionRequest = ControlOpcode(rawValue: 0x0A)
    package static let pauseEncryptionResponse = ControlOpcode(rawValue: 0x0B)
    package static let version = ControlOpcode(rawValue: 0x0C)
    package static let reject = ControlOpcode(rawValue: 0x0D)
    package static let peripheralFeatureRequest = ControlOpcode(rawValue: 0x0E)
    package static let parameterRequest = ControlOpcode(rawValue: 0x0F)
    package static let parameterResponse = ControlOpcode(rawValue: 0x10)
    package static let rejectExtended = ControlOpcode(rawValue: 0x11)
    package static let pingRequest = ControlOpcode(rawValue: 0x12)
    package static let pingResponse = ControlOpcode(rawValue: 0x13)
    package static let lengthRequest = ControlOpcode(rawValue: 0x14)
    package static let lengthResponse = ControlOpcode(rawValue: 0x15)
    package static let phyRequest = ControlOpcode(rawValue: 0x16)
    package static let phyResponse = ControlOpcode(rawValue: 0x17)
    package static let phyUpdate = ControlOpcode(rawValue: 0x18)
    package static let subrateRequest = ControlOpcode(rawValue: 0x26)
    package static let subrateIndication = ControlOpcode(rawValue: 0x27)
}

/// The octets of an LL control PDU: opcode, then fields.
func controlPayload(_ opcode: ControlOpcode, _ fields: some Packet) -> [UInt8] { [opcode.rawValue] + fields.octets }

/// LL_CONNECTION_UPDATE_IND. Core 6.0, Vol 6, Part B, 2.4.2.1.
package struct ConnectionUpdateIndication: Packet {
    /// In slots of 1.25 ms.
    package var windowSize: UInt8 = 1
    /// In slots of 1.25 ms.
    package var windowOffset: UInt16 = 0
    package var timing = ConnectionTiming()
    /// The event counter at which the new timing begins.
    package var instant: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("WinSize", &windowSize)
        try coder.integer("WinOffset", &windowOffset)
        try timing.fields(&coder)
        try coder.integer("Instant", &instant)
    }
}

/// LL_CHANNEL_MAP_IND. Core 6.0, Vol 6, Part B, 2.4.2.2.
package struct ChannelMapIndication: Packet {
    package var channels = UsedChannels.all
    package var instant: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.usedChannels("ChM", &channels)
        try coder.integer("Instant", &instant)
    }
}

/// One octet: the error code of LL_TERMINATE_IND and LL_REJECT_IND, the unknown opcode of LL_UNKNOWN_RSP.
///
/// Core 6.0, Vol 6, Part B, 2.4.2.3, 2.4.2.8, 2.4.2.14.
package struct ControlCode: Packet {
    package var code: UInt8 = 0

    package init() {}
    package init(_ code: UInt8) { self.code = code }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Code", &code)
    }
}

/// LL_REJECT_EXT_IND. Core 6.0, Vol 6, Part B, 2.4.2.18.
package struct ExtendedReject: Packet {
    package var rejectedOpcode: UInt8 = 0
    package var errorCode: UInt8 = 0

    package init() {}

    package init(rejectedOpcode: ControlOpcode, error: LinkError) {
        self.rejectedOpcode = rejectedOpcode.rawValue
        errorCode = error.rawValue
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("RejectOpcode", &rejectedOpcode)
        try coder.integer("ErrorCode", &errorCode)
    }
}

/// The features in LL_FEATURE_REQ, LL_PERIPHERAL_FEATURE_REQ and LL_FEATURE_RSP.
///
/// Core 6.0, Vol 6, Part B, 2.4.2.9, 2.4.2.10, 2.4.2.15; the bits, 4.6.
package struct FeatureSet: Packet {
    package var bits: UInt64 = 0

    package init() {}
    package init(_ bits: UInt64) { self.bits = bits }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("FeatureSet", &bits)
    }
}

/// LL_VERSION_IND. Core 6.0, Vol 6, Part B, 2.4.2.13.
package struct VersionIndication: Packet {
    /// Assigned number of the Core version: 0x0E is 6.0.
    package var version: UInt8 = 0
    package var company: UInt16 = 0
    package var subversion: UInt16 = 0

    package init() {}

    package init(version: UInt8, company: UInt16, subversion: UInt16) {
        self.version = version
        self.company = company
        self.subversion = subversion
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Version", &version)
        try coder.integer("Company_Identifier", &company)
        try coder.integer("Subversion", &subversion)
    }
}

/// LL_CONNECTION_PARAM_REQ and LL_CONNECTION_PARAM_RSP. Core 6.0, Vol 6, Part B, 2.4.2.16, 2.4.2.17.
package struct LinkParameterRange: Packet {
    /// In slots of 1.25 ms.
    package var intervalMin: UInt16 = 6
    package var intervalMax: UInt16 = 6
    package var latency: UInt16 = 0
    /// In units of 10 ms.
    package var timeout: UInt16 = 10
    /// In slots of 1.25 ms; 0 for no preference.
    package var preferredPeriodicity: UInt8 = 0
    package var referenceEvent: UInt16 = 0
    /// Preferred window offsets in slots of 1.25 ms; 0xFFFF for none.
    package var offsets: [UInt16] = Array(repeating: 0xFFFF, count: 6)

    package init() {}

    package init(intervalMin: UInt16, intervalMax: UInt16, latency: UInt16, timeout: UInt16) {
        self.intervalMin = intervalMin
        self.intervalMax = intervalMax
        self.latency = latency
        self.timeout = timeout
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Interval_Min", &intervalMin)
        try coder.integer("Interval_Max", &intervalMax)
        try coder.integer("Latency", &latency)
        try coder.integer("Timeout", &timeout)
        try coder.integer("PreferredPeriodicity", &preferredPeriodicity)
        try coder.integer("ReferenceConnEventCount", &referenceEvent)
        for index in 0..<6 { try coder.integer("Offset", &offsets[index]) }
    }

    /// Whether each interval of the range can be lived with.
    package var isValid: Bool {
        intervalMin <= intervalMax && intervalMin >= 6
            && ConnectionTiming(interval: intervalMax, latency: latency, timeout: timeout).isValid
    }
}

/// LL_LENGTH_REQ and LL_LENGTH_RSP. Core 6.0, Vol 6, Part B, 2.4.2.21.
package struct LengthParameters: Packet {
    /// 27...251 octets.
    package var maxRxOctets: UInt16 = 27
    /// In µs, 328...17040.
    package var maxRxTime: UInt16 = 328
    package var maxTxOctets: UInt16 = 27
    package var maxTxTime: UInt16 = 328

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("MaxRxOctets", &maxRxOctets)
        try coder.integer("MaxRxTime", &maxRxTime)
        try coder.integer("MaxTxOctets", &maxTxOctets)
        try coder.integer("MaxTxTime", &maxTxTime)
    }
}
