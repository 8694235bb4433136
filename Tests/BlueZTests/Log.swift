import CoreBluetooth
import Foundation
import Testing

/// What managers said, for a test that waits for it. Real radios take real time, so each wait has a limit.
final class Log: @unchecked Sendable {
    // `@unchecked`: the condition guards the lines and the values.
    private let condition = NSCondition()
    private var entries: [String] = []
    private var values: [CBUUID: [Data]] = [:]
    /// What `wait` has seen already.
    private var seen = 0

    func add(_ line: String) {
        condition.withLock {
            entries.append(line)
            condition.broadcast()
        }
    }

    func add(_ value: Data, of characteristic: CBUUID) {
        condition.withLock {
            values[characteristic, default: []].append(value)
            condition.broadcast()
        }
    }

    var lines: [String] { condition.withLock { entries } }

    /// Waits for a line that begins with `text`, behind the last one that was waited for.
    @discardableResult
    func wait(
        for text: String, seconds: TimeInterval = 20, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let end = Date(timeIntervalSinceNow: seconds)
        let (line, all): (String?, [String]) = condition.withLock {
            while true {
                if let index = entries[seen...].firstIndex(where: { $0.hasPrefix(text) }) {
                    seen = index + 1
                    return (entries[index], entries)
                }
                guard condition.wait(until: end) else { return (nil, entries) }
            }
        }
        return try #require(
            line, "No \"\(text)\" within \(seconds) s; there were \(all)", sourceLocation: sourceLocation)
    }

    /// Waits until so many values of a characteristic came, and gives them out.
    func wait(
        forValues count: Int, of characteristic: CBUUID, seconds: TimeInterval = 20,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [Data] {
        let end = Date(timeIntervalSinceNow: seconds)
        let found: [Data] = condition.withLock {
            while values[characteristic, default: []].count < count, condition.wait(until: end) {}
            return values[characteristic, default: []]
        }
        try #require(
            found.count >= count, "\(found.count) values of \(characteristic), not \(count)",
            sourceLocation: sourceLocation)
        return found
    }

    func forgetValues() { condition.withLock { values = [:] } }
}

/// A central manager that writes down what it is told.
final class Central: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    // `@unchecked`: the manager's queue alone touches what changes.
    let log = Log()
    private(set) var manager: CBCentralManager!
    private let queue = DispatchQueue(label: "central")
    private var found: [String: CBPeripheral] = [:]
    private(set) var channel: CBL2CAPChannel?

    override init() {
        super.init()
        manager = CBCentralManager(delegate: self, queue: queue)
    }

    /// Finds somebody by name. On btvirt a test finds its peer before each connection: it connects at once to who is
    /// advertising at that moment, or never (BlueZ, emulator/btdev.c, cmd_ext_create_conn_complete).
    func find(_ name: String, services: [CBUUID]? = nil, seconds: TimeInterval = 20) throws -> CBPeripheral {
        manager.scanForPeripherals(withServices: services)
        try log.wait(for: "found \(name)", seconds: seconds)
        manager.stopScan()
        let peripheral = queue.sync { found[name] }
        return try #require(peripheral)
    }

    func connect(_ peripheral: CBPeripheral) throws {
        peripheral.delegate = self
        manager.connect(peripheral)
        try log.wait(for: "connected")
    }

    func discover(_ uuid: CBUUID, of peripheral: CBPeripheral) throws -> CBCharacteristic {
        peripheral.discoverServices(nil)
        try log.wait(for: "services ok")
        for service in peripheral.services ?? [] {
            peripheral.discoverCharacteristics([uuid], for: service)
            try log.wait(for: "characteristics \(service.uuid) ok")
        }
        let all = (peripheral.services ?? []).flatMap { $0.characteristics ?? [] }
        return try #require(all.first { $0.uuid == uuid })
    }

    /// Discovers what is needed, and switches notifications on.
    func subscribe(to uuid: CBUUID, of peripheral: CBPeripheral) throws -> CBCharacteristic {
        let characteristic = try discover(uuid, of: peripheral)
        peripheral.setNotifyValue(true, for: characteristic)
        try log.wait(for: "notifying \(uuid) true ok")
        return characteristic
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) { log.add("state \(Self.word(central.state))") }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? peripheral.name ?? "-"
        found[name] = peripheral
        let services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
        let data = advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data ?? Data()
        log.add("found \(name) \(services) \(data.map { $0 })")
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { log.add("connected") }

    func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) { log.add("failed \(Self.words(error))") }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) { log.add("disconnected \(Self.words(error))") }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        log.add("services \(Self.words(error))")
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) { log.add("characteristics \(service.uuid) \(Self.words(error))") }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) { log.add("descriptors \(characteristic.uuid) \(Self.words(error))") }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if error == nil, let value = characteristic.value { log.add(value, of: characteristic.uuid) }
        log.add("value \(characteristic.uuid) \(Self.words(error))")
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { log.add("written \(characteristic.uuid) \(Self.words(error))") }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) { log.add("notifying \(characteristic.uuid) \(characteristic.isNotifying) \(Self.words(error))") }

    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        log.add("signal \(Self.words(error))")
    }

    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        self.channel = channel
        log.add("channel \(Self.words(error))")
    }

    private static func word(_ state: CBManagerState) -> String {
        switch state {
        case .unknown: "unknown"
        case .resetting: "resetting"
        case .unsupported: "unsupported"
        case .unauthorized: "unauthorized"
        case .poweredOff: "poweredOff"
        case .poweredOn: "poweredOn"
        @unknown default: "state \(state.rawValue)"
        }
    }

    private static func words(_ error: (any Error)?) -> String {
        guard let error = error as NSError? else { return "ok" }
        return "\(error.domain) \(error.code)"
    }
}
