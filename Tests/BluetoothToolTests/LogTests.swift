import BluetoothSimulation
import BluetoothTool
import CoreBluetooth
import Foundation
import Testing

/// A program's mistakes, made in a world; the doctor reads what the log says of them.
@Suite("Doctor reads logs")
struct LogTests {
    private func findings(_ world: BluetoothWorld) -> [Cause] {
        LogReader.findings(in: world.reports.map(\.text).joined(separator: "\n")).map(\.cause)
    }

    private final class Central: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
        lazy var manager = CBCentralManager(delegate: self, queue: nil)
        var peripheral: CBPeripheral?
        func centralManagerDidUpdateState(_ central: CBCentralManager) {}
        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
            rssi RSSI: NSNumber
        ) {
            self.peripheral = peripheral
            peripheral.delegate = self
        }
        func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {}
        func peripheral(
            _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
        ) {}
        func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {}
    }

    private final class Peripheral: NSObject, CBPeripheralManagerDelegate {
        lazy var manager = CBPeripheralManager(delegate: self, queue: nil)
        func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
        func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {}
        func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {}
        func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {}
        func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {}
    }

    @Test("A central's mistakes: too early, without a link, forgotten, unanswered, in the wrong way, outdated")
    func central() throws {
        let world = BluetoothWorld(seed: 1)
        let phone = world.addDevice("Phone")
        let sensor = world.addDevice("Sensor", at: .init(x: 2))
        let firmware = sensor.run { Peripheral() }
        _ = sensor.run { firmware.manager }
        let app = phone.run { Central() }
        phone.run { app.manager.scanForPeripherals(withServices: nil) }
        #expect(findings(world) == [.logTooEarly])
        world.run(for: .seconds(1))
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        service.characteristics = [
            CBMutableCharacteristic(
                type: CBUUID(string: "FFF1"), properties: [.read, .write], value: nil,
                permissions: [.readable, .writeable])
        ]
        firmware.manager.add(service)
        world.run(for: .seconds(1))
        firmware.manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Sensor", CBAdvertisementDataManufacturerDataKey: "no",
        ])
        #expect(findings(world) == [.logTooEarly, .logIgnoredKey])
        app.manager.scanForPeripherals(withServices: nil)
        world.run(until: { app.peripheral != nil }, within: .seconds(5))
        let found = try #require(app.peripheral)
        found.discoverServices(nil)
        #expect(findings(world).last == .logNotConnected)
        app.manager.connect(found)
        world.run(until: { found.state == .connected }, within: .seconds(5))
        found.discoverServices(nil)
        world.run(until: { found.services != nil }, within: .seconds(5))
        let remote = try #require(found.services?.first)
        found.discoverCharacteristics(nil, for: remote)
        world.run(until: { remote.characteristics != nil }, within: .seconds(5))
        let characteristic = try #require(remote.characteristics?.first)
        found.writeValue(Data(), for: characteristic, type: .withoutResponse)
        #expect(findings(world).last == .logWriteWithoutProperty)
        found.readValue(for: characteristic)
        world.run(for: .seconds(1))
        #expect(findings(world).contains(.logForgottenResponse))
        app.manager.cancelPeripheralConnection(found)
        world.run(until: { found.state == .disconnected }, within: .seconds(5))
        app.manager.connect(found)
        world.run(until: { found.state == .connected }, within: .seconds(5))
        found.readValue(for: characteristic)
        #expect(findings(world).last == .logStaleObject)
    }

    @Test("A peripheral's mistakes: advertised too early, contradictions, refused services")
    func peripheral() {
        let world = BluetoothWorld(seed: 1)
        let sensor = world.addDevice("Sensor")
        let firmware = sensor.run { Peripheral() }
        _ = sensor.run { firmware.manager }
        world.run(for: .seconds(1))
        firmware.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")]])
        #expect(findings(world) == [.logAdvertisedTooEarly])
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        service.characteristics = [
            CBMutableCharacteristic(
                type: CBUUID(string: "FFF1"), properties: .read, value: nil, permissions: .writeable)
        ]
        firmware.manager.add(service)
        #expect(findings(world).last == .logContradiction)
        firmware.manager.add(CBMutableService(type: CBUUID(string: "1800"), primary: true))
        #expect(findings(world).last == .logRefusedService)
    }

    @Test("No values in the background: the mode that is missing; silent with it", arguments: [false, true])
    func background(isDeclared: Bool) {
        let world = BluetoothWorld(seed: 1)
        let phone = world.addDevice("Phone")
        if isDeclared { phone.backgroundModes = .bluetoothCentral }
        let app = phone.run { Central() }
        phone.run { _ = app.manager }
        world.run(for: .seconds(1))
        app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        world.run(for: .seconds(1))
        phone.isInBackground = true
        world.run(for: .seconds(10))
        #expect(findings(world) == (isDeclared ? [] : [.logBackground]))
    }

    @Test("What the reader looks for is what the library says", arguments: LogReader.signs.map(\.text))
    func words(text: String) throws {
        let sources = DeviceCommandTests.root.appendingPathComponent("Sources")
        var said = ""
        for target in ["CoreBluetooth", "Host", "Simulation"] {
            let walk = FileManager.default.enumerator(
                at: sources.appendingPathComponent(target), includingPropertiesForKeys: nil)
            for file in (walk?.compactMap { $0 as? URL } ?? []) where file.pathExtension == "swift" {
                said += try String(contentsOf: file, encoding: .utf8)
            }
        }
        // A sentence of two lines is two strings with a plus between them.
        said = said.replacing(/"\s*\+\s*"/, with: "")
        #expect(said.contains(text), "nothing says \(text)")
        let findings = LogReader.findings(in: "12:00 [CoreBluetooth] API MISUSE: \(text), as it stands in a line")
        #expect(findings.map(\.cause) == LogReader.signs.filter { $0.text == text }.map(\.cause))
    }

    @Test("Nothing is found in a log without mistakes")
    func silence() {
        #expect(LogReader.findings(in: "all is well\n[CoreBluetooth] WARNING: something new\n").isEmpty)
        #expect(LogReader.findings(in: "").isEmpty)
    }
}
