import BluetoothSimulation
import BluetoothTool
import CoreBluetooth
import Foundation
import Testing

/// More of a program's mistakes, each made in a world beside a sensor that is well, and the same program without it.
@Suite("Doctor reads logs of programs")
struct LogWorldTests {
    private final class App: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
        let keepsPeripheral: Bool
        private(set) var manager: CBCentralManager?
        private(set) var peripheral: CBPeripheral?
        private(set) var characteristics: [CBCharacteristic] = []

        init(keepsPeripheral: Bool = true) { self.keepsPeripheral = keepsPeripheral }

        func start() { manager = CBCentralManager(delegate: self, queue: nil) }

        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "FFF0")]) }
        }

        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
            rssi RSSI: NSNumber
        ) {
            central.stopScan()
            peripheral.delegate = self
            if keepsPeripheral { self.peripheral = peripheral }
            central.connect(peripheral)
        }

        func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
            peripheral.discoverServices([CBUUID(string: "FFF0")])
        }

        func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
            for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
        }

        func peripheral(
            _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
        ) { characteristics = service.characteristics ?? [] }

        func peripheral(
            _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
        ) {}

        func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {}
    }

    /// Serves FFF1 and FFF2, and has no method for requests.
    private final class Firmware: NSObject, CBPeripheralManagerDelegate {
        private(set) var manager: CBPeripheralManager?

        func start() { manager = CBPeripheralManager(delegate: self, queue: nil) }

        func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
            guard peripheral.state == .poweredOn else { return }
            let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
            service.characteristics = [
                CBMutableCharacteristic(
                    type: CBUUID(string: "FFF1"), properties: .read, value: nil, permissions: .readable)
            ]
            peripheral.add(service)
        }

        func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
            peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")]])
        }
    }

    private func findings(_ world: BluetoothWorld) -> [Cause] {
        LogReader.findings(in: world.reports.map(\.text).joined(separator: "\n")).map(\.cause)
    }

    /// A phone whose app has found what the sensor offers.
    private func connected(_ scene: DoctorWorld) throws -> (App, CBPeripheral) {
        scene.addSensor()
        let app = App()
        scene.phone.run { app.start() }
        #expect(scene.world.run(until: { !app.characteristics.isEmpty }, within: .seconds(10)))
        return (app, try #require(app.peripheral))
    }

    @Test("A program without a mistake: nothing")
    func well() throws {
        let scene = DoctorWorld()
        let (app, peripheral) = try connected(scene)
        peripheral.readValue(for: app.characteristics[0])
        peripheral.writeValue(Data([1]), for: app.characteristics[1], type: .withoutResponse)
        scene.world.run(for: .seconds(2))
        #expect(findings(scene.world).isEmpty)
    }

    @Test("A manager that nobody keeps")
    func forgottenManager() {
        let scene = DoctorWorld()
        let app = App()
        scene.phone.run { _ = CBCentralManager(delegate: app, queue: nil) }
        scene.world.run(for: .seconds(1))
        #expect(findings(scene.world) == [.logForgottenManager])
    }

    @Test("A peripheral that nobody keeps")
    func forgottenPeripheral() {
        let scene = DoctorWorld()
        scene.addSensor()
        let app = App(keepsPeripheral: false)
        scene.phone.run { app.start() }
        scene.world.run(for: .seconds(5))
        #expect(findings(scene.world) == [.logForgottenPeripheral])
    }

    @Test("A delegate that is gone when it is needed")
    func noDelegate() throws {
        let scene = DoctorWorld()
        let (app, peripheral) = try connected(scene)
        peripheral.delegate = nil
        peripheral.readValue(for: app.characteristics[0])
        scene.world.run(for: .seconds(2))
        #expect(findings(scene.world) == [.logNoDelegate])
    }

    @Test("A peripheral's delegate without the method for a read")
    func missingMethod() {
        let scene = DoctorWorld()
        let device = scene.world.addDevice("Sensor", at: .init(x: 2))
        let firmware = Firmware()
        device.run { firmware.start() }
        let app = App()
        scene.phone.run { app.start() }
        #expect(scene.world.run(until: { !app.characteristics.isEmpty }, within: .seconds(10)))
        app.peripheral?.readValue(for: app.characteristics[0])
        scene.world.run(for: .seconds(2))
        #expect(findings(scene.world) == [.logMissingMethod])
    }

    @Test("A write that is longer than the link carries")
    func cut() throws {
        let scene = DoctorWorld()
        let (app, peripheral) = try connected(scene)
        peripheral.writeValue(Data(count: 400), for: app.characteristics[1], type: .withoutResponse)
        scene.world.run(for: .seconds(1))
        #expect(findings(scene.world) == [.logWriteCut])
    }

    @Test("Writes faster than the link")
    func noRoom() throws {
        let scene = DoctorWorld()
        let (app, peripheral) = try connected(scene)
        for _ in 0..<400 {
            peripheral.writeValue(Data(count: 100), for: app.characteristics[1], type: .withoutResponse)
        }
        scene.world.run(for: .seconds(2))
        #expect(findings(scene.world) == [.logNoRoom])
    }

    @Test("A peripheral of another manager")
    func otherManager() throws {
        let scene = DoctorWorld()
        let (app, peripheral) = try connected(scene)
        let other = App()
        scene.phone.run { other.start() }
        scene.world.run(for: .seconds(1))
        other.manager?.connect(peripheral)
        scene.world.run(for: .seconds(1))
        #expect(findings(scene.world) == [.logOtherManager])
        withExtendedLifetime(app) {}
    }
}
