import BluetoothExtensions
import BluetoothSimulation
import CoreBluetooth
import Testing

/// A lock whose value is read on an encrypted link only, a phone that reads it, and the programs on both, which use
/// Apple's API and the security object beside it.
final class SecureApps {
    let world = BluetoothWorld(seed: 1)
    let phoneDevice: SimulatedDevice
    let lockDevice: SimulatedDevice
    let phone: PhoneApp
    private(set) var lock: LockApp

    init(phone capability: PairingCapability? = nil, lock lockCapability: PairingCapability? = nil) {
        phoneDevice = world.addDevice("Phone")
        lockDevice = world.addDevice("Lock", at: .init(x: 2))
        lock = lockDevice.run { LockApp(capability: lockCapability) }
        phone = phoneDevice.run { PhoneApp(capability: capability) }
    }

    /// The lock's program starts anew.
    func restartLock(capability: PairingCapability? = nil) {
        lock = lockDevice.run { LockApp(capability: capability) }
    }

    func wait(_ condition: () -> Bool) -> Bool { world.run(until: condition, within: .seconds(60)) }

    /// The phone reads the value on a link that it makes if there is none.
    func read() -> String? {
        phone.results = []
        phone.start()
        guard wait({ !phone.results.isEmpty }) else { return nil }
        return phone.results[0]
    }

    func disconnect() {
        if let peripheral = phone.peripheral { phone.manager.cancelPeripheralConnection(peripheral) }
        world.run(for: .seconds(1))
    }
}

/// What both programs do: note what they are told, and answer as the test says.
class SecureApp: NSObject, BluetoothSecurityDelegate {
    var questions: [PairingQuestion] = []
    var withdrawn: [PairingQuestion] = []
    var secured: [LinkSecurity] = []
    var problems: [SecurityProblem] = []
    var bonded: [UUID] = []
    var removed: [UUID] = []
    var onQuestion: (PairingQuestion) -> Void = { _ in }

    func security(_ security: BluetoothSecurity, asks question: PairingQuestion) {
        questions.append(question)
        onQuestion(question)
    }

    func security(_ security: BluetoothSecurity, withdraws question: PairingQuestion) { withdrawn.append(question) }
    func security(_ security: BluetoothSecurity, didSecure peer: UUID, _ link: LinkSecurity) { secured.append(link) }

    func security(_ security: BluetoothSecurity, didFailToSecure peer: UUID, _ problem: SecurityProblem) {
        problems.append(problem)
    }

    func security(_ security: BluetoothSecurity, didBond peer: UUID) { bonded.append(peer) }
    func security(_ security: BluetoothSecurity, didRemoveBond peer: UUID) { removed.append(peer) }
}

// `@unchecked`: one test, one thread.
final class PhoneApp: SecureApp, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    private(set) var manager: CBCentralManager!
    private(set) var security: BluetoothSecurity!
    private(set) var peripheral: CBPeripheral?
    /// The value, or the error: its domain's last part and its code.
    var results: [String] = []

    init(capability: PairingCapability?) {
        super.init()
        manager = CBCentralManager(delegate: self, queue: nil)
        security = BluetoothSecurity(manager: manager)
        security.delegate = self
        if let capability { security.setPolicy(PairingPolicy(capability: capability)) }
    }

    func start() {
        guard manager.state == .poweredOn else { return }
        if let peripheral, peripheral.state == .connected,
            let value = peripheral.services?.first?.characteristics?.first
        {
            return peripheral.readValue(for: value)
        }
        if let peripheral { manager.connect(peripheral) } else { manager.scanForPeripherals(withServices: nil) }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) { start() }

    func centralManager(
        _ central: CBCentralManager, didDiscover found: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard peripheral == nil else { return }
        peripheral = found
        found.delegate = self
        central.stopScan()
        central.connect(found)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([CBUUID(string: "FFF0")])
    }

    func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) { results.append(short(error)) }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        if let service = peripheral.services?.first { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        if let characteristic = service.characteristics?.first { peripheral.readValue(for: characteristic) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        results.append(error == nil ? String(decoding: characteristic.value ?? Data(), as: UTF8.self) : short(error))
    }

    private func short(_ error: (any Error)?) -> String {
        guard let error = error as NSError? else { return "no error" }
        return "\(error.domain) \(error.code)"
    }
}

// `@unchecked`: one test, one thread.
final class LockApp: SecureApp, CBPeripheralManagerDelegate, @unchecked Sendable {
    private(set) var manager: CBPeripheralManager!
    private(set) var security: BluetoothSecurity!
    private(set) var central: CBCentral?

    init(capability: PairingCapability?) {
        super.init()
        manager = CBPeripheralManager(delegate: self, queue: nil)
        security = BluetoothSecurity(manager: manager)
        security.delegate = self
        if let capability { security.setPolicy(PairingPolicy(capability: capability)) }
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        service.characteristics = [
            CBMutableCharacteristic(
                type: CBUUID(string: "FFF1"), properties: [.read, .notifyEncryptionRequired], value: nil,
                permissions: .readEncryptionRequired)
        ]
        peripheral.add(service)
        peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")]])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        central = request.central
        request.value = Data("secret".utf8)
        peripheral.respond(to: request, withResult: .success)
    }
}
