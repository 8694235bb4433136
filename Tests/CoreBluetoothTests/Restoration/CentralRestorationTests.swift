import BluetoothSimulation
import CoreBluetooth
import Testing

/// C8 at the central: section L of the behaviours.
@Suite("Restoration: central")
struct CentralRestorationTests {
    @Test("B-L1: with nothing to restore it is not called, nor without an identifier")
    func nothing() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.find()
        lives.restartApp()
        lives.powerOn()
        #expect(lives.app.take() == ["state poweredOn"])
        lives.restartApp(nil)
        lives.powerOn()
        lives.app.manager.scanForPeripherals(withServices: nil)
        lives.restartApp(nil)
        lives.rest()
        #expect(lives.app.take() == ["state poweredOn"])
        lives.expectSilence()
    }

    @Test("B-L3: a running scan is there again, with services and options, and goes on")
    func scan() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        lives.powerOn()
        let service = CBUUID(string: "FFF0")
        lives.app.manager.scanForPeripherals(
            withServices: [service],
            options: [
                CBCentralManagerScanOptionAllowDuplicatesKey: true,
                CBCentralManagerScanOptionSolicitedServiceUUIDsKey: [CBUUID(string: "FFF9")],
            ])
        var wasScanning = false
        lives.restartApp { wasScanning = $0.manager.isScanning }
        #expect(wasScanning)
        lives.run(until: "didDiscover KL940704079 -49")
        #expect(lives.app.log.prefix(2) == ["willRestore unknown ", "state poweredOn"])
        let restored = try #require(lives.app.restored)
        #expect(restored[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID] == [service])
        let options = restored[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
        #expect(options?[CBCentralManagerScanOptionAllowDuplicatesKey] as? Bool == true)
        #expect(
            options?[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "FFF9")])
        #expect(restored[CBCentralManagerRestoredStatePeripheralsKey] == nil)
        lives.app.manager.stopScan()
        lives.restartApp()
        lives.rest()
        #expect(lives.app.take() == ["state poweredOn"], "a scan that was stopped is not restored")
    }

    @Test("B-L2, C8: a link is there again, with its services and its subscription, and without an app's doing")
    func subscription() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        let identifier = lives.app.peripheral.identifier
        lives.restartApp()
        lives.world.run(for: .zero)
        #expect(lives.app.take() == ["willRestore unknown connecting", "state poweredOn"])
        let peripheral = lives.app.peripheral
        #expect(peripheral.identifier == identifier)
        #expect(peripheral.name == "Door lock", "the name that was read, not the advertised one")
        let characteristic = lives.app.characteristic("FFF1")
        #expect(characteristic.isNotifying && characteristic.properties == [.read, .write, .notify])
        #expect(characteristic.service?.peripheral === peripheral)
        lives.run(until: "didConnect connected")
        #expect(lives.app.take() == ["didConnect connected"])
        #expect(lives.app.characteristic("FFF1") === characteristic && characteristic.isNotifying)
        lives.run(until: "didSubscribe FFF1 514", of: lives.lockApp)
        #expect(lives.lockApp.take() == ["didUnsubscribe FFF1", "didSubscribe FFF1 514"])
        lives.lockApp.manager.updateValue(Data([7]), for: lives.value, onSubscribedCentrals: nil)
        lives.run(until: "didUpdateValue FFF1 07")
        peripheral.readValue(for: characteristic)
        lives.run(until: "didUpdateValue FFF1 ")
        #expect(lives.misuses == [])
        lives.expectSilence()
    }

    @Test("A connection that was asked for waits on, however long the device is away")
    func pending() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.find()
        lives.lock.removeBattery()
        lives.app.manager.connect(lives.app.peripheral)
        lives.restartApp()
        lives.rest()
        #expect(lives.app.take() == ["willRestore unknown connecting", "state poweredOn"])
        #expect(lives.app.peripheral.state == .connecting && lives.app.peripheral.services == nil)
        lives.restartApp(after: .seconds(60))
        lives.rest()
        lives.lock.insertBattery()
        lives.startLock()
        lives.run(until: "didConnect connected")
        #expect(lives.app.take() == ["willRestore unknown connecting", "state poweredOn", "didConnect connected"])
    }

    @Test("Three waiting connections at the kill are three waiting connections after it")
    func several() throws {
        let lives = TwoLives()
        lives.startApp()
        lives.powerOn()
        let others = (0..<3).map { lives.world.addDevice("Other \($0)", at: .init(x: Double($0) + 1)) }
        let apps = others.map { device in device.run { PeripheralApp() } }
        lives.world.run(for: .seconds(1))
        for app in apps { app.manager.startAdvertising(nil) }
        lives.app.manager.scanForPeripherals(withServices: nil)
        try #require(lives.world.run(until: { lives.app.peripherals.count == 3 }, within: .seconds(5)))
        lives.app.manager.stopScan()
        for app in apps { app.manager.stopAdvertising() }
        for peripheral in lives.app.peripherals { lives.app.manager.connect(peripheral) }
        lives.rest()
        lives.restartApp()
        lives.rest()
        #expect(lives.app.take() == ["willRestore unknown connecting connecting connecting", "state poweredOn"])
        for app in apps { app.manager.startAdvertising(nil) }
        lives.rest()
        #expect(
            lives.app.take().filter { $0.hasPrefix("didConnect") } == Array(repeating: "didConnect connected", count: 3)
        )
    }

    @Test("B-L2: a command before the radio is on is a misuse, and nothing else")
    func tooEarly() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        lives.restartApp { app in
            app.reactions["willRestore"] = { app, peripheral in
                peripheral.readValue(for: app.characteristic("FFF1"))
                app.manager.cancelPeripheralConnection(peripheral)
            }
        }
        lives.run(until: "didConnect connected")
        #expect(
            lives.app.take() == ["willRestore unknown connecting", "state poweredOn", "didConnect connected"])
        #expect(lives.misuses.count == 2)
    }

    @Test("A device with other services than before says so when it is connected")
    func changedServices() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        lives.phone.killApp()
        lives.lockApp.manager.removeAllServices()
        let other = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
        lives.lockApp.manager.add(other)
        lives.restartApp()
        let characteristics = lives.world.run(until: { lives.app.restored != nil }, within: .seconds(1))
        #expect(characteristics)
        let old = lives.app.characteristic("FFF1")
        lives.run(until: "didModifyServices [FFF0]")
        #expect(
            lives.app.take() == [
                "willRestore unknown connecting", "state poweredOn", "didConnect connected",
                "didModifyServices [FFF0]",
            ])
        #expect(lives.app.peripheral.services == nil && !old.isNotifying)
        lives.app.peripheral.discoverServices(nil)
        lives.run(until: "didDiscoverServices [FFE0]")
    }

    @Test("What the app has ended itself is not restored")
    func cancelled() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        lives.app.manager.cancelPeripheralConnection(lives.app.peripheral)
        lives.restartApp()
        lives.rest()
        #expect(lives.app.take() == ["state poweredOn"])
    }

    @Test("A subscription that was ended is not restored, and the link is")
    func unsubscribed() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        lives.app.peripheral.setNotifyValue(false, for: lives.app.characteristic("FFF1"))
        lives.run(until: "didUpdateNotificationState FFF1 false")
        lives.restartApp()
        lives.run(until: "didConnect connected")
        #expect(!lives.app.characteristic("FFF1").isNotifying)
        lives.rest()
        #expect(!lives.lockApp.take().contains("didSubscribe FFF1 514"))
    }

    @Test("B-D10: the option to reconnect outlives the app")
    func automaticReconnection() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.connect(options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
        lives.restartApp()
        lives.run(until: "didConnect connected")
        _ = lives.app.take()
        lives.lock.removeBattery()
        lives.run(until: "didDisconnect connecting CBError 6")
    }

    @Test("B-A3: who does not keep what is restored loses it, and is told why in the log")
    func dropped() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.connect()
        lives.restartApp { $0.keepsPeripherals = false }
        lives.rest()
        #expect(lives.app.take() == ["willRestore unknown connecting", "state poweredOn"])
        #expect(lives.misuses.count { $0.contains("Did you forget to keep a reference to it?") } == 1)
        lives.restartApp()
        lives.rest()
        #expect(lives.app.take() == ["state poweredOn"])
    }

    @Test("A delegate without willRestoreState: the peripherals go, a scan goes on")
    func missingMethod() throws {
        final class Deaf: NSObject, CBCentralManagerDelegate {
            func centralManagerDidUpdateState(_ central: CBCentralManager) {}
        }
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.connect()
        lives.app.manager.scanForPeripherals(withServices: nil)
        lives.phone.killApp()
        let delegate = Deaf()
        let manager = lives.phone.run {
            CBCentralManager(
                delegate: delegate, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "phone"])
        }
        lives.rest()
        #expect(manager.isScanning)
        #expect(manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "FFF0")]).isEmpty)
    }

    @Test("The radio is off: what waited is disconnected, a scan begins when it is on")
    func poweredOff() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        lives.app.manager.scanForPeripherals(withServices: nil)
        lives.restartApp { _ in lives.phone.setBluetooth(on: false) }
        lives.run(until: "state poweredOff")
        #expect(lives.app.take().suffix(2) == ["willRestore unknown connecting", "state poweredOff"])
        #expect(lives.app.peripheral.state == .disconnected && lives.app.peripheral.services == nil)
        #expect(!lives.app.manager.isScanning)
        lives.phone.setBluetooth(on: true)
        lives.powerOn()
        #expect(lives.app.manager.isScanning)
        lives.rest()
        #expect(!lives.app.log.contains("didConnect connected"))
    }

    @Test("A dead battery ends the app as a kill does")
    func battery() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        lives.phone.removeBattery()
        lives.world.run(for: .seconds(10))
        lives.phone.insertBattery()
        lives.restartApp(after: .zero)
        lives.run(until: "didConnect connected")
        #expect(lives.app.characteristic("FFF1").isNotifying)
    }
}
