// What Apple advises against, and tests of apps do all the same.
import CoreBluetooth

class QuietCentral: CBCentralManager, @unchecked Sendable {
    var scans = 0
    override var isScanning: Bool { scans > 0 }
    override var state: CBManagerState { .poweredOn }

    override func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
        scans += 1
    }

    override func stopScan() { scans = 0 }
    override func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] { [] }
    override class func supports(_ features: CBCentralManager.Feature) -> Bool { true }
}

class LoudPeripheralManager: CBPeripheralManager, @unchecked Sendable {
    var updates: [Data] = []

    override func updateValue(
        _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
    ) -> Bool {
        updates.append(value)
        return super.updateValue(value, for: characteristic, onSubscribedCentrals: centrals)
    }
}

class CountingCharacteristic: CBMutableCharacteristic, @unchecked Sendable {
    var count = 0
    override var value: Data? {
        get { super.value }
        set {
            count += 1
            super.value = newValue
        }
    }
    override var description: String { "counted \(count) times" }
}

class NamedService: CBMutableService, @unchecked Sendable {
    let name: String

    init(name: String, type: CBUUID) {
        self.name = name
        super.init(type: type, primary: true)
    }
}

final class NamedUUID: CBUUID, @unchecked Sendable {
    override func isEqual(_ object: Any?) -> Bool { super.isEqual(object) }
    override var hash: Int { super.hash }
}

/// Seams for tests: protocols that Apple's classes already satisfy.
protocol Scanning: AnyObject {
    var isScanning: Bool { get }
    func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]?)
    func stopScan()
}

protocol Device: AnyObject {
    var identifier: UUID { get }
    var name: String? { get }
    var state: CBPeripheralState { get }
    var delegate: (any CBPeripheralDelegate)? { get set }
    func discoverServices(_ serviceUUIDs: [CBUUID]?)
    func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType)
}

extension CBCentralManager: Scanning {}
extension CBPeripheral: Device {}

func scan(with scanner: any Scanning) { scanner.scanForPeripherals(withServices: nil, options: nil) }

/// The delegate with the least that must be there.
final class Silent: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate, CBPeripheralDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
}
