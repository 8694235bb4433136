import BluetoothSimulation
import CoreBluetooth
import Glibc
import Testing

/// A misuse ends the program in strict mode, and the message says which and where. Each in a process of its own.
@Suite("Strict mode", .timeLimit(.minutes(60)))
struct StrictModeTests {
    /// Announces where the call stands that this line is for: on the next line.
    static func expectEnd(file: String = #filePath, line: Int = #line) {
        FileHandle.standardError.write(Data("expected: (called at \(file):\(line + 1))\n".utf8))
    }

    /// Whether the program ended where it said it would, with this text.
    private func check(_ result: ExitTest.Result?, _ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let expected = output.split(separator: "\n").first { $0.hasPrefix("expected: ") }?.dropFirst(10) ?? "(nowhere)"
        #expect(output.contains("Fatal error: [CoreBluetooth] "), "\(output)", sourceLocation: sourceLocation)
        #expect(output.contains(text), "\(output)", sourceLocation: sourceLocation)
        #expect(output.contains(expected), "\(output)", sourceLocation: sourceLocation)
    }

    @Test("BLE_STRICT=1: a manager used before it is powered on")
    func environment() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            unsafe setenv("BLE_STRICT", "1", 1)
            let phone = BluetoothWorld().addDevice("Phone")
            let app = phone.run { CentralApp() }
            StrictModeTests.expectEnd()
            app.manager.scanForPeripherals(withServices: nil)
        }
        check(result, "can only accept this command while in the powered on state")
    }

    @Test("BLE_STRICT=0, or none: the program goes on", arguments: ["0", ""])
    func off(value: String) async {
        await #expect(processExitsWith: .success) { [value] in
            unsafe setenv("BLE_STRICT", value, 1)
            let phone = BluetoothWorld().addDevice("Phone")
            let app = phone.run { CentralApp() }
            app.manager.scanForPeripherals(withServices: nil)
        }
    }

    @Test("From code: in a callback of the app's own, over the air")
    func insideCallback() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let scene = LockWorld()
            CoreBluetoothStrictMode.isEnabled = true
            try scene.connectAndDiscover()
            let characteristic = scene.app.characteristic("FFF1")
            scene.app.reactions["didReadRSSI"] = { _, peripheral in
                StrictModeTests.expectEnd()
                peripheral.writeValue(Data([1]), for: characteristic, type: .withoutResponse)
            }
            scene.app.peripheral.readRSSI()
            scene.world.run(for: .seconds(5))
        }
        check(result, "does not specify the \"Write Without Response\" property - ignoring response-less write")
    }

    @Test("The last reference to a peripheral")
    func unusedPeripheral() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let scene = LockWorld()
            CoreBluetoothStrictMode.isEnabled = true
            try scene.connect()
            StrictModeTests.expectEnd()
            scene.app.peripherals = []
        }
        check(result, "Cancelling connection for unused peripheral")
    }

    @Test("C2: advertised before didAdd")
    func order() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let scene = LockWorld(advertises: false)
            CoreBluetoothStrictMode.isEnabled = true
            scene.lockApp.manager.add(CBMutableService(type: CBUUID(string: "FFE0"), primary: true))
            StrictModeTests.expectEnd()
            scene.lockApp.manager.startAdvertising(nil)
        }
        check(result, "starts advertising while services are still being added: FFE0")
    }

    @Test("C3: a property without its permission")
    func contradiction() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let scene = LockWorld(advertises: false)
            CoreBluetoothStrictMode.isEnabled = true
            let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
            service.characteristics = [
                CBMutableCharacteristic(
                    type: CBUUID(string: "FFE1"), properties: .write, value: nil, permissions: .readable)
            ]
            StrictModeTests.expectEnd()
            scene.lockApp.manager.add(service)
        }
        check(result, "a property write but no permission writeable")
    }

    @Test("C4: what is found without a call of the program says so")
    func forgotten() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let scene = LockWorld()
            try scene.connectAndDiscover()
            CoreBluetoothStrictMode.isEnabled = true
            scene.lockApp.onRead = { _, _ in }
            scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
            FileHandle.standardError.write(Data("expected: (found in a callback, not in a call)\n".utf8))
            scene.world.run(for: .seconds(5))
        }
        check(result, "A read request was never answered")
    }

    @Test("What is no mistake of the program does not end it: no radio, a name that is too long, a service not added")
    func notes() async {
        await #expect(processExitsWith: .success) {
            CoreBluetoothStrictMode.isEnabled = true
            let world = BluetoothWorld()
            let phone = world.addDevice("Phone")
            let app = phone.run { PeripheralApp() }
            world.run(for: .seconds(1))
            app.manager.startAdvertising([
                CBAdvertisementDataLocalNameKey: String(repeating: "long ", count: 20),
                CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")],
            ])
            world.run(for: .seconds(1))
            phone.permission = .denied
            world.run(for: .seconds(1))
            precondition(world.reports.count == 3)
            withExtendedLifetime(app) {}
        }
    }
}
