import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Over the air: finding, connecting, losing")
struct RadioConnectionTests {
    @Test("A1, B-B1: both managers hear that the radio is on")
    func powerOn() {
        let scene = LockWorld(advertises: false)
        #expect(scene.app.take() == ["state poweredOn"])
    }

    @Test("B-B4, B-B5: off and on again, as the phone's owner does it")
    func powerCycle() throws {
        let scene = LockWorld()
        try scene.connect()
        scene.phone.setBluetooth(on: false)
        scene.waitForLog("state poweredOff")
        #expect(scene.app.take() == ["didConnect connected", "state poweredOff"], "no disconnection is told")
        #expect(scene.app.peripheral.state == .disconnected && scene.app.peripheral.services == nil)
        scene.phone.setBluetooth(on: true)
        scene.waitForLog("state poweredOn")
        scene.app.manager.connect(scene.app.peripheral)
        scene.waitForLog("didConnect connected")
    }

    @Test("B2, B-B7: a missing permission is told with its reason")
    func denied() {
        let scene = LockWorld(advertises: false)
        scene.phone.permission = .denied
        scene.waitForLog("state unauthorized")
        #expect(scene.app.manager.authorization == .denied)
        #expect(
            scene.world.reports.contains { $0.device == "Phone" && $0.text.contains("has denied this app Bluetooth") })
    }

    @Test("A2, A3, B-C2, B-C3: found with and without a filter, with the scan response's fields")
    func scan() throws {
        let scene = LockWorld()
        let other = scene.world.addDevice("Other", at: .init(y: 1))
        let otherApp = other.run { PeripheralApp() }
        #expect(scene.wait { _ in otherApp.manager.state == .poweredOn })
        otherApp.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Other"])
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(2))
        #expect(Set(scene.app.peripherals.map(\.name)) == ["KL940704079", "Other"])
        let lock = try #require(
            scene.app.advertisements.last { $0[CBAdvertisementDataLocalNameKey] as? String == "KL940704079" })
        #expect(lock[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "FFF0")])
        #expect(lock[CBAdvertisementDataIsConnectable] as? Bool == true)
        scene.app.manager.stopScan()
        scene.world.run(for: .milliseconds(100))
        scene.app.peripherals = []
        _ = scene.app.take()
        scene.world.run(for: .seconds(2))
        #expect(scene.app.take().isEmpty)
        scene.app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        scene.world.run(for: .seconds(2))
        #expect(scene.app.peripherals.map(\.name) == ["KL940704079"])
        #expect(scene.app.log.count <= 2, "duplicates are off")
    }

    @Test("B-C4, D1: with duplicates every packet is reported")
    func duplicates() throws {
        let scene = LockWorld()
        scene.app.manager.scanForPeripherals(
            withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        scene.world.run(for: .seconds(2))
        #expect(scene.app.log.count > 5)
        #expect(scene.app.peripherals.count == 1)
    }

    @Test("B-A6: the identifier is the same each time, and another on another phone")
    func identifiers() throws {
        func identifier(seed: UInt64) throws -> UUID {
            let scene = LockWorld(seed: seed)
            try scene.find()
            return scene.app.peripheral.identifier
        }
        #expect(try identifier(seed: 1) == identifier(seed: 2))
        let scene = LockWorld()
        let second = scene.world.addDevice("Second phone", at: .init(y: 2))
        let secondApp = second.run { CentralApp() }
        #expect(scene.wait { _ in secondApp.manager.state == .poweredOn })
        secondApp.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { _ in !secondApp.peripherals.isEmpty })
        #expect(try secondApp.peripheral.identifier != identifier(seed: 1))
    }

    @Test("B-D2, B-C9: connected; the device's own name is read and wins")
    func connect() throws {
        let scene = LockWorld()
        try scene.connect()
        scene.waitForLog("didUpdateName Door lock")
        #expect(scene.app.peripheral.name == "Door lock")
    }

    @Test("B-D3: an attempt that is cancelled, at a lock out of reach")
    func cancelAttempt() throws {
        let scene = LockWorld()
        try scene.find()
        scene.lock.position = .init(x: 10_000)
        scene.app.manager.connect(scene.app.peripheral)
        scene.world.run(for: .seconds(60))
        #expect(scene.app.log.isEmpty && scene.app.peripheral.state == .connecting, "it waits for ever")
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        #expect(scene.app.log == ["didDisconnect disconnected"])
    }

    @Test("B-D1: an attempt waits until the device comes")
    func lateDevice() throws {
        let scene = LockWorld()
        try scene.find()
        scene.lock.position = .init(x: 10_000)
        scene.app.manager.connect(scene.app.peripheral)
        scene.world.run(for: .seconds(60))
        scene.lock.position = .init(x: 2)
        scene.waitForLog("didConnect connected")
    }

    @Test("B-D4, B-D8: the app ends the link")
    func disconnect() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        #expect(scene.app.peripheral.state == .disconnecting)
        scene.waitForLog("didDisconnect disconnected")
        #expect(scene.app.peripheral.services == nil)
    }

    @Test("A8, B-D6: the battery is out; CBError 6 after the supervision timeout, and connected again")
    func accidentalDisconnect() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let before = scene.world.now
        scene.lock.position = .init(x: 10_000)
        scene.waitForLog("didDisconnect disconnected CBError 6")
        #expect(scene.world.now - before < .seconds(3))
        #expect(scene.app.errors.last?.localizedDescription == "The connection has timed out unexpectedly.")
        scene.app.manager.connect(scene.app.peripheral)
        scene.lock.position = .init(x: 2)
        scene.waitForLog("didConnect connected")
        try scene.discover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
    }

    @Test("B-D10: auto-reconnect")
    func autoReconnect() throws {
        let scene = LockWorld()
        try scene.find()
        scene.app.manager.connect(
            scene.app.peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
        scene.waitForLog("didConnect connected")
        scene.lock.position = .init(x: 10_000)
        scene.waitForLog("didDisconnect connecting CBError 6")
        _ = scene.app.take()
        scene.lock.position = .init(x: 2)
        scene.waitForLog("didConnect connected")
    }

    @Test("B-D12: an attempt that begins later")
    func startDelay() throws {
        let scene = LockWorld()
        try scene.find()
        let before = scene.world.now
        scene.app.manager.connect(scene.app.peripheral, options: [CBConnectPeripheralOptionStartDelayKey: 3])
        scene.waitForLog("didConnect connected")
        #expect(scene.world.now - before > .seconds(3))
    }

    @Test("B-A8, B-D5, B-C12: two managers share a link, and each has its own hold")
    func twoManagers() throws {
        let scene = LockWorld()
        try scene.connect()
        let second = scene.phone.run { CentralApp() }
        #expect(scene.wait { _ in second.manager.state == .poweredOn })
        let identifier = scene.app.peripheral.identifier
        second.peripherals = second.manager.retrievePeripherals(withIdentifiers: [identifier])
        let shared = try #require(second.peripherals.first)
        #expect(shared !== scene.app.peripheral && shared.state == .disconnected)
        second.manager.connect(shared)
        #expect(scene.wait { _ in shared.state == .connected })
        _ = scene.app.take()
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        scene.world.run(for: .seconds(5))
        #expect(shared.state == .connected)
        shared.readRSSI()
        #expect(scene.wait { _ in second.log.contains { $0.hasPrefix("didReadRSSI -") } })
    }

    @Test("The same seed gives the same run")
    func determinism() throws {
        func run() throws -> [String] {
            let scene = LockWorld(seed: 42)
            scene.world.packetLoss = 0.1
            try scene.connectAndDiscover()
            scene.app.peripheral.readRSSI()
            scene.app.peripheral.readValue(for: scene.app.characteristic("FFF4"))
            scene.world.run(for: .seconds(5))
            return scene.app.log + ["\(scene.app.peripheral.identifier)"]
        }
        #expect(try run() == run())
    }
}
