import BluetoothSimulation
import CoreBluetooth
import Testing

/// Sections H and I of the observed behaviour: the peripheral role.
@Suite("Behaviour: the peripheral role")
struct PeripheralBehaviourTests {
    private func readable(_ uuid: String, value: Data? = nil) -> CBMutableCharacteristic {
        CBMutableCharacteristic(
            type: CBUUID(string: uuid), properties: .read, value: value, permissions: .readable)
    }

    // MARK: The database

    @Test("B-H1: add is answered once, what is published is frozen, and included services come first")
    func frozen() throws {
        let scene = LockWorld(advertises: false)
        let inner = CBMutableService(type: CBUUID(string: "FFE0"), primary: false)
        inner.characteristics = [readable("FFE1", value: Data("inner".utf8))]
        let outer = CBMutableService(type: CBUUID(string: "FFD0"), primary: true)
        outer.characteristics = [readable("FFD1", value: Data("outer".utf8))]
        outer.includedServices = [inner]
        scene.lockApp.manager.add(outer)
        #expect(scene.wait { $0.lockApp.log.last == "didAdd FFD0 CBError 1" }, "too early")
        scene.lockApp.manager.add(inner)
        #expect(scene.wait { $0.lockApp.log.last == "didAdd FFE0" })
        scene.lockApp.manager.add(outer)
        #expect(scene.wait { $0.lockApp.log.last == "didAdd FFD0" })
        scene.lockApp.manager.add(outer)
        #expect(scene.wait { $0.lockApp.log.last == "didAdd FFD0 CBError 1" }, "twice")
        outer.characteristics = []
        outer.includedServices = nil
        scene.advertise()
        try scene.connect()
        scene.app.peripheral.discoverServices(nil)
        scene.waitForLog("didDiscoverServices [FFF0 FFD0]")
        let service = try #require(scene.app.peripheral.services?.last)
        scene.app.peripheral.discoverCharacteristics(nil, for: service)
        scene.app.peripheral.discoverIncludedServices(nil, for: service)
        scene.waitForLog("didDiscoverCharacteristics [FFD1]")
        scene.waitForLog("didDiscoverIncludedServices [FFE0]")
        #expect(service.includedServices?.first?.isPrimary == false)
    }

    @Test("B-H2: a value makes a characteristic constant; without one the app is asked; both at once is refused")
    func constant() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF4"))
        scene.waitForLog("didUpdateValue FFF4 \(hex(Data("constant".utf8)))")
        #expect(scene.lockApp.take().isEmpty, "nobody is asked")
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateValue FFF1 ")
        #expect(scene.lockApp.take() == ["didReceiveRead FFF1 0"])
        let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
        service.characteristics = [
            CBMutableCharacteristic(
                type: CBUUID(string: "FFE1"), properties: [.read, .write], value: Data([1]),
                permissions: [.readable, .writeable])
        ]
        scene.lockApp.manager.add(service)
        #expect(scene.wait { $0.lockApp.log == ["didAdd FFE0 CBError 1"] })
        #expect(scene.world.reports.last?.text.contains("Characteristics with cached values must be read-only") == true)
    }

    @Test("B-H3: user description and format can be made, the configuration comes by itself")
    func descriptors() throws {
        let scene = LockWorld(advertises: false)
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(string: "FFE1"), properties: [.read, .notify], value: nil, permissions: .readable)
        let format = Data([4, 0, 0, 0x27, 1, 0, 0])
        characteristic.descriptors = [
            CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Door"),
            CBMutableDescriptor(type: CBUUID(string: "2904"), value: format),
        ]
        let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
        service.characteristics = [characteristic]
        scene.lockApp.manager.add(service)
        scene.advertise()
        try scene.connect()
        scene.app.peripheral.discoverServices([CBUUID(string: "FFE0")])
        scene.waitForLog("didDiscoverServices [FFE0]")
        scene.app.peripheral.discoverCharacteristics(nil, for: try #require(scene.app.peripheral.services?.first))
        scene.waitForLog("didDiscoverCharacteristics [FFE1]")
        let found = scene.app.characteristic("FFE1")
        scene.app.peripheral.discoverDescriptors(for: found)
        #expect(scene.wait { _ in found.descriptors?.count == 3 })
        #expect(Set(found.descriptors!.map(\.uuid.uuidString)) == ["2901", "2902", "2904"])
        for descriptor in found.descriptors! { scene.app.peripheral.readValue(for: descriptor) }
        scene.waitForLog("didUpdateDescriptor 2901 Door")
        scene.waitForLog("didUpdateDescriptor 2902 0")
        #expect(scene.wait { _ in found.descriptors!.contains { $0.value as? Data == format } })
    }

    @Test("B-H4: the system's own services are refused; the battery service is not")
    func reserved() {
        let scene = LockWorld(advertises: false)
        _ = scene.lockApp.take()
        for uuid in ["1800", "1801", "180F"] {
            scene.lockApp.manager.add(CBMutableService(type: CBUUID(string: uuid), primary: true))
        }
        scene.world.run(for: .seconds(1))
        #expect(Set(scene.lockApp.take()) == ["didAdd 1800 CBError 8", "didAdd 1801 CBError 8", "didAdd 180F"])
    }

    @Test("B-H13: any result code reaches the central as it is", arguments: [0x01, 0x0E, 0x11, 0x80, 0x9F, 0xE0, 0xFF])
    func resultCodes(code: Int) throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let result = try #require(CBATTError.Code(rawValue: code))
        scene.lockApp.onRead = { app, request in app.manager.respond(to: request, withResult: result) }
        scene.lockApp.onWrite = { app, requests in app.manager.respond(to: requests[0], withResult: result) }
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        scene.app.peripheral.writeValue(Data([1]), for: scene.app.characteristic("FFF1"), type: .withResponse)
        scene.waitForLog("didWriteValue FFF1 CBATTError \(code)")
        #expect(scene.app.log.first == "didUpdateValue FFF1 - CBATTError \(code)")
    }

    @Test("B-H14, C6: the pace that a peripheral asks for is seen in the delay")
    func latency() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        let central = try #require(scene.value.subscribedCentrals?.first)
        func timeToWrite(_ latency: CBPeripheralManagerConnectionLatency) -> Duration {
            scene.lockApp.manager.setDesiredConnectionLatency(latency, for: central)
            scene.world.run(for: .seconds(5))
            _ = (scene.app.take(), scene.lockApp.take())
            let start = scene.world.now
            for _ in 0..<10 {
                scene.app.peripheral.writeValue(Data([1]), for: scene.app.characteristic("FFF1"), type: .withResponse)
            }
            #expect(scene.wait(for: .seconds(60)) { $0.app.log.count == 10 })
            return (scene.world.now - start) / 10
        }
        let (low, medium, high) = (timeToWrite(.low), timeToWrite(.medium), timeToWrite(.high))
        #expect(low <= .milliseconds(31) && low < medium && medium < high && high >= .milliseconds(100))
        #expect(scene.lockApp.log.allSatisfy { $0.hasPrefix("didReceiveWrite") }, "nothing answers")
    }

    @Test("B-H15, B-I6: what is published and advertised outlives off and on, and goes with a reset")
    func powerCycle() throws {
        let scene = LockWorld()
        scene.lock.setBluetooth(on: false)
        scene.world.run(for: .seconds(1))
        #expect(!scene.lockApp.manager.isAdvertising, "it pauses")
        scene.lock.setBluetooth(on: true)
        #expect(scene.wait { $0.lockApp.manager.state == .poweredOn })
        #expect(scene.lockApp.manager.isAdvertising, "and goes on")
        try scene.connect()
        scene.app.peripheral.discoverServices(nil)
        scene.waitForLog("didDiscoverServices [FFF0]")
        scene.lock.resetBluetooth()
        scene.world.run(for: .seconds(10))
        #expect(scene.lockApp.manager.state == .poweredOn && !scene.lockApp.manager.isAdvertising)
        _ = (scene.app.take(), scene.lockApp.take())
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(5))
        #expect(scene.app.take().isEmpty, "it has stopped")
        scene.advertise()
        scene.app.manager.stopScan()
        scene.app.manager.connect(scene.app.peripheral)
        scene.waitForLog("didConnect connected")
        scene.app.peripheral.discoverServices(nil)
        scene.waitForLog("didDiscoverServices []")
    }

    @Test("A start that the radio's end has overtaken does not begin by itself later")
    func overtakenStart() {
        let scene = LockWorld(advertises: false)
        scene.lockApp.manager.startAdvertising(nil)
        scene.lock.setBluetooth(on: false)
        scene.world.run(for: .seconds(1))
        scene.lock.setBluetooth(on: true)
        #expect(scene.wait { $0.lockApp.manager.state == .poweredOn })
        _ = scene.lockApp.take()
        scene.advertise()
        #expect(scene.lockApp.manager.isAdvertising)
    }

    // MARK: Advertising

    @Test("B-I1: other keys are ignored, and the log says so")
    func otherKeys() throws {
        let scene = LockWorld(advertises: false)
        scene.lockApp.manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Lock", CBAdvertisementDataManufacturerDataKey: Data([1, 2, 3]),
            CBAdvertisementDataTxPowerLevelKey: 4,
        ])
        #expect(scene.wait { $0.lockApp.log.last == "didStartAdvertising" })
        #expect(scene.world.reports.count { $0.text.contains("ignores the advertisement's key") } == 2)
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { !$0.app.advertisements.isEmpty })
        #expect(scene.app.advertisements.allSatisfy { $0[CBAdvertisementDataManufacturerDataKey] == nil })
    }

    @Test("B-I2: values of the wrong type are refused with invalidParameters")
    func wrongTypes() {
        let scene = LockWorld(advertises: false)
        _ = scene.lockApp.take()
        scene.lockApp.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: ["FFF0"]])
        scene.lockApp.manager.startAdvertising([CBAdvertisementDataLocalNameKey: 5])
        scene.world.run(for: .seconds(1))
        #expect(scene.lockApp.take() == ["didStartAdvertising CBError 1", "didStartAdvertising CBError 1"])
        #expect(!scene.lockApp.manager.isAdvertising)
    }

    @Test("B-I3, C5: what does not fit is shortened or left out, and said")
    func tooMuch() throws {
        let scene = LockWorld(advertises: false)
        let long = (0..<2).map { CBUUID(string: "0000FFF\($0)-1234-1000-8000-00805F9B34FB") }
        scene.lockApp.manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: String(repeating: "0123456789", count: 4),
            CBAdvertisementDataServiceUUIDsKey: long,
        ])
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(2))
        let seen = try #require(scene.app.advertisements.last)
        // 31 octets of scan response, two of which are the header: Core 6.0, Vol 6, Part B, 2.3.1.
        #expect(seen[CBAdvertisementDataLocalNameKey] as? String == "01234567890123456789012345678")
        #expect(seen[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [long[0]])
        let texts = scene.world.reports.map(\.text)
        #expect(texts.contains { $0.contains("advertises a shortened name") })
        #expect(texts.contains { $0.contains("without these services, which do not fit: \(long[1].uuidString)") })
    }

    @Test("B-I4, B-I5: nothing is legal to advertise; the second start is alreadyAdvertising; stopping is not told")
    func nothing() throws {
        let scene = LockWorld(advertises: false)
        _ = scene.lockApp.take()
        scene.lockApp.manager.startAdvertising(nil)
        #expect(scene.wait { $0.lockApp.take() == ["didStartAdvertising"] })
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { !$0.app.advertisements.isEmpty })
        let seen = try #require(scene.app.advertisements.first)
        #expect(seen[CBAdvertisementDataIsConnectable] as? Bool == true)
        #expect(seen[CBAdvertisementDataLocalNameKey] == nil && seen[CBAdvertisementDataServiceUUIDsKey] == nil)
        scene.lockApp.manager.startAdvertising([:])
        #expect(scene.wait { $0.lockApp.take() == ["didStartAdvertising CBError 9"] })
        scene.lockApp.manager.stopAdvertising()
        scene.world.run(for: .seconds(1))
        #expect(scene.lockApp.take().isEmpty && !scene.lockApp.manager.isAdvertising)
        scene.lockApp.manager.startAdvertising([:])
        #expect(scene.wait { $0.lockApp.take() == ["didStartAdvertising"] })
    }

    @Test("B-I6: advertising goes on when a central has connected, and a second one may come")
    func twoCentrals() throws {
        let scene = LockWorld()
        try scene.connect()
        #expect(scene.lockApp.manager.isAdvertising)
        let second = scene.world.addDevice("Second phone", at: .init(y: 2))
        let secondApp = second.run { CentralApp() }
        secondApp.reactions["didDiscover"] = { $0.manager.connect($1) }
        #expect(scene.wait { _ in secondApp.manager.state == .poweredOn })
        secondApp.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        #expect(scene.wait { _ in secondApp.log.contains("didConnect connected") })
        #expect(scene.app.peripheral.state == .connected)
    }

    @Test("B-I8: a UUID is advertised in the width in which it was made")
    func width() throws {
        let scene = LockWorld(advertises: false)
        let long = "0000FFF0-0000-1000-8000-00805F9B34FB"
        scene.lockApp.manager.startAdvertising([
            CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "180F"), CBUUID(string: long)]
        ])
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { !$0.app.advertisements.isEmpty })
        let seen = try #require(scene.app.advertisements.first?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID])
        #expect(seen.map(\.uuidString) == ["180F", long])
    }
}
