import BluetoothSimulation
import CoreBluetooth
import Foundation
import Testing

@Suite("An app in the world of a file")
struct WorldFileAppTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test("The app of the file's program finds the lock, opens it, and loses it with its battery")
    func evening() throws {
        let world = try BluetoothWorld(contentsOf: Self.root.appending(path: "Examples/Worlds/evening.json").path)
        let app = world.program.run { CentralApp() }
        #expect(world.run(until: { app.manager.state == .poweredOn }, within: .seconds(1)))
        app.manager.scanForPeripherals(withServices: nil)
        #expect(world.run(until: { app.peripherals.contains { $0.name == "KL940704079" } }, within: .seconds(5)))
        let lock = try #require(app.peripherals.first { $0.name == "KL940704079" })
        app.manager.connect(lock)
        #expect(world.run(until: { lock.state == .connected }, within: .seconds(5)))
        world.device(named: "KL940704079")?.removeBattery()
        #expect(world.run(until: { app.log.contains("didDisconnect disconnected CBError 6") }, within: .seconds(10)))
    }

    @Test("What is wrong is thrown with its place")
    func wrong() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json").path
        try Data("{\n \"seed\": \"seven\" }".utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            _ = try BluetoothWorld(contentsOf: path)
            Issue.record("It was read.")
        } catch let problem as WorldFileProblem {
            #expect(problem.description == "\(path):2:10: seed: it must be a number, not a text")
        }
    }

    @Test("Ready devices from a test, and one that breaks every rule: nothing hangs, the app goes on")
    func outlaw() {
        let world = BluetoothWorld(seed: 5)
        world.addDevice(.outlaw, "Outlaw", at: .init(x: 1))
        world.addDevice(.battery, "Battery", at: .init(x: 2))
        let app = world.addDevice("Phone").run { CentralApp() }
        app.reactions["didDiscover"] = { app, peripheral in app.manager.connect(peripheral) }
        app.reactions["didConnect"] = { _, peripheral in peripheral.discoverServices(nil) }
        app.reactions["didDiscoverServices"] = { _, peripheral in
            for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
        }
        app.reactions["didDiscoverCharacteristics"] = { _, peripheral in
            for characteristic in (peripheral.services ?? []).flatMap({ $0.characteristics ?? [] }) {
                if characteristic.properties.contains(.read) { peripheral.readValue(for: characteristic) }
                if characteristic.properties.contains(.notify) { peripheral.setNotifyValue(true, for: characteristic) }
            }
        }
        app.reactions["didDisconnect"] = { app, peripheral in app.manager.connect(peripheral) }
        world.run(until: { app.manager.state == .poweredOn }, within: .seconds(1))
        app.manager.scanForPeripherals(withServices: nil)
        world.run(for: .seconds(300))
        #expect(app.log.contains { $0.hasPrefix("didUpdateValue 2A19") }, "the other device is served all the while")
        #expect(app.log.count { $0.hasPrefix("didConnect") } >= 2, "the outlaw too was connected")
    }
}
