package import BluetoothTypes
package import ByteCodec

// What comes of advertising sets and extended scanning: Core 6.0, Vol 4, Part E, 7.7.65.13, 7.7.65.17 to 7.7.65.19.

/// What an extended scanner has heard: an advertisement, or a part of one. 7.7.65.13.
package struct ExtendedAdvertisingReport: Packet {
    package struct EventType: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let connectable = EventType(rawValue: 1 << 0)
        package static let scannable = EventType(rawValue: 1 << 1)
        package static let directed = EventType(rawValue: 1 << 2)
        package static let scanResponse = EventType(rawValue: 1 << 3)
        package static let legacy = EventType(rawValue: 1 << 4)
        /// More of the data follows in another report.
        package static let incomplete = EventType(rawValue: 0b01 << 5)
        /// The rest of the data was not received.
        package static let truncated = EventType(rawValue: 0b10 << 5)
    }

    package var eventType: EventType = []
    /// `nil` for an anonymous advertisement.
    package var address: DeviceAddress? = DeviceAddress(0)
    /// Whether the controller found `address` behind a private one.
    package var isIdentity = false
    package var primaryPHY = PHY.le1M
    /// 0 for an advertisement without auxiliary packets.
    package var secondaryPHY = PHY(rawValue: 0)
    /// Advertising_SID; 0xFF if there is none.
    package var identifier: UInt8 = 0xFF
    /// In dBm; 127 means not available.
    package var txPower: Int8 = 127
    /// dBm, -127...20; 127 means not available.
    package var rssi: Int8 = 127
    /// Of periodic advertising, in units of 1.25 ms; 0 if there is none.
    package var periodicInterval: UInt16 = 0
    /// Whom directed advertising is for, if it is not this device's identity.
    package var target = DeviceAddress(0)
    /// At most 229 octets; a slice of the packet that it came in.
    package var data: ArraySlice<UInt8> = []

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Event_Type", &eventType)
        try coder.advertiser(&address, isIdentity: &isIdentity)
        try coder.choice("Primary_PHY", &primaryPHY)
        try coder.choice("Secondary_PHY", &secondaryPHY)
        try coder.integer("Advertising_SID", &identifier)
        try coder.integer("TX_Power", &txPower)
        try coder.integer("RSSI", &rssi)
        try coder.integer("Periodic_Advertising_Interval", &periodicInterval)
        // A target that the controller cannot resolve has a type of its own, 0xFE.
        var targetKind = target.kind.rawValue
        try coder.integer("Direct_Address_Type", &targetKind)
        target.kind = targetKind & 1 == 1 || targetKind == 0xFE ? .random : .public
        try coder.address("Direct_Address", &target)
        var count = UInt8(truncatingIfNeeded: data.count)
        try coder.integer("Data_Length", &count)
        try coder.octets("Data", &data, count: Int(count))
    }
}

extension FieldCoder {
    /// An address and its kind, with the kind 0xFF for nobody's.
    fileprivate mutating func advertiser(
        _ value: inout DeviceAddress?, isIdentity: inout Bool
    ) throws(PacketError) {
        var kind = value.map { $0.kind.rawValue | (isIdentity ? 0x02 : 0) } ?? 0xFF
        try integer("Address_Type", &kind)
        guard kind <= 0x03 || kind == 0xFF else {
            throw PacketError(.valueNotAllowed(Int(kind)), field: "Address_Type")
        }
        var known = DeviceAddress(value?.value ?? 0, kind: kind & 0x01 == 1 ? .random : .public)
        try address("Address", &known)
        isIdentity = kind == 0x02 || kind == 0x03
        value = kind == 0xFF ? nil : known
    }
}

/// LE Extended Advertising Report. 7.7.65.13.
package struct LEExtendedAdvertisingReport: LEEvent {
    package static let subevent = LESubeventCode.extendedAdvertisingReport

    package var reports: [ExtendedAdvertisingReport] = []

    package init() {}
    package init(reports: [ExtendedAdvertisingReport]) { self.reports = reports }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        let blank = ExtendedAdvertisingReport()
        try coder.countedList("Num_Reports", &reports, blank: blank) { coder, report throws(PacketError) in
            try report.fields(&coder)
        }
    }
}

/// The reports of an LE Extended Advertising Report event, one by one, without an allocation.
///
/// It ends at the first report that the octets do not hold in full: those before it count.
package struct ExtendedAdvertisingReports: Sequence, IteratorProtocol, Equatable, Sendable {
    private var rest: ArraySlice<UInt8>
    private var count: UInt8

    /// - Parameter parameters: what stands behind the subevent code.
    package init(parameters: ArraySlice<UInt8>) {
        count = parameters.first ?? 0
        rest = parameters.dropFirst()
    }

    package mutating func next() -> ExtendedAdvertisingReport? {
        guard count > 0 else { return nil }
        count -= 1
        var reader = FieldReader(rest)
        var report = ExtendedAdvertisingReport()
        do throws(PacketError) {
            try report.fields(&reader)
        } catch {
            count = 0
            return nil
        }
        rest = rest.suffix(reader.remaining)
        return report
    }
}

/// LE Scan Timeout: the duration that the host gave is over. 7.7.65.17.
package struct LEScanTimeout: LEEvent {
    package static let subevent = LESubeventCode.scanTimeout
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// LE Advertising Set Terminated. 7.7.65.18.
package struct LEAdvertisingSetTerminated: LEEvent {
    package static let subevent = LESubeventCode.advertisingSetTerminated

    /// Success: with a connection. Advertising timeout: at the end of the duration. Limit reached: of the events.
    package var status = HCIErrorCode.success
    package var set: UInt8 = 0
    package var handle: UInt16 = 0
    package var completedEvents: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.integer("Advertising_Handle", &set)
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Num_Completed_Extended_Advertising_Events", &completedEvents)
    }
}

/// LE Scan Request Received. 7.7.65.19.
package struct LEScanRequestReceived: LEEvent {
    package static let subevent = LESubeventCode.scanRequestReceived

    package var set: UInt8 = 0
    package var scanner = DeviceAddress(0)
    package var isIdentity = false

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Advertising_Handle", &set)
        try coder.typedAddress("Scanner_Address_Type", "Scanner_Address", &scanner, isIdentity: &isIdentity)
    }
}
