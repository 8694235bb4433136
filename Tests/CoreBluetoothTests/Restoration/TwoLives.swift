import BluetoothSimulation
import CoreBluetooth
import Testing

/// A phone and a lock whose apps can be killed and started again.
final class TwoLives {
    let world: BluetoothWorld
    let phone: SimulatedDevice
    let lock: SimulatedDevice
    private var currentApp: CentralApp?
    private var currentLockApp: PeripheralApp?
    /// FFF1 (read, write, notify) of FFF0.
    var value: CBMutableCharacteristic!
    /// The earlier lives, which are dead and must hear nothing.
    private var dead: [CentralApp] = []
    private var deadLocks: [PeripheralApp] = []

    init(seed: UInt64 = 7, folder: String? = nil, phoneName: String = "Phone") {
        world = BluetoothWorld(seed: seed)
        phone = world.addDevice(phoneName)
        lock = world.addDevice("Door lock", at: .init(x: 2))
        if let folder { for device in [phone, lock] { device.keepState(in: folder) } }
    }

    // MARK: The phone

    var app: CentralApp {
        guard let currentApp else { preconditionFailure("The phone's app has not been started.") }
        return currentApp
    }

    func startApp(_ identifier: String? = "phone", prepare: (CentralApp) -> Void = { _ in }) {
        currentApp = phone.run {
            CentralApp(options: identifier.map { [CBCentralManagerOptionRestoreIdentifierKey: $0] })
        }
        prepare(app)
    }

    /// Kills the app, lets time pass, and starts it anew.
    func restartApp(
        _ identifier: String? = "phone", after pause: Duration = .seconds(3), prepare: (CentralApp) -> Void = { _ in }
    ) {
        phone.killApp()
        _ = app.take()
        dead.append(app)
        world.run(for: pause)
        startApp(identifier, prepare: prepare)
    }

    // MARK: The lock

    var lockApp: PeripheralApp {
        guard let currentLockApp else { preconditionFailure("The lock's app has not been started.") }
        return currentLockApp
    }

    func startLock() {
        currentLockApp = lock.run {
            PeripheralApp(options: [CBPeripheralManagerOptionRestoreIdentifierKey: "lock"])
        }
    }

    func restartLock(after pause: Duration = .seconds(3)) {
        lock.killApp()
        _ = lockApp.take()
        deadLocks.append(lockApp)
        world.run(for: pause)
        startLock()
    }

    func publish(sourceLocation: SourceLocation = #_sourceLocation) {
        startLock()
        run(until: "state poweredOn", of: lockApp, sourceLocation: sourceLocation)
        value = CBMutableCharacteristic(
            type: CBUUID(string: "FFF1"), properties: [.read, .write, .notify], value: nil,
            permissions: [.readable, .writeable])
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        service.characteristics = [value]
        lockApp.manager.add(service)
        run(until: "didAdd FFF0", of: lockApp, sourceLocation: sourceLocation)
        lockApp.manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "KL940704079",
            CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")],
        ])
        run(until: "didStartAdvertising", of: lockApp, sourceLocation: sourceLocation)
        _ = lockApp.take()
    }

    // MARK: Time

    func run(until entry: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let app = app
        if !world.run(until: { app.log.contains(entry) }, within: .seconds(20)) {
            Issue.record("The phone never heard \(entry), but \(app.log).", sourceLocation: sourceLocation)
        }
    }

    func run(until entry: String, of app: PeripheralApp, sourceLocation: SourceLocation = #_sourceLocation) {
        if !world.run(until: { app.log.contains(entry) }, within: .seconds(20)) {
            Issue.record("The lock never heard \(entry), but \(app.log).", sourceLocation: sourceLocation)
        }
    }

    /// Lets time pass, after which all that can happen has happened.
    func rest() { world.run(for: .seconds(5)) }

    // MARK: Steps

    func powerOn(sourceLocation: SourceLocation = #_sourceLocation) {
        run(until: "state poweredOn", sourceLocation: sourceLocation)
    }

    func find(sourceLocation: SourceLocation = #_sourceLocation) throws {
        powerOn(sourceLocation: sourceLocation)
        app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        let app = app
        let isFound = world.run(until: { !app.peripherals.isEmpty }, within: .seconds(10))
        try #require(isFound, sourceLocation: sourceLocation)
        app.manager.stopScan()
    }

    func connect(options: [String: Any]? = nil, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try find(sourceLocation: sourceLocation)
        app.manager.connect(app.peripheral, options: options)
        run(until: "didConnect connected", sourceLocation: sourceLocation)
    }

    func subscribe(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try connect(sourceLocation: sourceLocation)
        app.peripheral.discoverServices(nil)
        run(until: "didDiscoverServices [FFF0]", sourceLocation: sourceLocation)
        app.peripheral.discoverCharacteristics(nil, for: try #require(app.peripheral.services?.first))
        run(until: "didDiscoverCharacteristics [FFF1]", sourceLocation: sourceLocation)
        app.peripheral.setNotifyValue(true, for: app.characteristic("FFF1"))
        run(until: "didUpdateNotificationState FFF1 true", sourceLocation: sourceLocation)
        _ = app.take()
        _ = lockApp.take()
    }

    /// Nobody who is dead was told anything after his death.
    func expectSilence(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(dead.allSatisfy { $0.log.isEmpty }, sourceLocation: sourceLocation)
        #expect(deadLocks.allSatisfy { $0.log.isEmpty }, sourceLocation: sourceLocation)
    }

    var misuses: [String] { world.reports.map(\.text).filter { $0.contains("API MISUSE") } }
}
