package import BluetoothTypes
package import HCI

/// One packet of a device that advertises, together with the other one of its two packets if that is known.
package struct ScanReport: Equatable, Sendable {
    package var address: DeviceAddress
    package var advertisingData: [UInt8]
    package var scanResponseData: [UInt8]
    package var isConnectable: Bool
    /// dBm of the packet that led to the report; 127 means not available.
    package var rssi: Int8
    /// The PHY on which the device announces itself.
    package var primaryPHY: PHY

    package init(
        address: DeviceAddress, advertisingData: [UInt8], scanResponseData: [UInt8], isConnectable: Bool, rssi: Int8,
        primaryPHY: PHY = .le1M
    ) {
        self.address = address
        self.advertisingData = advertisingData
        self.scanResponseData = scanResponseData
        self.isConnectable = isConnectable
        self.rssi = rssi
        self.primaryPHY = primaryPHY
    }
}

/// Remembers the last advertisement and the last scan response of each device, or of each advertisement of a device
/// that has several; and of no more than it may.
struct ScanMerger {
    private struct Source: Hashable {
        var address: DeviceAddress
        var identifier: UInt8
    }

    private let capacity: Int
    private var reports: [Source: ScanReport] = [:]
    /// The sources in the order in which they were first heard, as a ring once it is full.
    private var order: [Source] = []
    private var oldest = 0

    init(capacity: Int) {
        precondition(capacity > 0, "A merger without memory merges nothing.")
        self.capacity = capacity
    }

    /// - Returns: `nil` for a scan response to an advertisement that was not heard, which says too little.
    mutating func take(_ packet: HeardPacket) -> ScanReport? {
        let source = Source(address: packet.address, identifier: packet.identifier)
        if let known = reports.index(forKey: source) {
            reports.values[known].update(packet)
            return reports.values[known]
        }
        guard !packet.isScanResponse else { return nil }
        var report = ScanReport(
            address: packet.address, advertisingData: [], scanResponseData: [], isConnectable: false, rssi: 127,
            primaryPHY: packet.primaryPHY)
        report.update(packet)
        remember(source, report)
        return report
    }

    mutating func removeAll() {
        reports.removeAll()
        order.removeAll()
        oldest = 0
    }

    private mutating func remember(_ source: Source, _ report: ScanReport) {
        if order.count < capacity {
            order.append(source)
        } else {
            reports[order[oldest]] = nil
            order[oldest] = source
            oldest = (oldest + 1) % capacity
        }
        reports[source] = report
    }
}

extension ScanReport {
    /// The arrays are left alone if nothing in them changes, which is the rule: no allocation then.
    fileprivate mutating func update(_ packet: HeardPacket) {
        rssi = packet.rssi
        if packet.isScanResponse {
            if !isSame(scanResponseData, packet.data) { scanResponseData = Array(packet.data) }
            return
        }
        isConnectable = packet.isConnectable
        if !packet.isScannable { scanResponseData = [] }
        if !isSame(advertisingData, packet.data) { advertisingData = Array(packet.data) }
    }
}

/// Without the iterators of `elementsEqual`: it is asked of each packet that is heard.
private func isSame(_ known: [UInt8], _ heard: ArraySlice<UInt8>) -> Bool {
    guard known.count == heard.count else { return false }
    let (left, right) = (known.span, heard.span)
    for index in left.indices where left[index] != right[index] { return false }
    return true
}
