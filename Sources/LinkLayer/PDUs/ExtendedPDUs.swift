package import BluetoothTypes
package import ByteCodec

/// Where and when the rest of an advertisement is to be heard: `AuxPtr`.
///
/// Source: Core 6.0, Vol 6, Part B, 2.3.4.5.
package struct AuxiliaryPointer: Equatable, Sendable {
    /// 0...36.
    package var channel: UInt8 = 0
    /// From the start of the packet that holds this to the start of the one it points to: at least this, and by less
    /// than one unit more.
    package var offset: Duration = .zero
    /// 30 or 300 µs.
    package var unit: Duration = .microseconds(30)
    package var phy = RadioPHY.le1M

    package init() {}

    /// - Parameter offset: is rounded down to a unit, and less than 2.457 s.
    package init(channel: UInt8, offset: Duration, phy: RadioPHY) {
        self.channel = channel
        self.phy = phy
        unit = offset < .microseconds(30 * 8192) ? .microseconds(30) : .microseconds(300)
        self.offset = unit * Int(offset / unit)
    }

    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        let isLong = unit > .microseconds(30)
        var first = channel & 0x3F | (isLong ? 0x80 : 0)
        var rest = UInt16(Int(offset / unit) & 0x1FFF) | UInt16(phy.rawValue - 1) << 13
        try coder.integer("AuxPtr: Channel Index, CA, Offset Units", &first)
        try coder.integer("AuxPtr: AUX Offset, AUX PHY", &rest)
        guard let known = RadioPHY(rawValue: UInt8(rest >> 13) + 1), first & 0x3F <= 36 else {
            throw PacketError(.valueNotAllowed(Int(rest >> 13)), field: "AuxPtr")
        }
        channel = first & 0x3F
        phy = known
        unit = .microseconds(first & 0x80 == 0 ? 30 : 300)
        offset = unit * Int(rest & 0x1FFF)
    }
}

/// Which set an advertisement is from, and whether its data is new: `AdvDataInfo`.
///
/// Source: Core 6.0, Vol 6, Part B, 2.3.4.4.
package struct AdvertisingDataInfo: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// - Parameters:
    ///   - dataIdentifier: 12 bits.
    ///   - setIdentifier: 4 bits.
    package init(dataIdentifier: UInt16, setIdentifier: UInt8) {
        rawValue = dataIdentifier & 0x0FFF | UInt16(setIdentifier) << 12
    }

    package var setIdentifier: UInt8 { UInt8(rawValue >> 12) }
}

/// The payload of ADV_EXT_IND, AUX_ADV_IND, AUX_SYNC_IND, AUX_CHAIN_IND, AUX_SCAN_RSP and AUX_CONNECT_RSP: those of its
/// fields that are there.
///
/// Source: Core 6.0, Vol 6, Part B, 2.3.4.
package struct ExtendedPayload: Packet {
    package enum Mode: UInt8, Sendable {
        case nonconnectable = 0b00
        case connectable = 0b01
        case scannable = 0b10
    }

    package var mode = Mode.nonconnectable
    /// Their kinds travel in the header.
    package var advertiser: DeviceAddress?
    package var target: DeviceAddress?
    package var info: AdvertisingDataInfo?
    package var auxiliary: AuxiliaryPointer?
    package var sync: SyncInfo?
    /// In dBm.
    package var txPower: Int8?
    package var data: ArraySlice<UInt8> = []

    package init() {}

    /// How many octets of data fit behind these fields in a PDU of 255.
    package var room: Int { 255 - 1 - headerLength }

    private var flags: UInt8 {
        (advertiser == nil ? 0 : 1 << 0) | (target == nil ? 0 : 1 << 1) | (info == nil ? 0 : 1 << 3)
            | (auxiliary == nil ? 0 : 1 << 4) | (sync == nil ? 0 : 1 << 5) | (txPower == nil ? 0 : 1 << 6)
    }

    private var headerLength: Int { Self.length(flags) }

    /// The flags and the fields that they announce: AdvA, TargetA, CTEInfo, ADI, AuxPtr, SyncInfo, TxPower.
    private static func length(_ flags: UInt8) -> Int {
        let lengths = [6, 6, 1, 2, 3, 18, 1, 0]
        return flags == 0 ? 0 : 1 + (0..<8).reduce(0) { $0 + (flags >> UInt8($1) & 1 == 1 ? lengths[$1] : 0) }
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        var first = UInt8(headerLength) | mode.rawValue << 6
        try coder.integer("Extended Header Length, AdvMode", &first)
        guard let known = Mode(rawValue: first >> 6) else {
            throw PacketError(.valueNotAllowed(Int(first >> 6)), field: "AdvMode")
        }
        mode = known
        let length = Int(first & 0x3F)
        if length > 0 { try header(&coder, length: length) }
        try coder.remainder("AdvData", &data)
    }

    private mutating func header(_ coder: inout some FieldCoder, length: Int) throws(PacketError) {
        var flags = self.flags
        try coder.integer("Extended Header Flags", &flags)
        let known = max(1, Self.length(flags))
        guard known <= length else { throw PacketError(.truncated, field: "Extended Header") }
        if flags & 1 << 0 != 0 {
            try Self.visit(&advertiser, DeviceAddress(0)) { value throws(PacketError) in
                try coder.address("AdvA", &value)
            }
        }
        if flags & 1 << 1 != 0 {
            try Self.visit(&target, DeviceAddress(0)) { value throws(PacketError) in
                try coder.address("TargetA", &value)
            }
        }
        if flags & 1 << 2 != 0 { try Self.skip(1, &coder) }
        if flags & 1 << 3 != 0 {
            var raw = info?.rawValue ?? 0
            try coder.integer("ADI", &raw)
            info = AdvertisingDataInfo(rawValue: raw)
        }
        if flags & 1 << 4 != 0 {
            try Self.visit(&auxiliary, AuxiliaryPointer()) { value throws(PacketError) in try value.fields(&coder) }
        }
        if flags & 1 << 5 != 0 {
            try Self.visit(&sync, SyncInfo()) { value throws(PacketError) in try value.fields(&coder) }
        }
        if flags & 1 << 6 != 0 {
            try Self.visit(&txPower, 0) { value throws(PacketError) in try coder.integer("TxPower", &value) }
        }
        // ACAD, of which nothing is known here.
        try Self.skip(length - known, &coder)
    }

    private static func visit<Value>(
        _ value: inout Value?, _ blank: Value, _ body: (inout Value) throws(PacketError) -> Void
    ) throws(PacketError) {
        var visited = value ?? blank
        try body(&visited)
        value = visited
    }

    private static func skip(_ count: Int, _ coder: inout some FieldCoder) throws(PacketError) {
        guard count > 0 else { return }
        var octets: [UInt8] = []
        try coder.octets("ACAD, CTEInfo", &octets, count: count)
    }

    /// The PDU as a frame, with the kinds of its addresses in the header.
    ///
    /// - Parameter kind: ``AdvertisingHeader/Kind/extended``, or AUX_CONNECT_RSP's.
    func frame(
        _ kind: AdvertisingHeader.Kind = .extended, channel: UInt8, mode: RadioMode,
        accessAddress: UInt32 = advertisingAccessAddress
    ) -> RadioFrame {
        let octets = octets
        let header = AdvertisingHeader(
            kind, sender: advertiser?.kind ?? .public, target: target?.kind, payloadCount: octets.count)
        return RadioFrame(
            channel: channel, mode: mode, accessAddress: accessAddress, header: header.rawValue,
            payload: octets[...])
    }

    /// The payload of a frame, with the kinds of its addresses.
    init(_ frame: RadioFrame) throws(PacketError) {
        try self.init(octets: frame.payload)
        let header = AdvertisingHeader(rawValue: frame.header)
        advertiser?.kind = header.senderKind
        target?.kind = header.targetKind
    }
}
