public import CoreBluetooth

/// What a scan saw of a device: one report, its advertisement and scan response read together.
// `@unchecked`: all of it is constant, and the classes among it do not change.
public struct Advertisement: @unchecked Sendable {
    public var peripheral: RemotePeripheral
    /// The name in the advertisement.
    public var localName: String?
    /// In dBm; `nil` is not available.
    public var rssi: Int?
    public var isConnectable: Bool
    public var services: [CBUUID]
    public var solicitedServices: [CBUUID]
    /// With the company's number, least significant octet first.
    public var manufacturerData: Data?
    public var serviceData: [CBUUID: Data]
    /// In dBm, as the device states it.
    public var transmitPower: Int?

    init(of peripheral: RemotePeripheral, _ data: [String: Any], rssi: NSNumber) {
        self.peripheral = peripheral
        localName = data[CBAdvertisementDataLocalNameKey] as? String
        // 127 stands for "not available".
        self.rssi = rssi.intValue == 127 ? nil : rssi.intValue
        isConnectable = (data[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue ?? false
        services = data[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
        solicitedServices = data[CBAdvertisementDataSolicitedServiceUUIDsKey] as? [CBUUID] ?? []
        manufacturerData = data[CBAdvertisementDataManufacturerDataKey] as? Data
        serviceData = data[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data] ?? [:]
        transmitPower = (data[CBAdvertisementDataTxPowerLevelKey] as? NSNumber)?.intValue
    }

    /// The advertised name, or the one that the system knows the device by.
    public var name: String? { localName ?? peripheral.name }

    /// Whether both say the same, whatever their strengths.
    func sameContent(as other: Advertisement) -> Bool {
        localName == other.localName && isConnectable == other.isConnectable && services == other.services
            && solicitedServices == other.solicitedServices && manufacturerData == other.manufacturerData
            && serviceData == other.serviceData && transmitPower == other.transmitPower
    }
}
