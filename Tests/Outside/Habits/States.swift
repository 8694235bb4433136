import CoreBluetooth

extension CBManagerState: @retroactive CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknown: return "unknown"
        case .resetting: return "resetting"
        case .unsupported: return "unsupported"
        case .unauthorized: return "unauthorized"
        case .poweredOff: return "off"
        case .poweredOn: return "on"
        @unknown default: return "?"
        }
    }
}

extension CBPeripheralState {
    var label: String {
        switch self {
        case .disconnected, .disconnecting: return "away"
        case .connecting: return "coming"
        case .connected: return "here"
        @unknown default: return "?"
        }
    }
}

extension CBPeripheral: @retroactive Identifiable {
    public var id: UUID { identifier }
}

extension CBCharacteristicProperties: @retroactive Hashable, @retroactive CustomStringConvertible {
    public var description: String {
        let names: [(CBCharacteristicProperties, String)] = [
            (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write without response"),
            (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
        ]
        return names.filter { contains($0.0) }.map { $0.1 }.joined(separator: ", ")
    }
}

extension CBUUID {
    static let battery = CBUUID(string: "180F")
    static let level = CBUUID(string: "2A19")

    convenience init(short: UInt16) {
        self.init(string: String(format: "%04X", short))
    }
}

func mayUseBluetooth() -> Bool {
    if #available(iOS 13.1, macOS 10.15, tvOS 13.0, watchOS 6.0, *) {
        switch CBManager.authorization {
        case .allowedAlways: return true
        case .denied, .restricted, .notDetermined: return false
        @unknown default: return false
        }
    } else if #available(iOS 13.0, *) {
        return CBCentralManager().authorization == .allowedAlways
    } else {
        return CBPeripheralManager.authorizationStatus() == .authorized
    }
}

func compare(_ service: CBService, _ uuid: CBUUID) -> Bool {
    service.uuid == uuid || service.uuid.isEqual(uuid) || service.uuid.uuidString == uuid.uuidString.uppercased()
        || service.uuid.data.elementsEqual(uuid.data) || Set([service.uuid, uuid]).count == 1
}

func restored(from dict: [String: Any]) -> ([CBPeripheral], [CBUUID]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    let services = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
    let options = dict[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
    let duplicates = options?[CBCentralManagerScanOptionAllowDuplicatesKey] as? Bool
    return (peripherals, duplicates == true ? services ?? [] : [])
}
