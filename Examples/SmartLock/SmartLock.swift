import CoreBluetooth
import Foundation

/// Finds a lock by its name, opens and closes it, listens to its battery, and stays with it through a lost link.
///
/// The lock: a service with two characteristics. `FFF6` takes "unlock" and "lock"; `FFF4` notifies the battery level.
public final class SmartLock: NSObject {
    public let name: String
    /// What happened so far.
    public private(set) var report = SmartLockReport()

    /// How long to look for the lock, in seconds.
    public var scanTime: TimeInterval = 10
    /// How long a first attempt to connect may take. CoreBluetooth itself waits for ever.
    public var connectTime: TimeInterval = 10
    /// How long the door stays open.
    public var openTime: TimeInterval = 3
    /// How long to stay connected before leaving, counted from the first connection.
    public var stayTime: TimeInterval = 60
    /// Weaker signals are not worth a connection, in dBm.
    public var weakestSignal = -90

    // The two spellings of a short UUID are equal: 0000xxxx-0000-1000-8000-00805F9B34FB is xxxx.
    private let commandUUID = CBUUID(string: "0000fff6-0000-1000-8000-00805f9b34fb")
    private let batteryUUID = CBUUID(string: "0000fff4-0000-1000-8000-00805f9b34fb")

    private let queue: DispatchQueue?
    private let after: (TimeInterval, @escaping () -> Void) -> Void
    private let say: (String) -> Void
    private let onFinish: (SmartLockReport) -> Void

    private var central: CBCentralManager?
    // CoreBluetooth does not keep a discovered peripheral alive. We must.
    private var lock: CBPeripheral?
    private var otherNames: Set<String> = []
    private var servicesToExplore = 0
    private var isLeaving = false
    private var isFinished = false

    /// - Parameters:
    ///   - queue: where the callbacks run; `nil` is the main queue.
    ///   - after: runs something later, on that same queue.
    ///   - say: takes what a person should read.
    ///   - onFinish: is called once, at the end.
    public init(
        name: String = "KL940704079",
        queue: DispatchQueue? = nil,
        after: @escaping (TimeInterval, @escaping () -> Void) -> Void = {
            DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1)
        },
        say: @escaping (String) -> Void = { print($0) },
        onFinish: @escaping (SmartLockReport) -> Void
    ) {
        self.name = name
        self.queue = queue
        self.after = after
        self.say = say
        self.onFinish = onFinish
    }

    /// Everything else happens in callbacks.
    public func start() {
        central = CBCentralManager(delegate: self, queue: queue)
    }

    private func scan() {
        guard let central else { return }
        say("looking for \(name), for \(Int(scanTime)) s at most")
        // `nil`: whatever services it advertises. Each device is to be reported once, not at every packet.
        central.scanForPeripherals(withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: false])
        after(scanTime) { [weak self] in self?.endScan() }
    }

    private func endScan() {
        guard let central, lock == nil, !isFinished else { return }
        central.stopScan()
        finish("\(name) is not here")
    }

    private func connect(_ peripheral: CBPeripheral) {
        lock = peripheral
        peripheral.delegate = self
        say("found \(name); connecting")
        central?.connect(peripheral)
        after(connectTime) { [weak self] in self?.giveUpConnecting() }
    }

    private func giveUpConnecting() {
        guard let lock, report.connections == 0, !isFinished else { return }
        report.failedConnects += 1
        central?.stopScan()
        central?.cancelPeripheralConnection(lock)
        finish("\(name) was seen, but did not let us connect within \(Int(connectTime)) s")
    }

    private func leave() {
        guard let lock, !isLeaving, !isFinished else { return }
        isLeaving = true
        if lock.state == .disconnected {
            finish("\(name) was lost and did not come back")
        } else {
            say("leaving")
            central?.cancelPeripheralConnection(lock)
        }
    }

    private func finish(_ problem: String? = nil) {
        guard !isFinished else { return }
        isFinished = true
        report.problem = problem
        if let problem { say(problem) }
        onFinish(report)
    }
}

// MARK: - The radio, scanning, the link

extension SmartLock: CBCentralManagerDelegate {
    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        report.stateWords.append(words(for: central.state))
        say(words(for: central.state))
        switch central.state {
        case .poweredOn:
            // After a power failure every link is gone, and each must be asked for again.
            if let lock { central.connect(lock) } else { scan() }
        case .unsupported, .unauthorized:
            finish("there is nothing we can do without Bluetooth")
        case .poweredOff, .resetting, .unknown:
            break  // The next state follows by itself.
        @unknown default:
            break
        }
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        let advertisedName = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? peripheral.name
        guard let advertisedName else { return }
        guard advertisedName == name, RSSI.intValue >= weakestSignal else {
            if otherNames.insert(advertisedName).inserted {
                say("\(advertisedName) is not the one we want (\(RSSI) dBm)")
            }
            return
        }
        // A second device of this name, or a second report of this one, must not mix in.
        guard lock == nil else { return }
        connect(peripheral)
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        central.stopScan()
        report.connections += 1
        if report.connections == 1 {
            say("connected; no more scanning")
            after(stayTime) { [weak self] in self?.leave() }
        } else {
            say("connected again")
        }
        peripheral.discoverServices(nil)
    }

    public func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
        report.failedConnects += 1
        say("could not connect: \(words(for: error)); trying again in a second")
        after(1) { [weak self] in
            guard let self, !self.isFinished, !self.isLeaving else { return }
            central.connect(peripheral)
        }
    }

    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        if isLeaving { return finish() }
        guard let error else { return }
        // Services and subscriptions ended with the link. What is to come back, we must set up again.
        report.accidents.append((error as NSError).code)
        say("link lost: \(words(for: error)); connecting again")
        // A request to connect never times out, so this waits for the lock to come back.
        central.connect(peripheral)
    }
}

// MARK: - Services, values

extension SmartLock: CBPeripheralDelegate {
    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        if let error { return problem("discovering services", error) }
        let services = peripheral.services ?? []
        say("services: " + services.map { $0.uuid.uuidString }.joined(separator: ", "))
        servicesToExplore = services.count
        for service in services { peripheral.discoverCharacteristics(nil, for: service) }
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        if let error { return problem("discovering characteristics", error) }
        for characteristic in service.characteristics ?? [] {
            switch characteristic.uuid {
            case batteryUUID:
                report.foundByLongSpelling.insert("FFF4")
                peripheral.setNotifyValue(true, for: characteristic)
            case commandUUID:
                report.foundByLongSpelling.insert("FFF6")
                // After an accident the door stays as it is.
                if report.connections == 1 { send("unlock", to: characteristic, of: peripheral) }
            default:
                break
            }
        }
        servicesToExplore -= 1
        if servicesToExplore == 0, report.foundByLongSpelling.count < 2 {
            say("this is not a lock as we know it: FFF6 or FFF4 is missing")
            leave()
        }
    }

    private func send(_ instruction: String, to characteristic: CBCharacteristic, of peripheral: CBPeripheral) {
        report.instructions.append(instruction)
        say("sending \"\(instruction)\"")
        peripheral.writeValue(Data(instruction.utf8), for: characteristic, type: .withResponse)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return problem("writing", error) }
        guard characteristic.uuid == commandUUID, let instruction = report.instructions.last else { return }
        report.confirmed.append(instruction)
        say("the lock confirms \"\(instruction)\"")
        guard instruction == "unlock" else { return }
        after(openTime) { [weak self, weak peripheral, weak characteristic] in
            guard let self, let peripheral, let characteristic, peripheral.state == .connected else { return }
            self.send("lock", to: characteristic, of: peripheral)
        }
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        if let error { return problem("subscribing", error) }
        guard characteristic.isNotifying else { return }
        report.subscriptions += 1
        say("the battery will be reported")
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return problem("a value", error) }
        guard characteristic.uuid == batteryUUID, let value = characteristic.value else { return }
        report.batteryValues.append(value)
        report.valuesOnThisLink[report.connections, default: 0] += 1
        say("battery \(hex(value))")
        peripheral.readRSSI()
    }

    public func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        if let error { return problem("reading the signal strength", error) }
        report.signalStrengths.append(RSSI.intValue)
        say("signal \(RSSI) dBm")
    }

    private func problem(_ what: String, _ error: any Error) {
        report.errors.append("\(what): \(words(for: error))")
        say("\(what) failed: \(words(for: error))")
    }
}
