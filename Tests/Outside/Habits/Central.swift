import CoreBluetooth
import Foundation

protocol SensorDelegate: AnyObject {
    func sensor(_ sensor: Sensor, didMeasure value: Int)
    func sensor(_ sensor: Sensor, didFailWith error: Error)
}

enum SensorState: Equatable {
    case idle
    case searching
    case ready(CBPeripheral)
}

/// One object as manager's and peripheral's delegate, by extensions.
class Sensor: NSObject {
    nonisolated(unsafe) static let shared = Sensor()
    static let service = CBUUID(string: "180D")

    weak var delegate: SensorDelegate?
    private(set) var state: SensorState = .idle {
        willSet { if newValue == .idle { timer?.cancel() } }
        didSet { if state != oldValue { onChange?(state) } }
    }
    var onChange: ((SensorState) -> Void)?
    private lazy var central = CBCentralManager(
        delegate: self, queue: DispatchQueue(label: "sensor"), options: [CBCentralManagerOptionShowPowerAlertKey: false]
    )
    private var peripheral: CBPeripheral? {
        didSet {
            oldValue?.delegate = nil
            peripheral?.delegate = self
        }
    }
    private var seen: [CBPeripheral: NSNumber] = [:]
    private var known = Set<CBPeripheral>()
    private var pending: [CBUUID: (Result<Data, Error>) -> Void] = [:]
    private var timer: DispatchWorkItem?

    func start() {
        state = .searching
        let timeout = DispatchWorkItem { [weak self] in
            guard let self = self else { return }
            self.central.stopScan()
            self.state = .idle
        }
        timer = timeout
        DispatchQueue.main.asyncAfter(deadline: .now() + 10, execute: timeout)
        _ = central.state == .poweredOn
    }

    func stop() {
        guard let peripheral = peripheral else { return }
        if peripheral.state == .connected || peripheral.state == .connecting {
            central.cancelPeripheralConnection(peripheral)
        }
    }

    func read(_ uuid: CBUUID, completion: @escaping (Result<Data, Error>) -> Void) {
        pending[uuid] = completion
        guard let characteristic = characteristic(uuid) else {
            return completion(.failure(CBError(.invalidHandle)))
        }
        peripheral?.readValue(for: characteristic)
    }

    private func characteristic(_ uuid: CBUUID) -> CBCharacteristic? {
        peripheral?.services?.lazy.compactMap { $0.characteristics }.joined().first { $0.uuid == uuid }
    }
}

extension Sensor: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard case .poweredOn = central.state else { return }
        if let last = central.retrieveConnectedPeripherals(withServices: [Sensor.service]).first {
            peripheral = last
            return central.connect(last, options: nil)
        }
        central.scanForPeripherals(
            withServices: [Sensor.service],
            options: [CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(booleanLiteral: true)])
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        seen[peripheral] = RSSI
        let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? peripheral.name ?? "?"
        let power = advertisementData[CBAdvertisementDataTxPowerLevelKey] as? NSNumber
        let company = (advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data)?.prefix(2)
        let data = advertisementData[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data]
        let connectable = advertisementData[CBAdvertisementDataIsConnectable] as? Bool ?? false
        guard connectable, Int(truncating: RSSI) > -90, RSSI != 127 else { return }
        print("\(name) \(power?.intValue ?? 0) \(company.map { [UInt8]($0) } ?? []) \(data?.count ?? 0)")
        known.insert(peripheral)
        self.peripheral = peripheral
        central.connect(peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        state = .ready(peripheral)
        peripheral.discoverServices([Sensor.service])
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
        if let error = error { delegate?.sensor(self, didFailWith: error) }
    }

    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: Error?
    ) {
        if !isReconnecting { self.peripheral = nil }
        let when = Date(timeIntervalSinceReferenceDate: timestamp)
        print("lost at \(when): \(error?.localizedDescription ?? "asked for")")
    }
}

extension Sensor: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        peripheral.services?.forEach { peripheral.discoverCharacteristics(nil, for: $0) }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        for characteristic in service.characteristics ?? [] where characteristic.properties.contains(.notify) {
            peripheral.setNotifyValue(true, for: characteristic)
            assert(characteristic.service === service && service.peripheral === peripheral)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?
    ) {
        switch (characteristic.uuid, characteristic.value, error) {
        case (_, _, let error?): pending.removeValue(forKey: characteristic.uuid)?(.failure(error))
        case (CBUUID(string: "2A37"), let value?, nil) where value.count > 1:
            let rate = value.withUnsafeBytes { $0.load(fromByteOffset: 1, as: UInt8.self) }
            delegate?.sensor(self, didMeasure: Int(rate))
        case (let uuid, let value?, nil): pending[uuid]?(.success(value))
        default: break
        }
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: Error?) {
        switch descriptor.value {
        case let text as String: print(text)
        case let number as NSNumber: print(number.uint16Value)
        case let data as Data: print(data.map { String(format: "%02x", $0) }.joined())
        default: break
        }
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
        guard peripheral.canSendWriteWithoutResponse, let control = characteristic(CBUUID(string: "2A39")) else {
            return
        }
        let length = peripheral.maximumWriteValueLength(for: .withoutResponse)
        peripheral.writeValue(Data(count: length), for: control, type: .withoutResponse)
    }
}
