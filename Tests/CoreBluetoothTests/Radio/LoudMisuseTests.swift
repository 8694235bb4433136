import BluetoothSimulation
import CoreBluetooth
import Testing

/// What an app does wrong is said, in Apple's words where they are known: each text of Documentation/Misuse.md.
@Suite("Over the air: misuse is loud")
struct LoudMisuseTests {
    /// The reports of one device from here on, without what differs from run to run.
    private func reports(_ device: SimulatedDevice, in scene: LockWorld, during body: () throws -> Void) rethrows
        -> [String]
    {
        let before = scene.world.reports.count
        try body()
        return scene.world.reports[before...].filter { $0.device == device.name }.map {
            $0.text.replacing(/0x[0-9a-f]+/, with: "0x…")
                .replacing(/identifier = [0-9A-F-]+/, with: "identifier = …")
        }
    }

    private let peripheral = "<CBPeripheral: 0x…, identifier = …, name = Door lock, mtu = 185, state = connected>"

    @Test("B-B2, B-O1: every command of a manager that is not powered on")
    func notPoweredOn() throws {
        let scene = LockWorld()
        try scene.find()
        scene.phone.setBluetooth(on: false)
        scene.lock.setBluetooth(on: false)
        scene.world.run(for: .seconds(2))
        let central = reports(scene.phone, in: scene) {
            scene.app.manager.scanForPeripherals(withServices: nil)
            scene.app.manager.stopScan()
            scene.app.manager.connect(scene.app.peripheral)
            scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
            _ = scene.app.manager.retrievePeripherals(withIdentifiers: [])
            _ = scene.app.manager.retrieveConnectedPeripherals(withServices: [])
            scene.app.manager.registerForConnectionEvents()
        }
        let text = "> can only accept this command while in the powered on state"
        #expect(central == Array(repeating: "[CoreBluetooth] API MISUSE: <CBCentralManager: 0x…\(text)", count: 7))
        let peripheral = reports(scene.lock, in: scene) {
            scene.lockApp.manager.startAdvertising(nil)
            scene.lockApp.manager.stopAdvertising()
            scene.lockApp.manager.add(CBMutableService(type: CBUUID(string: "FFE0"), primary: true))
            scene.lockApp.manager.remove(scene.service)
            scene.lockApp.manager.removeAllServices()
            #expect(!scene.lockApp.manager.updateValue(Data(), for: scene.value, onSubscribedCentrals: nil))
        }
        #expect(
            peripheral == Array(repeating: "[CoreBluetooth] API MISUSE: <CBPeripheralManager: 0x…\(text)", count: 6))
    }

    @Test("B-D14, B-O1: every command of a peripheral that is not connected")
    func notConnected() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let service = try #require(scene.app.peripheral.services?.first)
        let characteristic = scene.app.characteristic("FFF1")
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        let found = reports(scene.phone, in: scene) {
            scene.app.peripheral.readRSSI()
            scene.app.peripheral.discoverServices(nil)
            scene.app.peripheral.discoverIncludedServices(nil, for: service)
            scene.app.peripheral.discoverCharacteristics(nil, for: service)
            scene.app.peripheral.discoverDescriptors(for: characteristic)
            scene.app.peripheral.readValue(for: characteristic)
            scene.app.peripheral.writeValue(Data(), for: characteristic, type: .withResponse)
            scene.app.peripheral.setNotifyValue(true, for: characteristic)
        }
        let text =
            "[CoreBluetooth] API MISUSE: <CBPeripheral: 0x…, identifier = …, name = Door lock, mtu = 0, state = "
            + "disconnected> can only accept commands while in the connected state"
        #expect(found == Array(repeating: text, count: 8))
        scene.world.run(for: .seconds(5))
        #expect(scene.app.take() == ["didDisconnect disconnected"], "B-D14: and nothing calls back")
    }

    @Test("B-O1: questions to whose answers nobody listens")
    func noDelegate() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let service = try #require(scene.app.peripheral.services?.first)
        let characteristic = scene.app.characteristic("FFF1")
        scene.app.peripheral.delegate = nil
        let found = reports(scene.phone, in: scene) {
            scene.app.peripheral.readRSSI()
            scene.app.peripheral.discoverServices(nil)
            scene.app.peripheral.discoverCharacteristics(nil, for: service)
            scene.app.peripheral.discoverDescriptors(for: characteristic)
        }
        let end = "while delegate is either nil or does not implement"
        #expect(
            found == [
                "[CoreBluetooth] API MISUSE: Reading RSSI for peripheral \(peripheral) \(end) "
                    + "peripheral:didReadRSSI:error:",
                "[CoreBluetooth] API MISUSE: Discovering services for peripheral \(peripheral) \(end) "
                    + "peripheral:didDiscoverServices:",
                "[CoreBluetooth] API MISUSE: Discovering characteristics on peripheral \(peripheral) \(end) "
                    + "peripheral:didDiscoverCharacteristicsForService:error:",
                "[CoreBluetooth] API MISUSE: Discovering characteristic descriptors for peripheral \(peripheral) "
                    + "\(end) peripheral:didDiscoverDescriptorsForCharacteristic:error:",
            ])
    }

    @Test(
        "B-O1, B-P1: a delegate without the method, or with it in the wrong class, is noticed when it would be called")
    func missingMethod() throws {
        class Base: NSObject, CBPeripheralDelegate {}
        final class Derived: Base {
            var calls = 0
            func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) { calls += 1 }
        }
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let delegate = Derived()
        scene.app.peripheral.delegate = delegate
        let found = reports(scene.phone, in: scene) {
            scene.app.peripheral.discoverServices(nil)
            scene.app.peripheral.readValue(for: scene.app.characteristic("FFF4"))
            scene.app.peripheral.readValue(for: scene.app.characteristic("FFF4"))
            scene.world.run(for: .seconds(2))
        }
        #expect(delegate.calls == 0, "Swift on Linux finds methods in the class that states the conformance")
        #expect(found.count == 2 && found[0].hasSuffix("does not implement peripheral:didDiscoverServices:"))
        #expect(found[1].hasSuffix("does not implement peripheral:didUpdateValueForCharacteristic:error:"), "once")
    }

    @Test("B-A2, B-O1: a manager whose delegate has gone")
    func noManagerDelegate() throws {
        let scene = LockWorld()
        try scene.find()
        scene.app.manager.delegate = nil
        scene.lockApp.manager.delegate = nil
        let central = reports(scene.phone, in: scene) {
            scene.app.manager.scanForPeripherals(withServices: nil)
            scene.app.manager.connect(scene.app.peripheral)
        }
        let end = "while its delegate is nil; nobody hears of the outcome"
        #expect(
            central == [
                "[CoreBluetooth] WARNING: <CBCentralManager: 0x…> scans for peripherals \(end)",
                "[CoreBluetooth] WARNING: <CBCentralManager: 0x…> connects to a peripheral \(end)",
            ])
        let lock = reports(scene.lock, in: scene) {
            scene.lockApp.manager.add(CBMutableService(type: CBUUID(string: "FFE0"), primary: true))
        }
        #expect(lock == ["[CoreBluetooth] WARNING: <CBPeripheralManager: 0x…> adds a service \(end)"])
    }

    // MARK: Objects that nobody holds

    @Test("B-A3, B-O1: the last reference to a peripheral that is connecting, or connected", arguments: [false, true])
    func unusedPeripheral(isConnected: Bool) throws {
        let scene = LockWorld()
        try scene.find()
        if !isConnected { scene.lock.removeBattery() }
        scene.app.manager.connect(scene.app.peripheral)
        if isConnected { scene.waitForLog("didConnect connected") }
        scene.world.run(for: .seconds(1))
        let state =
            isConnected
            ? "name = Door lock, mtu = 185, state = connected" : "name = KL940704079, mtu = 0, state = connecting"
        let found = reports(scene.phone, in: scene) { scene.app.peripherals = [] }
        #expect(
            found == [
                "[CoreBluetooth] API MISUSE: Cancelling connection for unused peripheral <CBPeripheral: 0x…, "
                    + "identifier = …, \(state)>, Did you forget to keep a reference to it?"
            ])
    }

    @Test("B-O1: a manager that goes before its first state, or with a link, or while it advertises")
    func unusedManager() throws {
        let scene = LockWorld()
        let early = reports(scene.phone, in: scene) {
            scene.phone.run { _ = CentralApp() }
            scene.phone.run { _ = PeripheralApp() }
            scene.world.run(for: .seconds(1))
        }
        let end = "before its first state update. Did you forget to keep a reference to the manager?"
        #expect(
            early == [
                "[CoreBluetooth] WARNING: <CBCentralManager: 0x…> is being deallocated \(end)",
                "[CoreBluetooth] WARNING: <CBPeripheralManager: 0x…> is being deallocated \(end)",
            ])
        var other: CentralApp? = scene.phone.run { CentralApp() }
        other?.reactions["didDiscover"] = { $0.manager.connect($1) }
        #expect(scene.wait { _ in other?.manager.state == .poweredOn })
        other?.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        #expect(scene.wait { _ in other?.log.contains("didConnect connected") == true })
        var kept: CBPeripheral?
        // Its own name has not been read yet.
        let advertised = peripheral.replacing("Door lock", with: "KL940704079")
        let linked = reports(scene.phone, in: scene) {
            kept = other?.peripheral
            other = nil
        }
        #expect(
            linked == [
                "[CoreBluetooth] WARNING: <CBCentralManager: 0x…> is being deallocated while \(advertised) is in use"
                    + "; its connection ends. Did you forget to keep a reference to the manager?"
            ])
        withExtendedLifetime(kept) {}
        var advertiser: PeripheralApp? = scene.phone.run { PeripheralApp() }
        #expect(scene.wait { _ in advertiser?.manager.state == .poweredOn })
        advertiser?.manager.startAdvertising(nil)
        #expect(scene.wait { _ in advertiser?.manager.isAdvertising == true })
        let advertising = reports(scene.phone, in: scene) { advertiser = nil }
        #expect(
            advertising == [
                "[CoreBluetooth] WARNING: <CBPeripheralManager: 0x…> is being deallocated while it advertises; its "
                    + "services go. Did you forget to keep a reference to the manager?"
            ])
    }

    // MARK: Attributes

    @Test("C3, B-F7, B-O1: writes that the properties do not allow")
    func writes() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let found = reports(scene.phone, in: scene) {
            scene.app.peripheral.writeValue(Data([1]), for: scene.app.characteristic("FFF1"), type: .withoutResponse)
            scene.app.peripheral.writeValue(Data([1]), for: scene.app.characteristic("FFF2"), type: .withResponse)
        }
        #expect(
            found
                == [
                    "[CoreBluetooth] WARNING: Characteristic <CBCharacteristic: 0x…, UUID = FFF1, properties = 0x1A, "
                        + "value = (null), notifying = NO> does not specify the \"Write Without Response\" property - "
                        + "ignoring response-less write",
                    "[CoreBluetooth] WARNING: Characteristic <CBCharacteristic: 0x…, UUID = FFF2, properties = 0x4, "
                        + "value = (null), notifying = NO> does not specify the \"Write\" property - "
                        + "the peripheral will refuse the write",
                ].map { $0.replacing(/0x[0-9a-f]+/, with: "0x…") })
        scene.waitForLog("didWriteValue FFF2")
    }

    @Test("B-G3: writes without response beyond what canSendWriteWithoutResponse promises")
    func tooManyWrites() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let found = reports(scene.phone, in: scene) {
            for _ in 0..<21 {
                scene.app.peripheral.writeValue(
                    Data([1]), for: scene.app.characteristic("FFF2"), type: .withoutResponse)
            }
            scene.app.peripheral.writeValue(
                Data(count: 200), for: scene.app.characteristic("FFF2"), type: .withoutResponse)
        }
        #expect(found.count == 3)
        #expect(found[0].contains("has no room for a write without response - dropping it"))
        #expect(found[1].contains("A write without response carries 182 octets on this link, not 200 - cutting it"))
    }

    @Test("C4: a request that is kept and not answered is asked for when the central has given up")
    func keptRequest() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        var kept: [CBATTRequest] = []
        scene.lockApp.onRead = { _, request in kept.append(request) }
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        let found = reports(scene.lock, in: scene) { scene.world.run(for: .seconds(40)) }
        #expect(
            found == [
                "[CoreBluetooth] WARNING: A read request has not been answered for 30 seconds; the central has given "
                    + "up by its ATT timeout. Call respondToRequest:withResult: exactly once for each request"
            ])
        let later = reports(scene.lock, in: scene) { kept = [] }
        #expect(later.isEmpty, "once is enough")
    }

    @Test("C4: a request that is answered later, in time, is no misuse")
    func lateAnswer() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        var kept: [CBATTRequest] = []
        scene.lockApp.onRead = { _, request in kept.append(request) }
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        let found = reports(scene.lock, in: scene) {
            scene.world.run(for: .seconds(20))
            scene.lockApp.manager.respond(to: kept[0], withResult: .success)
            kept = []
            scene.world.run(for: .seconds(40))
        }
        #expect(found.isEmpty)
        #expect(scene.app.take() == ["didUpdateValue FFF1 "])
    }
}
