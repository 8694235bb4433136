import BluetoothTypes
package import HostInterface

/// What `didDiscover` hands out: the AD structures of an advertisement and of its scan response under Apple's keys.
///
/// Structures that are cut short end the walk; those with a length that their kind forbids are left out.
///
/// Source: Core 6.0, Vol 3, Part C, 11; Supplement to the Core Specification, Part A, 1.
package func advertisementDictionary(_ discovery: Discovery) -> [String: Any] {
    var reading = AdvertisementReading()
    reading.read(discovery.advertisingData[...])
    reading.read(discovery.scanResponseData[...])
    var dictionary: [String: Any] = [
        CBAdvertisementDataIsConnectable: NSNumber(value: discovery.isConnectable)
    ]
    if let name = reading.completeName ?? reading.shortenedName {
        dictionary[CBAdvertisementDataLocalNameKey] = name
    }
    if let power = reading.txPower { dictionary[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: power) }
    if !reading.services.isEmpty { dictionary[CBAdvertisementDataServiceUUIDsKey] = reading.services }
    if !reading.solicited.isEmpty { dictionary[CBAdvertisementDataSolicitedServiceUUIDsKey] = reading.solicited }
    if !reading.serviceData.isEmpty { dictionary[CBAdvertisementDataServiceDataKey] = reading.serviceData }
    if let data = reading.manufacturerData { dictionary[CBAdvertisementDataManufacturerDataKey] = data }
    return dictionary
}

private struct AdvertisementReading {
    var completeName: String?
    var shortenedName: String?
    var txPower: Int8?
    var services: [CBUUID] = []
    var solicited: [CBUUID] = []
    var serviceData: [CBUUID: Data] = [:]
    var manufacturerData: Data?

    mutating func read(_ data: ArraySlice<UInt8>) {
        var rest = data
        while let length = rest.popFirst(), length > 0, rest.count >= Int(length) {
            let structure = rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
            take(type: structure[structure.startIndex], structure.dropFirst())
        }
    }

    /// By type: Bluetooth Assigned Numbers, 2.3.
    private mutating func take(type: UInt8, _ content: ArraySlice<UInt8>) {
        switch type {
        case 0x02, 0x03: append(content, width: 2, to: \.services)
        case 0x04, 0x05: append(content, width: 4, to: \.services)
        case 0x06, 0x07: append(content, width: 16, to: \.services)
        case 0x08: shortenedName = shortenedName ?? text(content)
        case 0x09: completeName = completeName ?? text(content)
        case 0x0A where content.count == 1: txPower = txPower ?? content.first.map { Int8(bitPattern: $0) }
        case 0x14: append(content, width: 2, to: \.solicited)
        case 0x1F: append(content, width: 4, to: \.solicited)
        case 0x15: append(content, width: 16, to: \.solicited)
        case 0x16: takeServiceData(content, width: 2)
        case 0x20: takeServiceData(content, width: 4)
        case 0x21: takeServiceData(content, width: 16)
        case 0xFF where content.count >= 2: manufacturerData = manufacturerData ?? Data(content)
        default: break
        }
    }

    private mutating func append(_ content: ArraySlice<UInt8>, width: Int, to list: WritableKeyPath<Self, [CBUUID]>) {
        guard content.count.isMultiple(of: width) else { return }
        for start in stride(from: content.startIndex, to: content.endIndex, by: width) {
            guard let uuid = BluetoothUUID(octets: content[start..<start + width]).map(CBUUID.init) else { return }
            if !self[keyPath: list].contains(uuid) { self[keyPath: list].append(uuid) }
        }
    }

    private mutating func takeServiceData(_ content: ArraySlice<UInt8>, width: Int) {
        guard content.count >= width, let uuid = BluetoothUUID(octets: content.prefix(width)) else { return }
        serviceData[CBUUID(uuid)] = Data(content.dropFirst(width))
    }

    private func text(_ content: ArraySlice<UInt8>) -> String { String(decoding: content, as: UTF8.self) }
}
