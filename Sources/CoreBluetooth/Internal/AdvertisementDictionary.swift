import BluetoothTypes
package import HostInterface

/// What `didDiscover` hands out: the advertisement and its scan response, read together, under Apple's keys.
package func advertisementDictionary(_ discovery: Discovery) -> [String: Any] {
    let data = AdvertisingData(advertisement: discovery.advertisingData, scanResponse: discovery.scanResponseData)
    var dictionary: [String: Any] = [
        CBAdvertisementDataIsConnectable: NSNumber(value: discovery.isConnectable)
    ]
    dictionary[CBAdvertisementDataLocalNameKey] = data.localName
    dictionary[CBAdvertisementDataTxPowerLevelKey] = data.txPowerLevel.map { NSNumber(value: $0) }
    dictionary[CBAdvertisementDataServiceUUIDsKey] = list(data.services)
    dictionary[CBAdvertisementDataOverflowServiceUUIDsKey] = list(discovery.overflowServices)
    dictionary[CBAdvertisementDataSolicitedServiceUUIDsKey] = list(data.solicitedServices)
    if !data.serviceData.isEmpty {
        let pairs = data.serviceData.map { (CBUUID($0.service), Data($0.data)) }
        dictionary[CBAdvertisementDataServiceDataKey] = Dictionary(pairs) { _, last in last }
    }
    // One blob only, the company identifier in front.
    dictionary[CBAdvertisementDataManufacturerDataKey] = data.manufacturerData.first.map { Data($0.octets) }
    return dictionary
}

/// Each UUID once; `nil` for none.
private func list(_ uuids: [BluetoothUUID]) -> [CBUUID]? {
    var list: [CBUUID] = []
    for uuid in uuids.map(CBUUID.init) where !list.contains(uuid) { list.append(uuid) }
    return list.isEmpty ? nil : list
}
