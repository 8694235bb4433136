import ByteCodec

/// Where and when a periodic advertising train is to be heard: `SyncInfo`.
///
/// Source: Core 6.0, Vol 6, Part B, 2.3.4.6.
package struct SyncInfo: Equatable, Sendable {
    /// From the start of the packet that holds this to the start of the next of the train: at least this, and by less
    /// than one unit more. Zero if the next one is too far away to be said.
    package var offset: Duration = .zero
    /// 30 or 300 µs.
    package var unit: Duration = .microseconds(30)
    /// In slots of 1.25 ms, 6 and more.
    package var interval: UInt16 = 6
    package var channels = UsedChannels.all
    /// Of the sleep clock, as a class: 2.3.3.1.
    package var clockAccuracyClass: UInt8 = 0
    package var accessAddress: UInt32 = 0
    package var crcInit: UInt32 = 0
    /// `paEventCounter` of that next packet.
    package var event: UInt16 = 0

    package init() {}

    /// 2.4576 s: what the highest offset cannot say is said by a bit.
    private static let adjustment = Duration.microseconds(2_457_600)

    /// The offset, as far as it can be said.
    package mutating func setOffset(_ offset: Duration) {
        unit = offset < .microseconds(245_700) ? .microseconds(30) : .microseconds(300)
        let rounded = unit * Int(offset / unit)
        self.offset = rounded < Self.adjustment * 2 ? rounded : .zero
    }

    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        let isLong = unit > .microseconds(30)
        let isAdjusted = offset >= Self.adjustment
        let rest = isAdjusted ? offset - Self.adjustment : offset
        var first =
            UInt16(Int(rest / unit) & 0x1FFF) | (isLong ? 1 << 13 : 0) | (isAdjusted ? 1 << 14 : 0)
        try coder.integer("SyncInfo: Offset Base, Units, Adjust", &first)
        try coder.integer("SyncInfo: Interval", &interval)
        var low = UInt32(truncatingIfNeeded: channels.bits)
        var high = UInt8(truncatingIfNeeded: channels.bits >> 32) | clockAccuracyClass << 5
        try coder.integer("SyncInfo: ChM", &low)
        try coder.integer("SyncInfo: ChM, SCA", &high)
        try coder.integer("SyncInfo: AA", &accessAddress)
        var crcLow = UInt16(truncatingIfNeeded: crcInit)
        var crcHigh = UInt8(truncatingIfNeeded: crcInit >> 16)
        try coder.integer("SyncInfo: CRCInit", &crcLow)
        try coder.integer("SyncInfo: CRCInit", &crcHigh)
        try coder.integer("SyncInfo: Event Counter", &event)
        unit = .microseconds(first & 1 << 13 == 0 ? 30 : 300)
        offset = unit * Int(first & 0x1FFF) + (first & 1 << 14 == 0 ? .zero : Self.adjustment)
        channels = UsedChannels(bits: UInt64(high & 0x1F) << 32 | UInt64(low))
        clockAccuracyClass = high >> 5
        crcInit = UInt32(crcHigh) << 16 | UInt32(crcLow)
    }

    /// Whether somebody can follow it.
    package var isUsable: Bool { offset > .zero && interval >= 6 && channels.count >= 2 }
}
