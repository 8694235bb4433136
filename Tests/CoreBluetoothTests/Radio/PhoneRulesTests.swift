import BluetoothSimulation
import CoreBluetooth
import Testing

/// The phone's rules, each set in one line, and what an app sees of them. Sources: Apple's *Core Bluetooth Background
/// Processing for iOS Apps*; values of ours are in Documentation/Decisions/0020-the-phones-rules.md.
@Suite("Over the air: the phone's rules")
struct PhoneRulesTests {
    // MARK: Permission and state

    @Test("B2, B-B7: while the question is on the screen the state is unknown; then it is as answered")
    func notDetermined() {
        let scene = LockWorld(advertises: false)
        scene.phone.permission = .notDetermined
        let app = scene.phone.run { CentralApp() }
        scene.world.run(for: .seconds(5))
        #expect(app.take().isEmpty && app.manager.state == .unknown)
        #expect(app.manager.authorization == .notDetermined)
        scene.phone.run { #expect(CBManager.authorization == .notDetermined) }
        scene.phone.permission = .allowed
        #expect(scene.wait { _ in app.log == ["state poweredOn"] })
        #expect(app.manager.authorization == .allowedAlways)
    }

    @Test(
        "B2, B-B7: without permission the state is unauthorized, and the class says why",
        arguments: [
            (SimulatedDevice.Permission.denied, CBManagerAuthorization.denied, "has denied this app Bluetooth"),
            (.restricted, .restricted, "management or its parental controls"),
        ])
    func unauthorized(permission: SimulatedDevice.Permission, expected: CBManagerAuthorization, reason: String) throws {
        let scene = LockWorld()
        try scene.connect()
        _ = scene.app.take()
        scene.phone.permission = permission
        scene.waitForLog("state unauthorized")
        #expect(scene.app.take() == ["state unauthorized"])
        #expect(scene.app.manager.authorization == expected)
        scene.phone.run {
            #expect(CBManager.authorization == expected)
            #expect(CBPeripheralManager.authorizationStatus().rawValue == expected.rawValue)
        }
        #expect(scene.world.reports.contains { $0.device == "Phone" && $0.text.contains(reason) })
        scene.phone.setBluetooth(on: false)
        scene.phone.setBluetooth(on: true)
        scene.world.run(for: .seconds(2))
        #expect(scene.app.take().isEmpty, "the switch in the settings gives no permission")
        scene.phone.permission = .allowed
        scene.waitForLog("state poweredOn")
    }

    @Test("C11, B-B8: the simulator has no radio")
    func simulator() {
        let scene = LockWorld(advertises: false)
        scene.phone.isSimulator = true
        let app = scene.phone.run { CentralApp() }
        #expect(scene.wait { _ in app.log == ["state unsupported"] })
        #expect(app.manager.authorization == .allowedAlways)
    }

    @Test("B-B3, B-B8: resetting, and back after a second")
    func reset() throws {
        let scene = LockWorld()
        try scene.connect()
        let peripheral = scene.app.peripheral
        _ = scene.app.take()
        scene.phone.resetBluetooth()
        scene.waitForLog("state resetting")
        #expect(peripheral.state == .disconnected)
        scene.waitForLog("state poweredOn")
        #expect(scene.app.take() == ["state resetting", "state poweredOn"])
        scene.app.manager.connect(peripheral)
        #expect(scene.world.reports.contains { $0.text.contains("does not belong to") }, "below poweredOff it is void")
    }

    @Test("A radio that is switched off during a reset stays off")
    func offDuringReset() {
        let scene = LockWorld(advertises: false)
        scene.phone.resetBluetooth()
        scene.phone.setBluetooth(on: false)
        scene.world.run(for: .seconds(5))
        #expect(scene.app.manager.state == .poweredOff)
    }

    @Test("The rules outlive a battery change")
    func battery() {
        let scene = LockWorld(advertises: false)
        scene.phone.permission = .denied
        scene.phone.removeBattery()
        scene.phone.insertBattery()
        let app = scene.phone.run { CentralApp() }
        #expect(scene.wait { _ in app.log == ["state unauthorized"] })
    }

    // MARK: A central in the background

    @Test("C7, B-C4: in the background a scan needs services, reports nothing twice, and is slower")
    func backgroundScan() throws {
        let scene = LockWorld()
        scene.phone.backgroundModes = .bluetoothCentral
        let duplicates = [CBCentralManagerScanOptionAllowDuplicatesKey: true]
        scene.app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")], options: duplicates)
        scene.world.run(for: .seconds(2))
        #expect(scene.app.take().count > 10, "in the foreground each packet")
        scene.phone.isInBackground = true
        scene.world.run(for: .seconds(120))
        #expect(scene.app.take().count <= 2, "in the background each device, with and without its scan response")
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(120))
        #expect(scene.app.take().isEmpty)
        #expect(scene.world.reports.contains { $0.text.contains("A scan without services rests in the background") })
        scene.phone.isInBackground = false
        scene.world.run(for: .seconds(2))
        #expect(!scene.app.take().isEmpty, "and goes on in the foreground")
    }

    @Test("C7: a device is found later in the background than in the foreground")
    func backgroundScanIsSlow() {
        func timeToFind(inBackground: Bool, seed: UInt64) -> Duration {
            let scene = LockWorld(seed: seed)
            scene.phone.backgroundModes = .bluetoothCentral
            scene.phone.isInBackground = inBackground
            let start = scene.world.now
            scene.app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
            #expect(scene.wait(for: .seconds(600)) { !$0.app.peripherals.isEmpty })
            return scene.world.now - start
        }
        let seeds = (1...10).map { UInt64($0) }
        let foreground = seeds.map { timeToFind(inBackground: false, seed: $0) }.reduce(.zero, +)
        let background = seeds.map { timeToFind(inBackground: true, seed: $0) }.reduce(.zero, +)
        #expect(background > foreground * 10, "\(background) and \(foreground)")
    }

    @Test("C6: a write takes two intervals: of 15 ms in the foreground, of more than 100 in the background")
    func interval() throws {
        let scene = LockWorld()
        scene.phone.backgroundModes = .bluetoothCentral
        try scene.connectAndDiscover()
        func timeToWrite() -> Duration {
            _ = scene.app.take()
            let start = scene.world.now
            for _ in 0..<20 {
                scene.app.peripheral.writeValue(Data([1]), for: scene.app.characteristic("FFF1"), type: .withResponse)
            }
            #expect(scene.wait(for: .seconds(60)) { $0.app.log.count == 20 })
            return (scene.world.now - start) / 20
        }
        scene.world.run(for: .seconds(1))
        let foreground = timeToWrite()
        scene.phone.isInBackground = true
        scene.world.run(for: .seconds(3))
        let background = timeToWrite()
        scene.phone.isInBackground = false
        scene.world.run(for: .seconds(3))
        let again = timeToWrite()
        #expect(foreground <= .milliseconds(31) && again <= .milliseconds(31), "\(foreground), \(again)")
        #expect(background >= .milliseconds(100) && background <= .milliseconds(211), "\(background)")
    }

    @Test("C6: a link that begins in the background is slow from the beginning")
    func intervalOfNewLink() throws {
        let scene = LockWorld()
        scene.phone.backgroundModes = .bluetoothCentral
        try scene.find()
        scene.phone.isInBackground = true
        scene.app.manager.connect(scene.app.peripheral)
        #expect(scene.wait(for: .seconds(60)) { $0.app.log.contains("didConnect connected") })
        scene.world.run(for: .seconds(2))
        _ = scene.app.take()
        let start = scene.world.now
        for _ in 0..<10 { scene.app.peripheral.discoverServices(nil) }
        #expect(scene.wait(for: .seconds(60)) { $0.app.log.count == 10 })
        #expect((scene.world.now - start) / 10 >= .milliseconds(100))
    }

    @Test("C7, C13: without the mode an app in the background is suspended, and hears of it all in the foreground")
    func suspension() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        _ = scene.app.take()
        scene.phone.isInBackground = true
        scene.world.run(for: .seconds(2))
        scene.lockApp.manager.updateValue(Data([1]), for: scene.value, onSubscribedCentrals: nil)
        scene.world.run(for: .seconds(2))
        #expect(scene.app.take() == ["didUpdateValue FFF1 01"], "not suspended at once")
        scene.world.run(for: .seconds(2))
        for count in 2...4 {
            scene.lockApp.manager.updateValue(Data([UInt8(count)]), for: scene.value, onSubscribedCentrals: nil)
            scene.world.run(for: .seconds(1))
        }
        scene.lock.removeBattery()
        scene.world.run(for: .seconds(60))
        #expect(scene.app.take().isEmpty)
        #expect(scene.app.peripheral.state == .connected, "it knows nothing")
        scene.phone.isInBackground = false
        scene.world.run(for: .zero)
        #expect(
            scene.app.take() == [
                "didUpdateValue FFF1 02", "didUpdateValue FFF1 03", "didUpdateValue FFF1 04",
                "didDisconnect disconnected CBError 6",
            ])
    }

    @Test("C7: with the mode the app is woken for its events")
    func awake() throws {
        let scene = LockWorld()
        scene.phone.backgroundModes = .bluetoothCentral
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        scene.phone.isInBackground = true
        scene.world.run(for: .seconds(60))
        scene.lockApp.manager.updateValue(Data([9]), for: scene.value, onSubscribedCentrals: nil)
        scene.waitForLog("didUpdateValue FFF1 09")
    }

    // MARK: A peripheral in the background

    @Test("C7, B-I7, B-C2: a background peripheral has no name and no services on the air, but an overflow area")
    func backgroundAdvertising() throws {
        let scene = LockWorld()
        scene.lock.backgroundModes = .bluetoothPeripheral
        scene.lock.isInBackground = true
        scene.world.run(for: .seconds(1))
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(10))
        let plain = try #require(scene.app.advertisements.last)
        #expect(plain[CBAdvertisementDataLocalNameKey] == nil && plain[CBAdvertisementDataServiceUUIDsKey] == nil)
        #expect(plain[CBAdvertisementDataOverflowServiceUUIDsKey] == nil, "it is not looked for")
        let raw = try #require(plain[CBAdvertisementDataManufacturerDataKey] as? Data)
        // 4C 00 01 and 128 bits, one of them set: D. G. Young, "Hacking the Overflow Area".
        #expect(raw.count == 19 && raw.prefix(3) == Data([0x4C, 0x00, 0x01]))
        #expect(raw.dropFirst(3).reduce(0) { $0 + $1.nonzeroBitCount } == 1)
        scene.app.advertisements = []
        scene.app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        scene.world.run(for: .seconds(10))
        let found = try #require(scene.app.advertisements.last)
        #expect(found[CBAdvertisementDataOverflowServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "FFF0")])
        scene.app.advertisements = []
        scene.app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFE0")])
        scene.world.run(for: .seconds(10))
        #expect(scene.app.advertisements.isEmpty)
        // It can be connected to, and serves.
        scene.app.manager.connect(scene.app.peripheral)
        scene.waitForLog("didConnect connected")
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.lock.isInBackground = false
        scene.app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        scene.world.run(for: .seconds(10))
        #expect(scene.app.advertisements.last?[CBAdvertisementDataLocalNameKey] as? String == "KL940704079")
    }

    @Test("C7: in the background a peripheral advertises once a second")
    func advertisingInterval() {
        let scene = LockWorld()
        scene.lock.backgroundModes = .bluetoothPeripheral
        scene.lock.isInBackground = true
        scene.world.run(for: .seconds(1))
        scene.app.manager.scanForPeripherals(
            withServices: [CBUUID(string: "FFF0")], options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        scene.world.run(for: .seconds(60))
        // Each of 59 to 61 events brings the advertisement and the scan response, if nothing is lost.
        #expect((100...122).contains(scene.app.take().count))
    }

    @Test("C7, C13: without the mode a background peripheral is not seen, and answers with an error")
    func disabledPeripheral() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.lock.isInBackground = true
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateValue FFF1 - CBATTError 14")
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF4"))
        scene.waitForLog("didUpdateValue FFF4 \(hex(Data("constant".utf8)))")
        #expect(scene.lockApp.take().isEmpty)
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.world.run(for: .seconds(1))
        scene.app.advertisements = []
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(10))
        #expect(scene.app.advertisements.isEmpty && scene.lockApp.manager.isAdvertising)
        scene.lock.isInBackground = false
        scene.world.run(for: .seconds(2))
        #expect(!scene.app.advertisements.isEmpty)
    }

    // MARK: The end of the app

    @Test("C8: an app that the system ends hears nothing more; its link goes, and it can be started anew")
    func ended() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.phone.endApp()
        scene.world.run(for: .seconds(5))
        #expect(scene.app.take().isEmpty)
        let app = scene.phone.run { CentralApp() }
        #expect(scene.wait { _ in app.manager.state == .poweredOn })
        app.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        #expect(scene.wait { _ in !app.peripherals.isEmpty }, "the lock is free again")
    }

    @Test("The same seed gives the same run, rules included")
    func determinism() throws {
        func run() throws -> [String] {
            let scene = LockWorld(seed: 3)
            scene.phone.backgroundModes = .bluetoothCentral
            try scene.connectAndDiscover()
            scene.phone.isInBackground = true
            scene.world.run(for: .seconds(10))
            scene.phone.resetBluetooth()
            scene.world.run(for: .seconds(10))
            return scene.app.log + ["\(scene.world.now)"] + scene.world.reports.map { "\($0.time)" }
        }
        #expect(try run() == run())
    }
}
