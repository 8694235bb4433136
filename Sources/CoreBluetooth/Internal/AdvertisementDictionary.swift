import BluetoothTypes
package import HostInterface

/// What `didDiscover` hands out: the advertisement and its scan response, read together, under Apple's keys.
package func advertisementDictionary(_ discovery: Discovery) -> [String: Any] {
    let data = AdvertisingData(advertisement: discovery.advertisingData, scanResponse: discovery.scanResponseData)
    // Room for what most say, for to make room later costs more than the rest.
    var dictionary = [String: Any](minimumCapacity: 6)
    dictionary[CBAdvertisementDataIsConnectable] = discovery.isConnectable ? yes : no
    if let name = data.localName { dictionary[CBAdvertisementDataLocalNameKey] = name }
    if let level = data.txPowerLevel { dictionary[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: level) }
    for (key, uuids) in [
        (CBAdvertisementDataServiceUUIDsKey, data.services),
        (CBAdvertisementDataOverflowServiceUUIDsKey, discovery.overflowServices),
        (CBAdvertisementDataSolicitedServiceUUIDsKey, data.solicitedServices),
    ] where !uuids.isEmpty {
        dictionary[key] = list(uuids)
    }
    if !data.serviceData.isEmpty {
        let pairs = data.serviceData.map { (CBUUID($0.service), Data($0.data)) }
        dictionary[CBAdvertisementDataServiceDataKey] = Dictionary(pairs) { _, last in last }
    }
    // One blob only, the company identifier in front.
    if let first = data.manufacturerData.first {
        dictionary[CBAdvertisementDataManufacturerDataKey] = Data(first.octets)
    }
    return dictionary
}

private let yes = NSNumber(value: true)
private let no = NSNumber(value: false)

/// Each UUID once.
private func list(_ uuids: [BluetoothUUID]) -> [CBUUID] {
    var list: [CBUUID] = []
    for uuid in uuids.map(CBUUID.init) where !list.contains(uuid) { list.append(uuid) }
    return list
}
