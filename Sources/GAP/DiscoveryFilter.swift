import BluetoothTypes

/// Keeps reports that say nothing new from one client.
///
/// A device passes when it is heard first, and again when one of its packets says something that none said before:
/// a name, a service, or a kind of data. New values in data of a kind already seen, such as a sensor's readings, are
/// nothing new; who wants those allows duplicates.
///
/// A scan that starts anew starts with a new filter.
package struct DiscoveryFilter: Sendable {
    /// Structures remembered of one device. A device that shows more is reported no more.
    static let structuresPerDevice = 64

    private let capacity: Int
    private var devices: [DeviceAddress: Set<UInt64>] = [:]
    /// The devices in the order in which they were first heard, as a ring once it is full.
    private var order: [DeviceAddress] = []
    private var oldest = 0

    /// - Parameter capacity: how many devices are remembered; the oldest goes first, and passes again when heard.
    package init(capacity: Int = 1024) {
        precondition(capacity > 0, "A filter without memory filters nothing.")
        self.capacity = capacity
    }

    /// Whether the client is to be told.
    package mutating func passes(_ report: ScanReport) -> Bool {
        guard let index = devices.index(forKey: report.address) else {
            remember(report.address, structures(of: report))
            return true
        }
        var passes = false
        for data in [report.advertisingData, report.scanResponseData] {
            for (type, content) in AdvertisingDataStructures(data[...]) {
                let key = identity(of: type, content)
                guard !devices.values[index].contains(key),
                    devices.values[index].count < Self.structuresPerDevice
                else { continue }
                devices.values[index].insert(key)
                passes = true
            }
        }
        return passes
    }

    private func structures(of report: ScanReport) -> Set<UInt64> {
        var result: Set<UInt64> = []
        for data in [report.advertisingData, report.scanResponseData] {
            for (type, content) in AdvertisingDataStructures(data[...]) { result.insert(identity(of: type, content)) }
        }
        return result
    }

    private mutating func remember(_ address: DeviceAddress, _ structures: Set<UInt64>) {
        if order.count < capacity {
            order.append(address)
        } else {
            devices[order[oldest]] = nil
            order[oldest] = address
            oldest = (oldest + 1) % capacity
        }
        devices[address] = structures
    }
}

/// What makes a structure the same as another: its type, and for names and lists of services its content.
private func identity(of type: AdvertisingDataType, _ content: ArraySlice<UInt8>) -> UInt64 {
    // FNV-1a (Fowler, Noll, Vo), which unlike Swift's own hash is the same in every run.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func mix(_ octet: UInt8) { hash = (hash ^ UInt64(octet)) &* 0x100_0000_01B3 }
    mix(type.rawValue)
    switch type {
    case .incompleteServices16, .completeServices16, .incompleteServices32, .completeServices32,
        .incompleteServices128, .completeServices128, .solicitedServices16, .solicitedServices32,
        .solicitedServices128, .shortenedLocalName, .completeLocalName:
        for octet in content { mix(octet) }
    case .serviceData16: for octet in content.prefix(2) { mix(octet) }
    case .serviceData32: for octet in content.prefix(4) { mix(octet) }
    case .serviceData128: for octet in content.prefix(16) { mix(octet) }
    default: break
    }
    return hash
}
