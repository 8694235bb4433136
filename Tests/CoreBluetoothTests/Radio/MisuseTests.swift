import BluetoothSimulation
import CoreBluetooth
import Testing

/// Programs that do what the documentation advises against, over the simulated air.
@Suite("Over the air: careless programs")
struct MisuseTests {
    @Test("Everything may be called inside every callback")
    func callsInsideCallbacks() throws {
        let scene = LockWorld()
        let names = [
            "didDiscover", "didConnect", "didDisconnect", "didDiscoverServices", "didDiscoverCharacteristics",
            "didUpdateValue", "didWriteValue", "didUpdateNotificationState", "didReadRSSI", "isReady",
        ]
        for name in names {
            scene.app.reactions[name] = { app, peripheral in
                app.manager.connect(peripheral)
                app.manager.scanForPeripherals(withServices: nil)
                app.manager.stopScan()
                peripheral.readRSSI()
                peripheral.discoverServices(nil)
                for service in peripheral.services ?? [] {
                    peripheral.discoverCharacteristics(nil, for: service)
                    for characteristic in service.characteristics ?? [] where app.log.count < 300 {
                        peripheral.readValue(for: characteristic)
                        peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
                        peripheral.writeValue(Data([1]), for: characteristic, type: .withoutResponse)
                        if !characteristic.isNotifying { peripheral.setNotifyValue(true, for: characteristic) }
                    }
                }
                if app.log.count % 7 == 0 { app.manager.cancelPeripheralConnection(peripheral) }
            }
        }
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(5))
        scene.app.reactions = [:]
        scene.world.run(for: .seconds(60))
        for peripheral in scene.app.peripherals { scene.app.manager.cancelPeripheralConnection(peripheral) }
        scene.world.run(for: .seconds(5))
        #expect(scene.app.peripherals.allSatisfy { $0.state == .disconnected })
        scene.app.peripherals = []
        try reach(scene)
    }

    /// Finds the lock, by whatever name it is known by now, and connects.
    private func reach(_ scene: LockWorld) throws {
        _ = scene.app.take()
        scene.app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        try #require(scene.wait { !$0.app.peripherals.isEmpty })
        scene.app.manager.stopScan()
        scene.app.manager.connect(scene.app.peripheral)
        #expect(scene.wait { $0.app.log.contains("didConnect connected") })
    }

    @Test("An app may go at any moment; its link goes with it")
    func appsGo() throws {
        for milliseconds in stride(from: 0, to: 1200, by: 60) {
            let scene = LockWorld(seed: UInt64(milliseconds))
            var other: CentralApp? = scene.phone.run { CentralApp() }
            weak let gone = other
            scene.world.run(until: { other?.manager.state == .poweredOn }, within: .seconds(1))
            other?.reactions["didDiscover"] = { $0.manager.connect($1) }
            other?.reactions["didConnect"] = { $1.discoverServices(nil) }
            other?.manager.scanForPeripherals(withServices: nil)
            scene.world.run(for: .milliseconds(milliseconds))
            other = nil
            scene.world.run(for: .seconds(1))
            #expect(gone == nil)
            // The lock advertises again, so nobody holds it.
            try reach(scene)
        }
    }

    @Test("An app that goes in the middle of a callback")
    func goesInsideCallback() throws {
        final class Holder: @unchecked Sendable { var app: CentralApp? }
        for name in ["didDiscover", "didConnect", "didDiscoverServices"] {
            let scene = LockWorld()
            let holder = Holder()
            holder.app = scene.phone.run { CentralApp() }
            scene.world.run(until: { holder.app?.manager.state == .poweredOn }, within: .seconds(1))
            holder.app?.reactions["didDiscover"] = { $0.manager.connect($1) }
            holder.app?.reactions["didConnect"] = { $1.discoverServices(nil) }
            holder.app?.reactions[name] = { _, _ in holder.app = nil }
            holder.app?.manager.scanForPeripherals(withServices: nil)
            scene.world.run(for: .seconds(3))
            #expect(holder.app == nil)
            try reach(scene)
        }
    }

    @Test("Answering twice, never, after the link, or for a service that has gone")
    func answers() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        var kept: [CBATTRequest] = []
        scene.lockApp.onRead = { app, request in
            app.manager.respond(to: request, withResult: .success)
            app.manager.respond(to: request, withResult: .success)
            kept.append(request)
        }
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        scene.world.run(for: .seconds(1))
        #expect(scene.app.take() == ["didUpdateValue FFF1 "])
        // Never, until the link has ended; then it is too late.
        scene.lockApp.onRead = { _, request in kept.append(request) }
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        scene.world.run(for: .seconds(1))
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.world.run(for: .seconds(1))
        for request in kept { scene.lockApp.manager.respond(to: request, withResult: .success) }
        scene.world.run(for: .seconds(1))
        #expect(scene.app.take() == ["didDisconnect disconnected"])
        // A service that goes while a read is open.
        scene.app.manager.connect(scene.app.peripheral)
        #expect(scene.wait { $0.app.peripheral.state == .connected })
        try scene.discover()
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        scene.world.run(for: .milliseconds(200))
        scene.lockApp.manager.remove(scene.service)
        scene.world.run(for: .seconds(1))
        #expect(scene.app.log.contains { $0.hasPrefix("didUpdateValue FFF1 - CBATTError 1") }, "\(scene.app.log)")
        for request in kept { scene.lockApp.manager.respond(to: request, withResult: .success) }
        scene.world.run(for: .seconds(1))
        #expect(scene.app.peripheral.state == .connected)
    }

    @Test("Two managers of one device advertise, and each serves its own service")
    func twoPeripheralManagers() throws {
        let scene = LockWorld()
        let second = scene.lock.run { PeripheralApp() }
        scene.world.run(until: { second.manager.state == .poweredOn }, within: .seconds(1))
        let value = CBMutableCharacteristic(
            type: CBUUID(string: "FFE1"), properties: .read, value: nil, permissions: .readable)
        let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
        service.characteristics = [value]
        second.manager.add(service)
        second.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFE0")]])
        scene.world.run(for: .milliseconds(200))
        #expect(second.manager.isAdvertising && scene.lockApp.manager.isAdvertising)
        second.onRead = { app, request in
            request.value = Data([0xE1])
            app.manager.respond(to: request, withResult: .success)
        }
        try scene.connect()
        scene.app.peripheral.discoverServices([CBUUID(string: "FFE0")])
        #expect(scene.wait { $0.app.peripheral.services?.isEmpty == false })
        scene.app.peripheral.discoverCharacteristics(nil, for: try #require(scene.app.peripheral.services?.first))
        #expect(scene.wait { $0.app.peripheral.services?.first?.characteristics != nil })
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFE1"))
        scene.waitForLog("didUpdateValue FFE1 e1")
        // One of them stops; the other is still seen.
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.lockApp.manager.stopAdvertising()
        scene.world.run(for: .seconds(1))
        scene.app.advertisements = []
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(2))
        let seen = scene.app.advertisements.last?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID]
        #expect(seen == [CBUUID(string: "FFE0")])
    }

    @Test("Updates for nobody, for too many, too long; a subscriber hears what was taken")
    func updateFlood() throws {
        let scene = LockWorld()
        #expect(scene.lockApp.manager.updateValue(Data([0]), for: scene.value, onSubscribedCentrals: nil))
        #expect(scene.lockApp.manager.updateValue(Data([0]), for: scene.value, onSubscribedCentrals: []))
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        _ = scene.app.take()
        var taken = 0
        for _ in 0..<10_000 {
            let long = Data(repeating: 5, count: 100_000)
            if scene.lockApp.manager.updateValue(long, for: scene.value, onSubscribedCentrals: nil) { taken += 1 }
        }
        scene.world.run(for: .seconds(5))
        #expect((1...100).contains(taken))
        #expect(scene.app.take().count == taken)
        #expect(scene.lockApp.log.contains("isReady"))
    }

    @Test("Eight devices, and four phones that connect to whatever they find")
    func crowd() {
        let world = BluetoothWorld(seed: 8)
        var locks: [PeripheralApp] = []
        for index in 0..<8 {
            let device = world.addDevice("Device \(index)", at: .init(x: Double(index % 6), y: Double(index / 6)))
            locks.append(device.run { PeripheralApp() })
        }
        var phones: [CentralApp] = []
        for index in 0..<4 {
            let device = world.addDevice("Phone \(index)", at: .init(x: Double(index), y: 6))
            let app = device.run { CentralApp() }
            app.reactions["didDiscover"] = { $0.manager.connect($1) }
            app.reactions["didConnect"] = { $1.discoverServices(nil) }
            phones.append(app)
        }
        world.run(for: .seconds(1))
        for (index, lock) in locks.enumerated() {
            lock.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "L\(index)"])
        }
        for phone in phones { phone.manager.scanForPeripherals(withServices: nil) }
        world.run(for: .seconds(10))
        let discovered = phones.reduce(0) { $0 + $1.log.count { $0 == "didDiscoverServices []" } }
        // Each device serves one phone, which keeps it.
        #expect(discovered == 8, "\(discovered)")
    }
}
