import BluetoothSimulation
import CoreBluetooth
import Testing

/// A lock and a phone on the simulated air, both with real hosts.
final class LockWorld {
    let world: BluetoothWorld
    let lock: SimulatedDevice
    let phone: SimulatedDevice
    let lockApp: PeripheralApp
    let app: CentralApp

    /// FFF0 with FFF1 (read, write, notify), FFF2 (write without response), FFF3 (indicate), FFF4 (constant), FFF5
    /// (read, but not permitted), FFF6 (write, but not permitted).
    let value = CBMutableCharacteristic(
        type: CBUUID(string: "FFF1"), properties: [.read, .write, .notify], value: nil,
        permissions: [.readable, .writeable])
    let command = CBMutableCharacteristic(
        type: CBUUID(string: "FFF2"), properties: .writeWithoutResponse, value: nil, permissions: .writeable)
    let indicated = CBMutableCharacteristic(
        type: CBUUID(string: "FFF3"), properties: .indicate, value: nil, permissions: [])
    let constant = CBMutableCharacteristic(
        type: CBUUID(string: "FFF4"), properties: .read, value: Data("constant".utf8), permissions: .readable)
    let unreadable = CBMutableCharacteristic(
        type: CBUUID(string: "FFF5"), properties: .read, value: nil, permissions: [])
    let unwriteable = CBMutableCharacteristic(
        type: CBUUID(string: "FFF6"), properties: .write, value: nil, permissions: [])
    let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)

    init(seed: UInt64 = 7, lockMTU: Int = 185, phoneMTU: Int = 185, advertises: Bool = true) {
        world = BluetoothWorld(seed: seed)
        lock = world.addDevice("Door lock", at: .init(x: 2), mtu: lockMTU)
        phone = world.addDevice("Phone", mtu: phoneMTU)
        lockApp = lock.run { PeripheralApp() }
        app = phone.run { CentralApp() }
        value.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Door")]
        service.characteristics = [value, command, indicated, constant, unreadable, unwriteable]
        world.run(
            until: { [app, lockApp] in
                app.manager.state == .poweredOn && lockApp.manager.state == .poweredOn
            }, within: .seconds(2))
        lockApp.manager.add(service)
        #expect(wait { $0.lockApp.log.contains("didAdd FFF0") })
        if advertises { advertise() }
    }

    func advertise() {
        lockApp.manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "KL940704079",
            CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")],
        ])
        #expect(wait { $0.lockApp.log.contains("didStartAdvertising") })
        _ = lockApp.take()
    }

    /// Lets time pass until it is so, ten seconds at most.
    func wait(for limit: Duration = .seconds(10), _ condition: (LockWorld) -> Bool) -> Bool {
        world.run(until: { condition(self) }, within: limit)
    }

    func waitForLog(
        _ entry: String, within limit: Duration = .seconds(10), sourceLocation: SourceLocation = #_sourceLocation
    ) {
        if !wait(for: limit, { $0.app.log.contains(entry) }) {
            Issue.record("The phone never heard \(entry), but \(app.log).", sourceLocation: sourceLocation)
        }
    }

    /// Scans, finds the lock, and stops.
    func find(sourceLocation: SourceLocation = #_sourceLocation) throws {
        app.manager.scanForPeripherals(withServices: nil)
        try #require(wait { $0.app.peripherals.contains { $0.name == "KL940704079" } }, sourceLocation: sourceLocation)
        app.manager.stopScan()
        _ = app.take()
    }

    func connect(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try find(sourceLocation: sourceLocation)
        app.manager.connect(app.peripheral)
        try #require(wait { $0.app.log.contains("didConnect connected") }, sourceLocation: sourceLocation)
    }

    func discover(sourceLocation: SourceLocation = #_sourceLocation) throws {
        app.peripheral.discoverServices(nil)
        try #require(wait { $0.app.peripheral.services != nil }, sourceLocation: sourceLocation)
        let service = try #require(app.peripheral.services?.first)
        app.peripheral.discoverCharacteristics(nil, for: service)
        try #require(wait { _ in service.characteristics != nil }, sourceLocation: sourceLocation)
        _ = app.take()
        _ = lockApp.take()
    }

    func connectAndDiscover(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try connect(sourceLocation: sourceLocation)
        try discover(sourceLocation: sourceLocation)
    }
}
