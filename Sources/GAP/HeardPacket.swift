import BluetoothTypes
import HCI

/// An advertisement or a scan response that was heard whole, in whichever kind of report.
struct HeardPacket {
    var address: DeviceAddress
    /// Which of the device's advertisements it is of: Advertising_SID, or 0xFF for a legacy one.
    var identifier: UInt8 = 0xFF
    /// A slice of the packet that it came in, where that held all of it.
    var data: ArraySlice<UInt8>
    /// In dBm.
    var rssi: Int8
    var isScanResponse: Bool
    var isConnectable: Bool
    var isScannable: Bool
    /// The PHY on which the device announces itself.
    var primaryPHY = PHY.le1M

    /// `nil` for more data than a legacy advertisement has (Core 6.0, Vol 6, Part B, 2.3.1).
    init?(_ report: AdvertisingReport) {
        guard report.data.count <= AdvertisingLayout.capacity else { return nil }
        address = report.address
        data = report.data
        rssi = report.rssi
        isScanResponse = report.eventType == .scanResponse
        isConnectable = report.eventType.isConnectable
        isScannable = report.eventType.isScannable
    }

    init(_ report: ExtendedAdvertisingReport, from address: DeviceAddress) {
        self.address = address
        if !report.eventType.contains(.legacy) { identifier = report.identifier }
        data = report.data
        rssi = report.rssi
        isScanResponse = report.eventType.contains(.scanResponse)
        isConnectable = report.eventType.contains(.connectable)
        isScannable = report.eventType.contains(.scannable)
        primaryPHY = report.primaryPHY
    }
}

/// Puts the parts of extended advertisements together.
///
/// The parts of one come in order, from the same device, under the same Advertising_SID. What comes incomplete, longer
/// than any advertisement, or without a sender is dropped; of several that are under way, so many are remembered.
///
/// Source: Core 6.0, Vol 4, Part E, 7.7.65.13.
struct ReportAssembler {
    /// The most octets that an advertisement has: 7.8.57.
    static let longest = 1650
    static let mostUnderWay = 16

    private struct Part {
        var address: DeviceAddress
        var identifier: UInt8
        var isScanResponse: Bool
        var data: [UInt8]
        /// Whether it is too long, so that its rest is to be dropped too.
        var isSpoilt = false

        func isOf(_ packet: HeardPacket) -> Bool {
            address == packet.address && identifier == packet.identifier && isScanResponse == packet.isScanResponse
        }
    }

    private var parts: [Part] = []

    /// - Returns: `nil` for all but the last part.
    mutating func take(_ report: ExtendedAdvertisingReport) -> HeardPacket? {
        guard let address = report.address else { return nil }
        var packet = HeardPacket(report, from: address)
        let isWhole = report.eventType.isDisjoint(with: [.incomplete, .truncated])
        if report.eventType.contains(.legacy) {
            return isWhole && packet.data.count <= AdvertisingLayout.capacity ? packet : nil
        }
        let index = parts.firstIndex { $0.isOf(packet) }
        guard isWhole else {
            let goesOn = !report.eventType.contains(.truncated)
            if goesOn { remember(packet, at: index) } else if let index { parts.remove(at: index) }
            return nil
        }
        guard let index else { return packet }
        let before = parts.remove(at: index)
        guard !before.isSpoilt, before.data.count + packet.data.count <= Self.longest else { return nil }
        packet.data = (before.data + packet.data)[...]
        return packet
    }

    mutating func removeAll() { parts.removeAll() }

    private mutating func remember(_ packet: HeardPacket, at index: Int?) {
        guard let index else {
            if parts.count == Self.mostUnderWay { parts.removeFirst() }
            parts.append(
                Part(
                    address: packet.address, identifier: packet.identifier, isScanResponse: packet.isScanResponse,
                    data: Array(packet.data)))
            return
        }
        guard !parts[index].isSpoilt, parts[index].data.count + packet.data.count <= Self.longest else {
            parts[index].data = []
            parts[index].isSpoilt = true
            return
        }
        parts[index].data += packet.data
    }
}
