import CoreBluetooth

/// The phone's app of the lock scenario: it finds the lock, opens it, listens to its battery, survives an accident, and
/// leaves. At each call it does what is missing next, however it came there.
final class LockPhone: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    enum Step: String, CaseIterable {
        case started = "manager made"
        case poweredOn = "powered on"
        case scanning = "scanning"
        case discovered = "discovered"
        case connecting = "connecting"
        case connected = "connected"
        case discoveringServices = "discovering services"
        case servicesDiscovered = "services discovered"
        case discoveringCharacteristics = "discovering characteristics"
        case characteristicsDiscovered = "characteristics discovered"
        case subscribing = "subscribing"
        case subscribed = "subscribed"
        case writing = "writing"
        case written = "written"
        case notified = "notified"
        case disconnected = "disconnected"
        case reconnecting = "reconnecting"
        case reconnected = "reconnected"
        case leaving = "leaving"
        case left = "left"
    }

    private let victim: Victim
    private let life: Int
    private var manager: CBCentralManager!
    private var lock: CBPeripheral?
    private var isNotifiedOnThisLink = false
    private var isBusy = false

    init(_ victim: Victim) {
        self.victim = victim
        life = victim.lives.count - 1
        super.init()
        manager = CBCentralManager(
            delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "phone"])
        victim.reached(Step.started.rawValue, in: life)
    }

    private func told(_ entry: String, _ step: Step) -> Bool {
        isBusy = false
        return victim.told(entry, step: step.rawValue, in: life)
    }

    private func ask(_ entry: String, _ step: Step, _ call: () -> Void) {
        isBusy = true
        victim.asks(entry, step: step.rawValue, in: life, call)
    }

    private func goOn() {
        guard manager.state == .poweredOn, !victim.isFinished else { return }
        guard let lock else {
            guard !manager.isScanning else { return }
            return ask("scanForPeripherals", .scanning) {
                manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
            }
        }
        switch lock.state {
        case .disconnected:
            ask("connect", victim.links == 0 ? .connecting : .reconnecting) { manager.connect(lock) }
        case .connected where !isBusy: goOn(with: lock)
        default: break
        }
    }

    private func goOn(with lock: CBPeripheral) {
        guard let service = lock.services?.first else {
            return ask("discoverServices", .discoveringServices) { lock.discoverServices(nil) }
        }
        guard let characteristics = service.characteristics else {
            return ask("discoverCharacteristics", .discoveringCharacteristics) {
                lock.discoverCharacteristics(nil, for: service)
            }
        }
        guard let battery = characteristics.first(where: { $0.uuid == CBUUID(string: "FFF4") }),
            let command = characteristics.first(where: { $0.uuid == CBUUID(string: "FFF6") })
        else { return }
        guard battery.isNotifying else {
            return ask("setNotifyValue", .subscribing) { lock.setNotifyValue(true, for: battery) }
        }
        guard victim.isUnlocked else {
            return ask("writeValue", .writing) {
                lock.writeValue(Data("unlock".utf8), for: command, type: .withResponse)
            }
        }
        guard isNotifiedOnThisLink, victim.links > 1 else { return }
        ask("cancelPeripheralConnection", .leaving) { manager.cancelPeripheralConnection(lock) }
    }

    // MARK: CBCentralManagerDelegate

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        lock = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
        lock?.delegate = self
        var parts: [String] = []
        if central.isScanning { parts.append("scanning") }
        if let lock {
            parts.append("\(lock.state)")
            let services = lock.services ?? []
            if !services.isEmpty { parts.append("\(services.count) service") }
            let characteristics = services.flatMap { $0.characteristics ?? [] }
            if !characteristics.isEmpty { parts.append("\(characteristics.count) characteristics") }
            if characteristics.contains(where: \.isNotifying) { parts.append("notifying") }
        }
        _ = victim.told(
            "willRestoreState: " + parts.joined(separator: ", "), step: "restored", in: life)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if told("\(central.state)", .poweredOn) { goOn() }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard lock == nil, told("didDiscover", .discovered) else { return }
        lock = peripheral
        peripheral.delegate = self
        central.stopScan()
        goOn()
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        guard told("didConnect", victim.links == 0 ? .connected : .reconnected) else { return }
        victim.links += 1
        isNotifiedOnThisLink = false
        goOn()
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        guard told("didDisconnect\(error == nil ? "" : ", with an error")", error == nil ? .left : .disconnected) else {
            return
        }
        if error == nil { victim.isFinished = true }
        goOn()
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        _ = victim.told("didFailToConnect", step: "never", in: life)
    }

    // MARK: CBPeripheralDelegate

    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        if victim.told("didModifyServices", step: "never", in: life) { goOn() }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        if told("didDiscoverServices", .servicesDiscovered) { goOn() }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        if told("didDiscoverCharacteristics", .characteristicsDiscovered) { goOn() }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        if told("didUpdateNotificationState", .subscribed) { goOn() }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard told("didWriteValue", .written) else { return }
        victim.isUnlocked = true
        goOn()
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard victim.told("didUpdateValue", step: Step.notified.rawValue, in: life) else { return }
        isNotifiedOnThisLink = true
        goOn()
    }
}
