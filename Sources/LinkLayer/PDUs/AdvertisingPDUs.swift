package import BluetoothTypes
package import ByteCodec

/// The header of a PDU on an advertising channel.
///
/// Source: Core 6.0, Vol 6, Part B, 2.3.
package struct AdvertisingHeader: RawRepresentable, Hashable, Sendable {
    /// Which PDU: the header's low 4 bits.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// ADV_IND: connectable and scannable.
        package static let connectable = Kind(rawValue: 0b0000)
        /// ADV_DIRECT_IND: connectable for one peer.
        package static let directed = Kind(rawValue: 0b0001)
        /// ADV_NONCONN_IND.
        package static let nonconnectable = Kind(rawValue: 0b0010)
        /// SCAN_REQ.
        package static let scanRequest = Kind(rawValue: 0b0011)
        /// SCAN_RSP.
        package static let scanResponse = Kind(rawValue: 0b0100)
        /// CONNECT_IND.
        package static let connect = Kind(rawValue: 0b0101)
        /// ADV_SCAN_IND: scannable.
        package static let scannable = Kind(rawValue: 0b0110)
        /// ADV_EXT_IND, AUX_ADV_IND, AUX_CHAIN_IND and AUX_SCAN_RSP.
        package static let extended = Kind(rawValue: 0b0111)
        /// AUX_CONNECT_RSP.
        package static let connectResponse = Kind(rawValue: 0b1000)
    }

    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// - Parameters:
    ///   - selectsAlgorithm2: ChSel, whether the sender knows Channel Selection Algorithm #2.
    ///   - sender: the kind of the first address in the payload, TxAdd.
    ///   - target: the kind of the second one, RxAdd.
    package init(
        _ kind: Kind, selectsAlgorithm2: Bool = false, sender: DeviceAddress.Kind, target: DeviceAddress.Kind? = nil,
        payloadCount: Int
    ) {
        precondition(payloadCount <= 255, "An advertising PDU holds at most 255 octets.")
        rawValue =
            UInt16(kind.rawValue) | (selectsAlgorithm2 ? 1 << 5 : 0) | UInt16(sender.rawValue) << 6
            | UInt16(target?.rawValue ?? 0) << 7 | UInt16(payloadCount) << 8
    }

    package var kind: Kind { Kind(rawValue: UInt8(rawValue & 0b1111)) }
    package var selectsAlgorithm2: Bool { rawValue >> 5 & 1 == 1 }
    package var senderKind: DeviceAddress.Kind { rawValue >> 6 & 1 == 1 ? .random : .public }
    package var targetKind: DeviceAddress.Kind { rawValue >> 7 & 1 == 1 ? .random : .public }
}

/// What an advertiser says to all: the payload of ADV_IND, ADV_NONCONN_IND, ADV_SCAN_IND and SCAN_RSP.
///
/// Source: Core 6.0, Vol 6, Part B, 2.3.1.1, 2.3.1.3, 2.3.1.4, 2.3.2.2.
package struct Advertisement: Packet {
    /// `AdvA`; its kind travels in the header.
    package var advertiser = DeviceAddress(0)
    /// `AdvData` or `ScanRspData`: at most 31 octets.
    package var data: ArraySlice<UInt8> = []

    package init() {}

    package init(advertiser: DeviceAddress, data: ArraySlice<UInt8>) {
        self.advertiser = advertiser
        self.data = data
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.address("AdvA", &advertiser)
        try coder.remainder("AdvData", &data)
        guard data.count <= 31 else { throw PacketError(.trailing(octets: data.count - 31), field: "AdvData") }
    }
}

/// One device speaks to one other: the payload of ADV_DIRECT_IND and of SCAN_REQ.
///
/// Source: Core 6.0, Vol 6, Part B, 2.3.1.2, 2.3.2.1.
package struct AddressPair: Packet {
    /// `AdvA` of ADV_DIRECT_IND, `ScanA` of SCAN_REQ.
    package var sender = DeviceAddress(0)
    /// `TargetA` of ADV_DIRECT_IND, `AdvA` of SCAN_REQ.
    package var target = DeviceAddress(0)

    package init() {}

    package init(sender: DeviceAddress, target: DeviceAddress) {
        self.sender = sender
        self.target = target
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.address("Sender", &sender)
        try coder.address("Target", &target)
    }
}

/// CONNECT_IND: the initiator's offer, which the advertiser takes by listening.
///
/// Source: Core 6.0, Vol 6, Part B, 2.3.3.1.
package struct ConnectIndication: Packet {
    package var initiator = DeviceAddress(0)
    package var advertiser = DeviceAddress(0)
    package var accessAddress: UInt32 = 0
    /// The CRC's initial value, 24 bits.
    package var crcInit: UInt32 = 0
    /// In slots of 1.25 ms.
    package var windowSize: UInt8 = 1
    /// In slots of 1.25 ms.
    package var windowOffset: UInt16 = 0
    package var timing = ConnectionTiming()
    package var channels = UsedChannels.all
    /// 5...16.
    package var hopIncrement: UInt8 = 5
    /// The initiator's sleep clock accuracy, as a class from 0 (500 ppm) to 7 (20 ppm).
    package var sleepClockAccuracy: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.address("InitA", &initiator)
        try coder.address("AdvA", &advertiser)
        try coder.integer("AA", &accessAddress)
        var low = UInt16(truncatingIfNeeded: crcInit)
        var high = UInt8(truncatingIfNeeded: crcInit >> 16)
        try coder.integer("CRCInit", &low)
        try coder.integer("CRCInit", &high)
        crcInit = UInt32(high) << 16 | UInt32(low)
        try coder.integer("WinSize", &windowSize)
        try coder.integer("WinOffset", &windowOffset)
        try timing.fields(&coder)
        try coder.usedChannels("ChM", &channels)
        var packed = hopIncrement | sleepClockAccuracy << 5
        try coder.integer("Hop, SCA", &packed)
        hopIncrement = packed & 0x1F
        sleepClockAccuracy = packed >> 5
    }

    /// Whether a connection can live on these values. Vol 6, Part B, 2.3.3.1 and 4.5.
    package var isAcceptable: Bool {
        timing.isValid && channels.count >= 2 && (5...16).contains(hopIncrement) && windowSize >= 1
            && windowOffset <= timing.interval
    }
}

/// How often two devices meet, how often one may stay away, and when the other is given up.
package struct ConnectionTiming: Hashable, Sendable {
    /// In slots of 1.25 ms, 6...3200.
    package var interval: UInt16
    /// How many events in a row the peripheral may skip, 0...499.
    package var latency: UInt16
    /// In units of 10 ms, 10...3200.
    package var timeout: UInt16

    package init(interval: UInt16 = 24, latency: UInt16 = 0, timeout: UInt16 = 72) {
        self.interval = interval
        self.latency = latency
        self.timeout = timeout
    }

    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Interval", &interval)
        try coder.integer("Latency", &latency)
        try coder.integer("Timeout", &timeout)
    }

    /// In range, and the timeout longer than (1 + latency) × interval × 2. Core 6.0, Vol 6, Part B, 4.5.1, 4.5.2.
    package var isValid: Bool {
        (6...3200).contains(interval) && latency <= 499 && (10...3200).contains(timeout)
            && Int(timeout) * 10_000 > (1 + Int(latency)) * Int(interval) * 1250 * 2
    }

    package var intervalDuration: Duration { AirTiming.slot * Int(interval) }
    package var timeoutDuration: Duration { .milliseconds(10 * Int(timeout)) }
}
