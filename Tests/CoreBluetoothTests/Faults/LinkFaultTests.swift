import BluetoothSimulation
import BluetoothSimulationTesting
import CoreBluetooth
import Testing

@Suite("Faults of advertising and links, as an app sees them", .recordsFailures)
struct LinkFaultTests {
    private let scene = LockWorld()

    private func scan(_ services: [CBUUID]? = nil, for duration: Duration = .seconds(5)) {
        scene.app.manager.scanForPeripherals(withServices: services)
        scene.world.run(for: duration)
    }

    @Test("malformedAdvertisement: found all the same, with what comes before the break")
    func malformed() throws {
        scene.lock.addFault(.malformedAdvertisement)
        scan([CBUUID(string: "FFF0")])
        let data = try #require(scene.app.advertisements.first)
        #expect(data[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "FFF0")])
    }

    @Test("swappedServiceUUID: a scan for the service finds nobody, a scan for everything does")
    func swapped() throws {
        scene.lock.addFault(.swappedServiceUUID)
        scan([CBUUID(string: "FFF0")])
        #expect(scene.app.peripherals.isEmpty)
        scene.app.manager.stopScan()
        scan()
        let data = try #require(scene.app.advertisements.first)
        #expect(data[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "F0FF")])
        scene.lock.removeFault(.swappedServiceUUID)
        scene.app.advertisements = []
        scene.app.manager.stopScan()
        scan([CBUUID(string: "FFF0")])
        #expect(!scene.app.advertisements.isEmpty, "the fault is gone")
    }

    @Test("notConnectable: found, says that it cannot be connected to, and is waited for without end")
    func notConnectable() throws {
        scene.lock.addFault(.notConnectable)
        scan()
        #expect(scene.app.advertisements.first?[CBAdvertisementDataIsConnectable] as? Bool == false)
        scene.app.manager.connect(scene.app.peripheral)
        scene.world.run(for: .seconds(60))
        #expect(scene.app.peripheral.state == .connecting)
        scene.lock.removeFault(.notConnectable)
        scene.waitForLog("didConnect connected")
    }

    @Test("ignoresConnections: found, says that it can be connected to, and is waited for without end")
    func ignores() throws {
        scene.lock.addFault(.ignoresConnections)
        scan()
        #expect(scene.app.advertisements.first?[CBAdvertisementDataIsConnectable] as? Bool == true)
        scene.app.manager.stopScan()
        scene.app.manager.connect(scene.app.peripheral)
        scene.world.run(for: .seconds(60))
        #expect(scene.app.peripheral.state == .connecting)
        scene.lock.removeFault(.ignoresConnections)
        scene.waitForLog("didConnect connected")
    }

    @Test("connectedElsewhere: not on the air while somebody else holds the link, and back when they leave")
    func elsewhere() throws {
        try scene.find()
        scene.lock.addFault(.connectedElsewhere)
        scene.world.run(for: .seconds(2))
        scene.app.peripherals = []
        scan(for: .seconds(10))
        #expect(scene.app.peripherals.isEmpty)
        scene.lock.removeFault(.connectedElsewhere)
        #expect(scene.wait(for: .seconds(30)) { !$0.app.peripherals.isEmpty })
    }

    @Test("vanishesAtConnection: the connect goes on until it succeeds, B-E6")
    func vanishes() throws {
        try scene.find()
        scene.lock.addFault(.vanishesAtConnection)
        scene.app.manager.connect(scene.app.peripheral)
        scene.world.run(for: .seconds(20))
        #expect(scene.app.peripheral.state == .connecting && scene.app.log.isEmpty, "\(scene.app.log)")
        scene.lock.removeFault(.vanishesAtConnection)
        scene.waitForLog("didConnect connected")
    }

    @Test("hangsUpAtOnce: connected, and told right after that the peer has ended it")
    func hangsUp() throws {
        try scene.find()
        scene.lock.addFault(.hangsUpAtOnce)
        scene.app.manager.connect(scene.app.peripheral)
        // CBError 7: the specified device has disconnected from us.
        scene.waitForLog("didDisconnect disconnected CBError 7")
    }

    @Test("demandsParameters: the link ends a moment after it was made, each time")
    func demands() throws {
        try scene.find()
        scene.lock.addFault(.demandsParameters)
        scene.app.manager.connect(scene.app.peripheral)
        scene.waitForLog("didConnect connected")
        #expect(scene.wait(for: .seconds(5)) { $0.app.log.contains { $0.hasPrefix("didDisconnect") } })
    }

    @Test("refusesConnectionParameters: a peripheral that asks for long pauses does not get them")
    func refuses() throws {
        func millisecondsPerRead(_ scene: LockWorld) throws -> Int {
            try scene.connectAndDiscover()
            var central: CBCentral?
            scene.lockApp.reactions["didSubscribe"] = { _ in central = scene.value.subscribedCentrals?.first }
            scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
            scene.waitForLog("didUpdateNotificationState FFF1 true")
            scene.lockApp.manager.setDesiredConnectionLatency(.high, for: try #require(central))
            scene.world.run(for: .seconds(10))
            // How long a read takes is how far connection events are apart.
            let start = scene.world.now
            for _ in 0..<10 {
                _ = scene.app.take()
                scene.app.peripheral.readValue(for: scene.app.characteristic("FFF4"))
                #expect(scene.wait { !$0.app.log.isEmpty })
            }
            return Int((scene.world.now - start) / .milliseconds(10))
        }
        let granted = try millisecondsPerRead(scene)
        let other = LockWorld()
        other.phone.addFault(.refusesConnectionParameters)
        let refused = try millisecondsPerRead(other)
        #expect(granted > 4 * refused, "\(granted) ms and \(refused) ms a read")
    }
}
