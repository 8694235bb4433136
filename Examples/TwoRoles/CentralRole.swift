import CoreBluetooth
import Foundation

/// The fourteen steps of a central, in the order of the tutorial. Each has a result, and each result is looked at.
public enum CentralStep: Int, CaseIterable {
    case powerAlert = 1
    case scan
    case discover
    case connect
    case connectionResult
    case connectionFailure
    case disconnection
    case discoverService
    case discoverCharacteristics
    case subscribe
    case subscriptionResult
    case notifiedValue
    case write
    case writeResult
}

/// How a central knows the device it was made for.
public enum AgreedIdentifier: Equatable {
    /// The device puts its address, as `AA:BB:CC:DD:EE:FF`, into its manufacturer data, behind the company's number.
    case address(String)
    /// Apple's systems advertise no manufacturer data, so a phone as peripheral is known by its name.
    case name(String)
}

/// A central, step by step.
public final class CentralRole: NSObject {
    public private(set) var steps: Set<CentralStep> = []
    /// Reports of devices that were not the agreed one.
    public private(set) var strangers: Set<UUID> = []
    public private(set) var values: [Data] = []
    public private(set) var userDescription: String?
    public private(set) var valueReadBack: Data?
    public private(set) var failures: [String] = []

    /// How long to look, in seconds.
    public var scanTime: TimeInterval = 10
    /// The whole run ends by then.
    public var timeLimit: TimeInterval = 60
    /// How many notified values are enough.
    public var valuesWanted = 3

    private let wanted: AgreedIdentifier
    private let serviceUUID = CBUUID(string: "FFF0")
    private let characteristicUUID = CBUUID(string: "FFF1")
    private let queue: DispatchQueue?
    private let after: (TimeInterval, @escaping () -> Void) -> Void
    private let say: (String) -> Void
    private let onFinish: (CentralRole) -> Void
    private var central: CBCentralManager?
    private var peripheral: CBPeripheral?
    private var isFinished = false

    public init(
        wanted: AgreedIdentifier,
        queue: DispatchQueue? = nil,
        after: @escaping (TimeInterval, @escaping () -> Void) -> Void = {
            DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1)
        },
        say: @escaping (String) -> Void = { print($0) },
        onFinish: @escaping (CentralRole) -> Void
    ) {
        self.wanted = wanted
        self.queue = queue
        self.after = after
        self.say = say
        self.onFinish = onFinish
    }

    /// Step 1. The option asks the system to show an alert if Bluetooth is off; Linux has nobody to show it to.
    public func start() {
        central = CBCentralManager(
            delegate: self, queue: queue, options: [CBCentralManagerOptionShowPowerAlertKey: true])
        done(.powerAlert, "the manager is made, and would tell the user if Bluetooth were off")
        after(timeLimit) { [weak self] in self?.finish("the time is up") }
    }

    private func done(_ step: CentralStep, _ what: String) {
        if steps.insert(step).inserted { say("step \(step.rawValue): \(what)") }
    }

    private func failed(_ what: String, _ error: any Error) {
        let text = "\(what): \(error.localizedDescription) (\((error as NSError).domain) \((error as NSError).code))"
        failures.append(text)
        finish(text)
    }

    private func finish(_ problem: String? = nil) {
        guard !isFinished else { return }
        isFinished = true
        if let problem {
            failures.append(problem)
            say(problem)
        }
        onFinish(self)
    }
}

// MARK: - Steps 2 to 7: who is there, and the link

extension CentralRole: CBCentralManagerDelegate {
    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn:
            central.scanForPeripherals(withServices: nil)
            done(.scan, "looking around")
            after(scanTime) { [weak self] in self?.endScan() }
        case .unauthorized:
            finish("not allowed: authorization is \(CBManager.authorization)")
        case .unsupported:
            finish("no Bluetooth Low Energy here")
        case .poweredOff, .resetting, .unknown:
            say("Bluetooth is not ready yet")
        @unknown default:
            break
        }
    }

    private func endScan() {
        guard peripheral == nil, !isFinished else { return }
        central?.stopScan()
        finish("the device is not here")
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard self.peripheral == nil else { return }
        guard isWanted(advertisementData) else {
            strangers.insert(peripheral.identifier)
            return
        }
        self.peripheral = peripheral
        peripheral.delegate = self
        central.stopScan()
        strangers.remove(peripheral.identifier)
        done(.discover, "found the agreed device at \(RSSI) dBm; others seen: \(strangers.count)")
        central.connect(peripheral)
        done(.connect, "asked for a connection")
    }

    private func isWanted(_ advertisementData: [String: Any]) -> Bool {
        switch wanted {
        case .address(let address):
            let data = advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data
            return data.map { Self.address(inManufacturerData: $0) == address } ?? false
        case .name(let name):
            return advertisementData[CBAdvertisementDataLocalNameKey] as? String == name
        }
    }

    /// The address behind the company's number: two octets, then six, as they are written.
    public static func address(inManufacturerData data: Data) -> String? {
        guard data.count == 8 else { return nil }
        return data.dropFirst(2).map { String(format: "%02X", $0) }.joined(separator: ":")
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        done(.connectionResult, "connected")
        peripheral.discoverServices([serviceUUID])
    }

    public func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
        let reason = error.map { "\($0.localizedDescription) (\(($0 as NSError).code))" } ?? "no reason given"
        done(.connectionFailure, "no connection: \(reason); once more in a second")
        after(1) { [weak self] in
            guard let self, !self.isFinished else { return }
            central.connect(peripheral)
        }
    }

    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        if let error { return failed("the link ended", error) }
        done(.disconnection, "disconnected, as we asked")
        finish()
    }
}

// MARK: - Steps 8 to 14: what it offers

extension CentralRole: CBPeripheralDelegate {
    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        if let error { return failed("discovering the service", error) }
        guard let service = peripheral.services?.first(where: { $0.uuid == serviceUUID }) else {
            return finish("the device has no service \(serviceUUID.uuidString)")
        }
        done(.discoverService, "the service \(service.uuid.uuidString) is there")
        peripheral.discoverCharacteristics([characteristicUUID], for: service)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        if let error { return failed("discovering characteristics", error) }
        guard let found = service.characteristics?.first(where: { $0.uuid == characteristicUUID }) else {
            return finish("the service has no characteristic \(characteristicUUID.uuidString)")
        }
        done(.discoverCharacteristics, "the characteristic \(found.uuid.uuidString) is there")
        peripheral.discoverDescriptors(for: found)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return failed("discovering descriptors", error) }
        let wanted = CBUUID(string: CBUUIDCharacteristicUserDescriptionString)
        guard let descriptor = characteristic.descriptors?.first(where: { $0.uuid == wanted }) else {
            return subscribe(characteristic, of: peripheral)
        }
        peripheral.readValue(for: descriptor)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?
    ) {
        if let error { return failed("reading the description", error) }
        userDescription = descriptor.value as? String
        say("it describes itself as \"\(userDescription ?? "")\"")
        guard let characteristic = descriptor.characteristic else { return }
        subscribe(characteristic, of: peripheral)
    }

    private func subscribe(_ characteristic: CBCharacteristic, of peripheral: CBPeripheral) {
        done(.subscribe, "asking for its values as they change")
        peripheral.setNotifyValue(true, for: characteristic)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        if let error { return failed("subscribing", error) }
        guard characteristic.isNotifying else {
            central?.cancelPeripheralConnection(peripheral)
            return
        }
        done(.subscriptionResult, "subscribed")
        peripheral.writeValue(Data("with response".utf8), for: characteristic, type: .withResponse)
        done(.write, "wrote \"with response\"")
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return failed("writing", error) }
        done(.writeResult, "the device has taken it")
        // Nobody confirms this one: reading the value back tells whether it arrived.
        peripheral.writeValue(Data("without response".utf8), for: characteristic, type: .withoutResponse)
        say("wrote \"without response\", reading it back")
        peripheral.readValue(for: characteristic)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return failed("a value", error) }
        guard let value = characteristic.value else { return }
        // The same callback brings what was read and what was notified; the device counts in one octet.
        if value.count == 1 {
            values.append(value)
            done(.notifiedValue, "the device reports \(value.map { String(format: "%02X", $0) }.joined())")
        } else {
            valueReadBack = value
            say("read back \"\(String(decoding: value, as: UTF8.self))\"")
        }
        if values.count >= valuesWanted, valueReadBack != nil, characteristic.isNotifying {
            peripheral.setNotifyValue(false, for: characteristic)
        }
    }
}
