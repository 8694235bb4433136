import BluetoothSimulation
import CoreBluetooth
import Testing

/// Sections M, O and P of the observed behaviour: UUIDs, descriptions, what the language allows.
@Suite("Behaviour: names, texts, language")
struct LanguageBehaviourTests {
    @Test("B-M1: the texts by which a program ends", .timeLimit(.minutes(60)))
    func texts() async {
        let malformed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CBUUID(string: "0x1234")
        }
        let output = String(decoding: malformed?.standardErrorContent ?? [], as: UTF8.self)
        #expect(output.contains("String 0x1234 does not represent a valid UUID"))
    }

    @Test("B-M6: a service that travels in 16 bits is named by 16 bits, however it was made")
    func foundWidth() throws {
        let scene = LockWorld(advertises: false)
        scene.lockApp.manager.add(
            CBMutableService(type: CBUUID(string: "0000180F-0000-1000-8000-00805F9B34FB"), primary: true))
        scene.lockApp.manager.add(
            CBMutableService(type: CBUUID(string: "0000180F-1234-1000-8000-00805F9B34FB"), primary: true))
        scene.advertise()
        try scene.connect()
        scene.app.peripheral.discoverServices(nil)
        scene.waitForLog("didDiscoverServices [FFF0 180F 0000180F-1234-1000-8000-00805F9B34FB]")
    }

    @Test("B-O2: objects describe themselves as on Apple's systems")
    func descriptions() throws {
        func plain(_ object: Any) -> String {
            "\(object)".replacing(/0x[0-9a-f]{6,}/, with: "0x…").replacing(
                /identifier = [0-9A-F-]{36}/, with: "identifier = …")
        }
        let scene = LockWorld()
        #expect(plain(scene.app.manager!) == "<CBCentralManager: 0x…>")
        #expect(plain(scene.lockApp.manager!) == "<CBPeripheralManager: 0x…>")
        try scene.find()
        scene.app.manager.connect(scene.app.peripheral)
        #expect(
            plain(scene.app.peripheral)
                == "<CBPeripheral: 0x…, identifier = …, name = KL940704079, mtu = 0, state = connecting>")
        #expect(scene.wait { $0.app.peripheral.state == .connected })
        try scene.discover()
        #expect(plain(scene.app.peripheral.services![0]) == "<CBService: 0x…, isPrimary = YES, UUID = FFF0>")
        let characteristic = scene.app.characteristic("FFF4")
        #expect(
            plain(characteristic)
                == "<CBCharacteristic: 0x…, UUID = FFF4, properties = 0x2, value = (null), notifying = NO>")
        scene.app.peripheral.readValue(for: characteristic)
        scene.waitForLog("didUpdateValue FFF4 \(hex(Data("constant".utf8)))")
        #expect(
            plain(characteristic)
                == "<CBCharacteristic: 0x…, UUID = FFF4, properties = 0x2, value = {length = 8, bytes = "
                + "0x636f6e7374616e74}, notifying = NO>".replacing("0x636f6e7374616e74", with: "0x…"))
        #expect(plain(scene.lockApp.manager!) == "<CBPeripheralManager: 0x…>")
    }

    @Test("B-P5: the types that Foundation and Dispatch on Linux lack are there")
    func types() {
        let time: CFAbsoluteTime = 1.5
        let queue: dispatch_queue_t? = DispatchQueue.main
        #expect(time == 1.5 && queue != nil)
    }

    @Test("B-P6: what the advertisement's dictionary holds can be cast as on Apple's systems")
    func casts() throws {
        let scene = LockWorld()
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { !$0.app.advertisements.isEmpty })
        let found = try #require(scene.app.advertisements.last)
        let connectable = found[CBAdvertisementDataIsConnectable]
        #expect(
            connectable as? Bool == true && connectable as? Int == 1 && (connectable as? NSNumber)?.boolValue == true)
        #expect(found[CBAdvertisementDataLocalNameKey] as? String == "KL940704079")
        #expect(found[CBAdvertisementDataLocalNameKey] as? NSString == "KL940704079")
        #expect((found[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID])?.count == 1)
        #expect((found[CBAdvertisementDataServiceUUIDsKey] as? NSArray)?.count == 1)
    }

    @Test("B-P7: options may be Swift's values or numbers of Foundation", arguments: [true, false])
    func options(asNumber: Bool) throws {
        let scene = LockWorld()
        let yes: Any = asNumber ? NSNumber(value: true) : true
        scene.app.manager.scanForPeripherals(
            withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: yes])
        scene.world.run(for: .seconds(2))
        #expect(scene.app.take().count > 5)
        scene.app.manager.stopScan()
        let before = scene.world.now
        let delay: Any = asNumber ? NSNumber(value: 2.5) : 2.5
        scene.app.manager.connect(scene.app.peripheral, options: [CBConnectPeripheralOptionStartDelayKey: delay])
        scene.waitForLog("didConnect connected")
        #expect(scene.world.now - before > .milliseconds(2500))
    }
}
