package import BluetoothTypes
package import ByteCodec

/// What a scanner has heard: one advertisement or scan response.
///
/// Source: Core 6.0, Vol 4, Part E, 7.7.65.2.
package struct AdvertisingReport: Packet {
    package struct EventType: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// ADV_IND.
        package static let connectable = EventType(rawValue: 0x00)
        /// ADV_DIRECT_IND.
        package static let directed = EventType(rawValue: 0x01)
        /// ADV_SCAN_IND.
        package static let scannable = EventType(rawValue: 0x02)
        /// ADV_NONCONN_IND.
        package static let nonconnectable = EventType(rawValue: 0x03)
        /// SCAN_RSP.
        package static let scanResponse = EventType(rawValue: 0x04)

        package var isConnectable: Bool { self == .connectable || self == .directed }
        package var isScannable: Bool { self == .connectable || self == .scannable }
    }

    package var eventType = EventType.connectable
    package var address = DeviceAddress(0)
    /// Whether the controller found `address` behind a private one.
    package var isIdentity = false
    /// A slice of the packet that it came in.
    package var data: ArraySlice<UInt8> = []
    /// dBm, -127...20; 127 means not available.
    package var rssi: Int8 = 127

    package init() {}

    package init(
        eventType: EventType, address: DeviceAddress, isIdentity: Bool = false, data: ArraySlice<UInt8>, rssi: Int8
    ) {
        self.eventType = eventType
        self.address = address
        self.isIdentity = isIdentity
        self.data = data
        self.rssi = rssi
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Event_Type", &eventType)
        try coder.typedAddress("Address_Type", "Address", &address, isIdentity: &isIdentity)
        var count = UInt8(truncatingIfNeeded: data.count)
        try coder.integer("Data_Length", &count)
        try coder.octets("Data", &data, count: Int(count))
        try coder.integer("RSSI", &rssi)
    }
}

/// LE Advertising Report, as a controller sends it. A host reads it through ``AdvertisingReports``.
package struct LEAdvertisingReport: LEEvent {
    package static let subevent = LESubeventCode.advertisingReport

    package var reports: [AdvertisingReport] = []

    package init() {}
    package init(reports: [AdvertisingReport]) { self.reports = reports }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        let blank = AdvertisingReport()
        try coder.countedList("Num_Reports", &reports, blank: blank) { coder, report throws(PacketError) in
            try report.fields(&coder)
        }
    }
}

/// LE Directed Advertising Report: directed advertising to a private address that the controller cannot resolve, for a
/// scanner that has asked for it. 7.7.65.11.
package struct LEDirectedAdvertisingReport: LEEvent {
    package static let subevent = LESubeventCode.directedAdvertisingReport

    package struct Entry: Packet {
        package var eventType = AdvertisingReport.EventType.directed
        package var address = DeviceAddress(0)
        package var isIdentity = false
        package var target = DeviceAddress(0, kind: .random)
        /// dBm, -127...20; 127 means not available.
        package var rssi: Int8 = 127

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Event_Type", &eventType)
            try coder.typedAddress("Address_Type", "Address", &address, isIdentity: &isIdentity)
            try coder.typedAddress("Direct_Address_Type", "Direct_Address", &target)
            try coder.integer("RSSI", &rssi)
        }
    }

    package var reports: [Entry] = []

    package init() {}
    package init(reports: [Entry]) { self.reports = reports }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.countedList("Num_Reports", &reports, blank: Entry()) { coder, report throws(PacketError) in
            try report.fields(&coder)
        }
    }
}

/// The reports of an LE Advertising Report event, one by one, without an allocation.
///
/// It ends at the first report that the octets do not hold in full: those before it count.
package struct AdvertisingReports: Sequence, IteratorProtocol, Equatable, Sendable {
    private var rest: ArraySlice<UInt8>
    private var count: UInt8

    /// - Parameter parameters: what stands behind the subevent code.
    package init(parameters: ArraySlice<UInt8>) {
        count = parameters.first ?? 0
        rest = parameters.dropFirst()
    }

    package mutating func next() -> AdvertisingReport? {
        guard count > 0 else { return nil }
        count -= 1
        var reader = FieldReader(rest)
        var report = AdvertisingReport()
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
