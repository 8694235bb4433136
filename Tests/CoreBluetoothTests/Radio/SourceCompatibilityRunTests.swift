import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Apps as they are")
struct SourceCompatibilityRunTests {
    @Test("C1: an app's central and peripheral, unchanged, talk to each other")
    func run() {
        let world = BluetoothWorld(seed: 1)
        let peripheral = world.addDevice("Lock", at: .init(x: 1)).run {
            let app = HabitualPeripheral()
            _ = app.manager
            return app
        }
        let central = world.addDevice("Phone").run { HabitualCentral() }
        #expect(world.run(until: { central.battery.values.first == Data([0x64]) }, within: .seconds(10)))
        #expect(central.confirmed == 1)
        #expect(peripheral.characteristic.value == Data("unlock".utf8))
        #expect(world.reports.isEmpty)
    }

    @Test("A delegate with the required method only is told nothing else, and nothing breaks")
    func silent() {
        let scene = LockWorld()
        let delegate = SilentCentral()
        let phone = scene.world.addDevice("Second phone", at: .init(y: 1))
        let manager = phone.run { CBCentralManager(delegate: delegate, queue: nil) }
        #expect(scene.wait { _ in manager.state == .poweredOn })
        manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(2))
        #expect(manager.isScanning)
    }

    @Test("Objects that are of no use, but that sources make")
    func useless() {
        #expect(CBUUID().data.count == 16)
        #expect(CBL2CAPChannel().peer == nil)
        #expect(UUIDSubclass(string: "FFF0").uuidString == "subclass")
    }
}
