import BluetoothSimulation
import CoreBluetooth
import XCTest

/// XCTest, for it runs its tests on the main thread and not in a block of the main queue.
final class MainQueueTests: XCTestCase {
    /// B-A1: a world that runs on the main thread lets the main queue have its say before time moves.
    func testWorldOnTheMainThread() {
        XCTAssertTrue(Thread.isMainThread)
        let world = BluetoothWorld(seed: 1)
        let peripheral = world.addDevice("Lock", at: .init(x: 1)).run { PeripheralApp(queue: .main) }
        let central = world.addDevice("Phone").run { CentralApp(queue: .main) }
        world.run(for: .seconds(1))
        XCTAssertEqual(central.take(), ["state poweredOn"])
        peripheral.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Lock"])
        central.manager.scanForPeripherals(withServices: nil)
        world.run(for: .seconds(1))
        XCTAssertEqual(central.peripherals.map(\.name), ["Lock"])
    }

    /// C16: and so do queues of the app's own.
    func testOwnQueue() {
        let world = BluetoothWorld(seed: 1)
        let queue = DispatchQueue(label: "parsing")
        let peripheral = world.addDevice("Lock", at: .init(x: 1)).run { PeripheralApp(queue: queue) }
        let central = world.addDevice("Phone").run { CentralApp(queue: queue) }
        world.run(for: .seconds(1))
        XCTAssertEqual(peripheral.take(), ["state poweredOn"])
        peripheral.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Lock"])
        central.manager.scanForPeripherals(withServices: nil)
        central.reactions["didDiscover"] = { app, found in
            dispatchPrecondition(condition: .onQueue(queue))
            app.manager.stopScan()
            queue.async { app.manager.connect(found) }
        }
        world.run(for: .seconds(2))
        XCTAssertEqual(central.peripheral.state, .connected)
    }
}
