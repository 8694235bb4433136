package import BluetoothTypes
import HCI

/// One packet of a device that advertises, together with the other one of its two packets if that is known.
package struct ScanReport: Equatable, Sendable {
    package var address: DeviceAddress
    package var advertisingData: [UInt8]
    package var scanResponseData: [UInt8]
    package var isConnectable: Bool
    /// dBm of the packet that led to the report; 127 means not available.
    package var rssi: Int8

    package init(
        address: DeviceAddress, advertisingData: [UInt8], scanResponseData: [UInt8], isConnectable: Bool, rssi: Int8
    ) {
        self.address = address
        self.advertisingData = advertisingData
        self.scanResponseData = scanResponseData
        self.isConnectable = isConnectable
        self.rssi = rssi
    }
}

/// Remembers of each device its last advertisement and its last scan response, and of no more devices than it may.
struct ScanMerger {
    private let capacity: Int
    private var reports: [DeviceAddress: ScanReport] = [:]
    /// The devices in the order in which they were first heard, as a ring once it is full.
    private var order: [DeviceAddress] = []
    private var oldest = 0

    init(capacity: Int) {
        precondition(capacity > 0, "A merger without memory merges nothing.")
        self.capacity = capacity
    }

    /// - Returns: `nil` for a scan response to an advertisement that was not heard, which says too little, and for
    ///   more data than a legacy advertisement has (Core 6.0, Vol 6, Part B, 2.3.1).
    mutating func take(_ packet: AdvertisingReport) -> ScanReport? {
        guard packet.data.count <= AdvertisingLayout.capacity else { return nil }
        if let known = reports.index(forKey: packet.address) {
            reports.values[known].update(packet)
            return reports.values[known]
        }
        guard packet.eventType != .scanResponse else { return nil }
        var report = ScanReport(
            address: packet.address, advertisingData: [], scanResponseData: [], isConnectable: false, rssi: 127)
        report.update(packet)
        remember(report)
        return report
    }

    mutating func removeAll() {
        reports.removeAll()
        order.removeAll()
        oldest = 0
    }

    private mutating func remember(_ report: ScanReport) {
        if order.count < capacity {
            order.append(report.address)
        } else {
            reports[order[oldest]] = nil
            order[oldest] = report.address
            oldest = (oldest + 1) % capacity
        }
        reports[report.address] = report
    }
}

extension ScanReport {
    /// The arrays are left alone if nothing in them changes, which is the rule: no allocation then.
    fileprivate mutating func update(_ packet: AdvertisingReport) {
        rssi = packet.rssi
        if packet.eventType == .scanResponse {
            if !scanResponseData.elementsEqual(packet.data) { scanResponseData = Array(packet.data) }
            return
        }
        isConnectable = packet.eventType.isConnectable
        if !packet.eventType.isScannable { scanResponseData = [] }
        if !advertisingData.elementsEqual(packet.data) { advertisingData = Array(packet.data) }
    }
}
