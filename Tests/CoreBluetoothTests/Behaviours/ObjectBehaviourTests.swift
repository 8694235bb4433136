import BluetoothSimulation
import CoreBluetooth
import Synchronization
import Testing

/// Section A and B of the observed behaviour: objects, threads, lifetime, state.
@Suite("Behaviour: objects and state")
struct ObjectBehaviourTests {
    @Test("B-A1: no delegate is called from inside a call to the module")
    func neverInline() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let (app, peripheral) = (scene.app, scene.app.peripheral)
        let service = try #require(peripheral.services?.first)
        let characteristic = app.characteristic("FFF1")
        let calls: [(String, () -> Void)] = [
            ("readRSSI", { peripheral.readRSSI() }),
            ("discoverServices", { peripheral.discoverServices(nil) }),
            ("discoverIncludedServices", { peripheral.discoverIncludedServices(nil, for: service) }),
            ("discoverCharacteristics", { peripheral.discoverCharacteristics(nil, for: service) }),
            ("discoverDescriptors", { peripheral.discoverDescriptors(for: characteristic) }),
            ("read", { peripheral.readValue(for: characteristic) }),
            ("write", { peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse) }),
            ("too long", { peripheral.writeValue(Data(count: 513), for: characteristic, type: .withResponse) }),
            ("subscribe", { peripheral.setNotifyValue(true, for: characteristic) }),
            ("cannot", { peripheral.setNotifyValue(true, for: app.characteristic("FFF4")) }),
            ("connect again", { app.manager.connect(peripheral) }),
            ("scan", { app.manager.scanForPeripherals(withServices: nil) }),
            ("cancel", { app.manager.cancelPeripheralConnection(peripheral) }),
        ]
        for (name, call) in calls {
            call()
            #expect(app.take().isEmpty, "\(name)")
            scene.world.run(for: .seconds(2))
            #expect(!app.take().isEmpty, "\(name): but later")
        }
        scene.lockApp.manager.startAdvertising(nil)
        scene.lockApp.manager.add(CBMutableService(type: CBUUID(string: "1800"), primary: true))
        scene.lockApp.manager.add(CBMutableService(type: CBUUID(string: "FFE0"), primary: true))
        #expect(!scene.lockApp.log.contains { $0.hasPrefix("didStart") || $0.hasPrefix("didAdd") })
    }

    @Test("B-A1: in a world a queue of one's own is the queue, and the world waits for it")
    func ownQueueInWorld() {
        final class App: NSObject, CBCentralManagerDelegate, Sendable {
            static let key = DispatchSpecificKey<Bool>()
            let calls = Mutex<[Bool]>([])
            func centralManagerDidUpdateState(_ central: CBCentralManager) {
                let isOwn = DispatchQueue.getSpecific(key: Self.key) == true
                calls.withLock { $0.append(isOwn) }
            }
        }
        let world = BluetoothWorld()
        let phone = world.addDevice("Phone")
        let queue = DispatchQueue(label: "parser")
        queue.setSpecific(key: App.key, value: true)
        let app = App()
        let manager = phone.run { CBCentralManager(delegate: app, queue: queue) }
        world.run(for: .seconds(1))
        #expect(app.calls.withLock { $0 } == [true])
        withExtendedLifetime(manager) {}
    }

    @Test("B-A2: delegates of managers are held weakly")
    func weakDelegates() {
        let scene = LockWorld(advertises: false)
        var central: CentralApp? = CentralApp()
        var peripheral: PeripheralApp? = PeripheralApp()
        scene.app.manager.delegate = central
        scene.lockApp.manager.delegate = peripheral
        #expect(scene.app.manager.delegate != nil && scene.lockApp.manager.delegate != nil)
        (central, peripheral) = (nil, nil)
        #expect(scene.app.manager.delegate == nil && scene.lockApp.manager.delegate == nil)
    }

    @Test("B-A4: back pointers are weak")
    func backPointers() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        var service = scene.app.peripheral.services?.first
        let characteristic = scene.app.characteristic("FFF1")
        scene.app.peripheral.discoverDescriptors(for: characteristic)
        #expect(scene.wait { _ in characteristic.descriptors != nil })
        let descriptor = try #require(characteristic.descriptors?.first)
        #expect(service?.peripheral === scene.app.peripheral && characteristic.service === service)
        #expect(descriptor.characteristic === characteristic)
        weak let peripheral = scene.app.peripheral
        scene.app.peripherals = []
        #expect(peripheral == nil && service?.peripheral == nil)
        service = nil
        #expect(characteristic.service == nil)
    }

    @Test("B-A5: another manager has its own object, with its own state, and ignores this one")
    func twoManagers() throws {
        let scene = LockWorld()
        try scene.connect()
        let other = scene.phone.run { CentralApp() }
        #expect(scene.wait { _ in other.manager.state == .poweredOn })
        other.manager.connect(scene.app.peripheral)
        other.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.world.run(for: .seconds(2))
        #expect(other.log == ["state poweredOn"] && scene.app.peripheral.state == .connected)
        let own = try #require(
            other.manager.retrievePeripherals(withIdentifiers: [scene.app.peripheral.identifier]).first)
        #expect(own !== scene.app.peripheral && own.state == .disconnected)
        #expect(own === other.manager.retrievePeripherals(withIdentifiers: [own.identifier]).first)
    }

    @Test("B-B1: the first state comes later, also when the radio has long been on")
    func firstState() {
        let scene = LockWorld(advertises: false)
        let late = scene.phone.run { CentralApp() }
        let peripheral = scene.phone.run { PeripheralApp() }
        #expect(late.manager.state == .unknown && late.log.isEmpty && peripheral.manager.state == .unknown)
        #expect(scene.wait { _ in !late.log.isEmpty && !peripheral.log.isEmpty })
        #expect(late.log == ["state poweredOn"] && peripheral.log == ["state poweredOn"])
    }

    @Test("B-B4, B-B6: an attempt does not outlive the radio, and nothing but the state tells of it")
    func pendingConnect() throws {
        let scene = LockWorld()
        try scene.find()
        scene.lock.position = .init(x: 10_000)
        scene.app.manager.connect(scene.app.peripheral)
        scene.world.run(for: .seconds(2))
        #expect(scene.app.peripheral.state == .connecting)
        scene.phone.setBluetooth(on: false)
        scene.waitForLog("state poweredOff")
        #expect(scene.app.peripheral.state == .disconnected)
        scene.lock.position = .init(x: 2)
        scene.phone.setBluetooth(on: true)
        scene.world.run(for: .seconds(10))
        #expect(scene.app.take() == ["state poweredOff", "state poweredOn"])
        scene.app.manager.connect(scene.app.peripheral)
        scene.waitForLog("didConnect connected")
    }

    @Test("B-B5: a scan goes on when the radio is back, and does not count as one meanwhile")
    func scanAcrossPowerOff() throws {
        let scene = LockWorld()
        scene.app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        scene.world.run(for: .seconds(1))
        scene.phone.setBluetooth(on: false)
        scene.waitForLog("state poweredOff")
        #expect(!scene.app.manager.isScanning)
        _ = scene.app.take()
        scene.phone.setBluetooth(on: true)
        scene.world.run(for: .seconds(2))
        #expect(scene.app.manager.isScanning)
        #expect(scene.app.log.contains { $0.hasPrefix("didDiscover KL940704079") })
    }
}
