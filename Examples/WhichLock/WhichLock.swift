import CoreBluetooth
import Foundation

/// Many locks, all with one name: connects to each, asks for its System ID, and keeps the one with the wanted address.
///
/// CoreBluetooth never tells a device's address. Locks of this kind put it into the characteristic System ID (`2A23`)
/// of their Device Information service (`180A`).
public final class WhichLock: NSObject {
    public private(set) var report = WhichLockReport()

    /// How long to look each time, in seconds: first without duplicates, then with them.
    public var scanTime: TimeInterval = 3
    /// The whole run ends by then.
    public var timeLimit: TimeInterval = 60
    /// How many changed values of the wanted lock are enough.
    public var valuesWanted = 3

    private let wantedAddress: String
    private let lockService = CBUUID(string: "FFF0")
    private let changingValue = CBUUID(string: "FFF4")
    private let deviceInformation = CBUUID(string: "180A")
    private let systemID = CBUUID(string: "2A23")
    private let modelNumber = CBUUID(string: "2A24")

    private let queue: DispatchQueue?
    private let after: (TimeInterval, @escaping () -> Void) -> Void
    private let say: (String) -> Void
    private let onFinish: (WhichLockReport) -> Void
    private var central: CBCentralManager?
    private var locks: [CBPeripheral] = []
    private var allowsDuplicates = false
    private var isFinished = false

    /// - Parameter wantedAddress: as `AA:BB:CC:DD:EE:FF`.
    public init(
        wantedAddress: String,
        queue: DispatchQueue? = nil,
        after: @escaping (TimeInterval, @escaping () -> Void) -> Void = {
            DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1)
        },
        say: @escaping (String) -> Void = { print($0) },
        onFinish: @escaping (WhichLockReport) -> Void
    ) {
        self.wantedAddress = wantedAddress
        self.queue = queue
        self.after = after
        self.say = say
        self.onFinish = onFinish
    }

    public func start() {
        central = CBCentralManager(delegate: self, queue: queue)
        after(timeLimit) { [weak self] in self?.finish("the time is up") }
    }

    /// Bytes 7, 6, 5, 2, 1, 0 of the value. Bytes 3 and 4 are the filler that makes 64 bits of 48.
    public static func address(inSystemID value: Data) -> String? {
        guard value.count == 8 else { return nil }
        let bytes = [UInt8](value)
        return [7, 6, 5, 2, 1, 0].map { String(format: "%02X", bytes[$0]) }.joined(separator: ":")
    }

    private func scan(duplicates: Bool) {
        allowsDuplicates = duplicates
        say("scanning for FFF0, \(duplicates ? "every packet" : "each device once")")
        central?.scanForPeripherals(
            withServices: [lockService], options: [CBCentralManagerScanOptionAllowDuplicatesKey: duplicates])
        after(scanTime) { [weak self] in self?.endScan() }
    }

    private func endScan() {
        guard let central, !isFinished else { return }
        central.stopScan()
        let reports = allowsDuplicates ? report.reportsWithDuplicates : report.reportsWithoutDuplicates
        say("\(reports) reports of \(locks.count) locks")
        guard allowsDuplicates else { return scan(duplicates: true) }
        guard !locks.isEmpty else { return finish("no lock here") }
        for lock in locks { central.connect(lock) }
    }

    private func finish(_ problem: String? = nil) {
        guard !isFinished else { return }
        isFinished = true
        report.problem = problem
        if let problem { say(problem) }
        onFinish(report)
    }
}

extension WhichLock: CBCentralManagerDelegate {
    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .unknown: say("Bluetooth: unknown")
        case .resetting: say("Bluetooth: starting again")
        case .unsupported: finish("Bluetooth: not supported by this machine")
        case .unauthorized: finish("Bluetooth: not allowed")
        case .poweredOff: say("Bluetooth: off")
        case .poweredOn:
            say("Bluetooth: on")
            scan(duplicates: false)
        @unknown default: say("Bluetooth: state \(central.state.rawValue)")
        }
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        if allowsDuplicates { report.reportsWithDuplicates += 1 } else { report.reportsWithoutDuplicates += 1 }
        if let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String { report.names.insert(name) }
        guard !locks.contains(peripheral) else { return }
        locks.append(peripheral)
        peripheral.delegate = self
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([deviceInformation, lockService])
    }

    public func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("one lock did not answer: \(error?.localizedDescription ?? "no reason given")")
        after(1) { [weak self] in
            guard let self, !self.isFinished else { return }
            central.connect(peripheral)
        }
    }

    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        if let error {
            say("a link was lost: \(error.localizedDescription)")
            central.connect(peripheral)
        } else if peripheral.identifier == report.kept {
            finish()
        } else {
            report.left += 1
            checkWhetherAllAreKnown()
        }
    }

    private func checkWhetherAllAreKnown() {
        if report.left == locks.count { finish("none of the \(locks.count) locks is \(wantedAddress)") }
    }
}

extension WhichLock: CBPeripheralDelegate {
    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        if let error { return leave(peripheral, because: error.localizedDescription) }
        guard let service = peripheral.services?.first(where: { $0.uuid == deviceInformation }) else {
            return leave(peripheral, because: "it has no Device Information")
        }
        peripheral.discoverCharacteristics([systemID, modelNumber], for: service)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        if let error { return leave(peripheral, because: error.localizedDescription) }
        for characteristic in service.characteristics ?? [] {
            switch characteristic.uuid {
            case systemID, modelNumber: peripheral.readValue(for: characteristic)  // Fixed: read once.
            case changingValue: peripheral.setNotifyValue(true, for: characteristic)  // Changing: subscribe.
            default: break
            }
        }
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return leave(peripheral, because: error.localizedDescription) }
        guard let value = characteristic.value else { return }
        switch characteristic.uuid {
        case systemID: decide(about: peripheral, systemID: value)
        case modelNumber: report.models.insert(String(decoding: value, as: UTF8.self))
        case changingValue: hear(value, from: peripheral)
        default: break
        }
    }

    private func decide(about peripheral: CBPeripheral, systemID value: Data) {
        guard let address = Self.address(inSystemID: value) else {
            return leave(peripheral, because: "its System ID has \(value.count) bytes, not 8")
        }
        report.addresses.append(address)
        guard address == wantedAddress else { return leave(peripheral, because: "it is \(address)") }
        say("this is it: \(address)")
        report.kept = peripheral.identifier
        guard let service = peripheral.services?.first(where: { $0.uuid == lockService }) else {
            return finish("the wanted lock has no FFF0")
        }
        peripheral.discoverCharacteristics([changingValue], for: service)
    }

    private func hear(_ value: Data, from peripheral: CBPeripheral) {
        report.changedValues.append(value)
        say("battery \(value.map { String(format: "%02X", $0) }.joined(separator: " "))")
        // The others are left by now, or soon will be.
        let othersAreGone = report.left == locks.count - 1
        if report.changedValues.count >= valuesWanted, othersAreGone { central?.cancelPeripheralConnection(peripheral) }
    }

    private func leave(_ peripheral: CBPeripheral, because reason: String) {
        say("leaving one lock: \(reason)")
        central?.cancelPeripheralConnection(peripheral)
    }
}
