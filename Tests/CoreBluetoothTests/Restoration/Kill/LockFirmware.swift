import CoreBluetooth

/// The lock of the lock scenario: it tells its battery level to whoever subscribes, and after each command.
final class LockFirmware: NSObject, CBPeripheralManagerDelegate {
    enum Step: String, CaseIterable {
        case started = "manager made"
        case poweredOn = "powered on"
        case adding = "adding"
        case added = "added"
        case startingToAdvertise = "starting to advertise"
        case advertising = "advertising"
        case subscribed = "subscribed"
        case updating = "updating"
        case written = "write received"
        case responding = "responding"
        case unsubscribed = "unsubscribed"
    }

    private let victim: Victim
    private let life: Int
    private var manager: CBPeripheralManager!
    private var battery: CBMutableCharacteristic?
    private var isAdvertisingAsked = false

    init(_ victim: Victim) {
        self.victim = victim
        life = victim.lives.count - 1
        super.init()
        manager = CBPeripheralManager(
            delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "lock"])
        victim.reached(Step.started.rawValue, in: life)
    }

    private func told(_ entry: String, _ step: Step) -> Bool {
        victim.told(entry, step: step.rawValue, in: life)
    }

    @discardableResult
    private func ask(_ entry: String, _ step: Step, _ call: () -> Void) -> Bool {
        victim.asks(entry, step: step.rawValue, in: life, call)
    }

    private func goOn() {
        guard manager.state == .poweredOn else { return }
        guard battery != nil else {
            let battery = CBMutableCharacteristic(
                type: CBUUID(string: "FFF4"), properties: .notify, value: nil, permissions: [])
            let command = CBMutableCharacteristic(
                type: CBUUID(string: "FFF6"), properties: .write, value: nil, permissions: .writeable)
            let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
            service.characteristics = [battery, command]
            self.battery = battery
            ask("add", .adding) { manager.add(service) }
            return
        }
        guard !manager.isAdvertising, !isAdvertisingAsked else { return }
        isAdvertisingAsked = true
        ask("startAdvertising", .startingToAdvertise) {
            manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")]])
        }
    }

    private func tellBattery() {
        guard let battery else { return }
        ask("updateValue", .updating) { manager.updateValue(Data([0x5F]), for: battery, onSubscribedCentrals: nil) }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        battery = services.first?.characteristics?.first as? CBMutableCharacteristic
        var parts: [String] = []
        if !services.isEmpty { parts.append("\(services.count) service") }
        if peripheral.isAdvertising { parts.append("advertising") }
        if let central = battery?.subscribedCentrals, !central.isEmpty { parts.append("\(central.count) subscriber") }
        _ = victim.told("willRestoreState: " + parts.joined(separator: ", "), step: "restored", in: life)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard told("\(peripheral.state)", .poweredOn) else { return }
        // A restored service is published by itself, and one whose answer is still to come, is answered.
        if battery == nil || !peripheral.isAdvertising { goOn() }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if told("didAdd", .added) { goOn() }
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        _ = told(error == nil ? "didStartAdvertising" : "didStartAdvertising, with an error", .advertising)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        if told("didSubscribe", .subscribed) { tellBattery() }
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        _ = told("didUnsubscribe", .unsubscribed)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard told("didReceiveWrite", .written) else { return }
        let lives = ask("respond", .responding) { peripheral.respond(to: requests[0], withResult: .success) }
        if lives { tellBattery() }
    }
}
