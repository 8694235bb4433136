import BluetoothSimulation
import CoreBluetooth
import Testing

/// C8 at the peripheral: section L of the behaviours.
@Suite("Restoration: peripheral")
struct PeripheralRestorationTests {
    private let reading = CBUUID(string: "FFF1")

    @Test("B-L1: with nothing to restore it is not called")
    func nothing() throws {
        let lives = TwoLives()
        lives.startLock()
        lives.run(until: "state poweredOn", of: lives.lockApp)
        lives.restartLock()
        lives.run(until: "state poweredOn", of: lives.lockApp)
        #expect(lives.lockApp.take() == ["state poweredOn"])
    }

    @Test("B-L3: services and advertising are there again, without an app's doing and without another answer")
    func services() throws {
        let lives = TwoLives()
        lives.publish()
        var wasAdvertising = false
        lives.restartLock()
        wasAdvertising = lives.lockApp.manager.isAdvertising
        #expect(wasAdvertising)
        lives.run(until: "state poweredOn", of: lives.lockApp)
        lives.rest()
        #expect(lives.lockApp.take() == ["willRestore unknown", "state poweredOn"])
        let restored = try #require(lives.lockApp.restored)
        let data = restored[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
        #expect(data?[CBAdvertisementDataLocalNameKey] as? String == "KL940704079")
        #expect(data?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "FFF0")])
        let services = restored[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
        let characteristic = services?.first?.characteristics?.first as? CBMutableCharacteristic
        #expect(services?.map(\.uuid) == [CBUUID(string: "FFF0")])
        #expect(characteristic?.properties == [.read, .write, .notify])
        #expect(characteristic?.permissions == [.readable, .writeable])
        #expect(lives.lockApp.manager.isAdvertising)
        // It is on the air, and answers.
        lives.startApp()
        try lives.subscribe()
        lives.lockApp.onRead = { app, request in
            request.value = Data([0x2A])
            app.manager.respond(to: request, withResult: .success)
        }
        lives.app.peripheral.readValue(for: lives.app.characteristic("FFF1"))
        lives.run(until: "didUpdateValue FFF1 2a")
        lives.expectSilence()
    }

    @Test("Values, descriptors, included services and permissions come back as they were added")
    func structure() throws {
        let lives = TwoLives()
        lives.startLock()
        lives.run(until: "state poweredOn", of: lives.lockApp)
        let inner = CBMutableService(type: CBUUID(string: "FFE0"), primary: false)
        let constant = CBMutableCharacteristic(
            type: CBUUID(string: "0000FFE1-1111-2222-3333-444455556666"), properties: .read,
            value: Data("constant".utf8), permissions: .readable)
        constant.descriptors = [
            CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Serial number"),
            CBMutableDescriptor(type: CBUUID(string: "2904"), value: Data([0x19, 0, 0, 0x27, 1, 0, 0])),
        ]
        inner.characteristics = [constant]
        let outer = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        lives.lockApp.manager.add(inner)
        lives.run(until: "didAdd FFE0", of: lives.lockApp)
        outer.includedServices = [inner]
        lives.lockApp.manager.add(outer)
        lives.run(until: "didAdd FFF0", of: lives.lockApp)
        lives.restartLock()
        lives.rest()
        let services = try #require(
            lives.lockApp.restored?[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService])
        #expect(services.map(\.uuid.uuidString) == ["FFE0", "FFF0"] && services.map(\.isPrimary) == [false, true])
        #expect(services[1].includedServices == [services[0]])
        let restored = try #require(services[0].characteristics?.first)
        #expect(restored.uuid == constant.uuid && restored.value == constant.value)
        #expect(restored.descriptors?.map { $0.value as? String } == ["Serial number", nil])
        #expect(restored.descriptors?.last?.value as? Data == constant.descriptors?.last?.value as? Data)
        // A phone sees them on the air.
        lives.lockApp.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")]])
        lives.startApp()
        try lives.connect()
        lives.app.peripheral.discoverServices(nil)
        lives.run(until: "didDiscoverServices [FFF0]")
        lives.app.peripheral.discoverIncludedServices(nil, for: try #require(lives.app.peripheral.services?.first))
        lives.run(until: "didDiscoverIncludedServices [FFE0]")
    }

    @Test("What the app has taken back is not restored")
    func removed() throws {
        let lives = TwoLives()
        lives.publish()
        lives.lockApp.manager.stopAdvertising()
        lives.restartLock()
        lives.rest()
        #expect(lives.lockApp.take() == ["willRestore unknown", "state poweredOn"])
        #expect(lives.lockApp.restored?[CBPeripheralManagerRestoredStateAdvertisementDataKey] == nil)
        #expect(!lives.lockApp.manager.isAdvertising)
        let services = lives.lockApp.restored?[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
        lives.lockApp.manager.remove(try #require(services?.first))
        lives.restartLock()
        lives.rest()
        #expect(lives.lockApp.take() == ["state poweredOn"])
        #expect(lives.misuses == [])
    }

    @Test("Who was subscribed is there, is told off, and comes back")
    func subscribers() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        lives.restartLock(after: .zero)
        var found: (CBMutableCharacteristic, CBCentral)?
        lives.lockApp.reactions["willRestore"] = { app in
            let services = app.restored?[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
            guard let characteristic = services?.first?.characteristics?.first as? CBMutableCharacteristic,
                let central = characteristic.subscribedCentrals?.first
            else { return }
            found = (characteristic, central)
        }
        lives.run(until: "willRestore unknown", of: lives.lockApp)
        let (characteristic, central) = try #require(found)
        #expect(central.maximumUpdateValueLength == 514)
        lives.run(until: "state poweredOn", of: lives.lockApp)
        lives.run(until: "didUnsubscribe FFF1", of: lives.lockApp)
        #expect(lives.lockApp.take() == ["willRestore unknown", "state poweredOn", "didUnsubscribe FFF1"])
        #expect(characteristic.subscribedCentrals == [])
        // The phone hears of its accident, and comes back by itself.
        lives.run(until: "didDisconnect disconnected CBError 6")
        lives.app.manager.connect(lives.app.peripheral)
        lives.run(until: "didConnect connected")
        lives.app.peripheral.discoverServices(nil)
        lives.run(until: "didDiscoverServices [FFF0]")
        lives.app.peripheral.discoverCharacteristics(nil, for: try #require(lives.app.peripheral.services?.first))
        lives.run(until: "didDiscoverCharacteristics [FFF1]")
        lives.app.peripheral.setNotifyValue(true, for: lives.app.characteristic("FFF1"))
        lives.run(until: "didSubscribe FFF1 514", of: lives.lockApp)
        #expect(characteristic.subscribedCentrals == [central], "the one object that stands for it")
        #expect(lives.lockApp.manager.updateValue(Data([9]), for: characteristic, onSubscribedCentrals: nil))
        lives.run(until: "didUpdateValue FFF1 09")
    }

    @Test("A callback during which the app ends comes again", arguments: ["didAdd", "didStartAdvertising"])
    func insideCallback(call: String) throws {
        let lives = TwoLives()
        lives.startLock()
        lives.run(until: "state poweredOn", of: lives.lockApp)
        lives.lockApp.reactions[call] = { _ in lives.lock.killApp() }
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        lives.lockApp.manager.add(service)
        if call != "didAdd" { lives.run(until: "didAdd FFF0", of: lives.lockApp) }
        lives.lockApp.manager.startAdvertising(nil)
        lives.rest()
        lives.restartLock(after: .zero)
        lives.rest()
        let expected =
            call == "didAdd"
            ? ["willRestore unknown", "state poweredOn", "didAdd FFF0", "didStartAdvertising"]
            : ["willRestore unknown", "state poweredOn", "didStartAdvertising"]
        #expect(lives.lockApp.take() == expected)
        lives.restartLock()
        lives.rest()
        #expect(lives.lockApp.take() == ["willRestore unknown", "state poweredOn"])
    }

    @Test("A peer that unsubscribes while the app is told is not lost")
    func insideUnsubscription() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        lives.lockApp.reactions["didUnsubscribe"] = { _ in lives.lock.killApp() }
        lives.app.peripheral.setNotifyValue(false, for: lives.app.characteristic("FFF1"))
        lives.run(until: "didUnsubscribe FFF1", of: lives.lockApp)
        lives.restartLock()
        lives.rest()
        #expect(lives.lockApp.take() == ["willRestore unknown", "state poweredOn", "didUnsubscribe FFF1"])
    }

    @Test("The radio is off: services and advertising wait for it")
    func poweredOff() throws {
        let lives = TwoLives()
        lives.publish()
        lives.restartLock(after: .zero)
        lives.lock.setBluetooth(on: false)
        lives.run(until: "state poweredOff", of: lives.lockApp)
        #expect(!lives.lockApp.manager.isAdvertising)
        lives.lock.setBluetooth(on: true)
        lives.run(until: "state poweredOn", of: lives.lockApp)
        lives.rest()
        #expect(!lives.lockApp.log.contains { $0.hasPrefix("did") })
        lives.startApp()
        try lives.subscribe()
    }

    @Test("Services can be added and removed before the restored ones are published")
    func early() throws {
        let lives = TwoLives()
        lives.publish()
        lives.restartLock()
        lives.lockApp.reactions["state"] = { app in
            let services = app.restored?[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
            for service in services { app.manager.remove(service) }
            app.manager.add(CBMutableService(type: CBUUID(string: "FFE0"), primary: true))
        }
        lives.run(until: "didAdd FFE0", of: lives.lockApp)
        lives.rest()
        #expect(lives.misuses == [])
        lives.restartLock()
        lives.rest()
        let services = lives.lockApp.restored?[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
        #expect(services?.map(\.uuid.uuidString) == ["FFE0"])
    }
}
