import BluetoothSimulation
import CoreBluetooth
import HostInterface
import Testing

/// Sections E, F and G of the observed behaviour: discovery, values, flow control.
@Suite("Behaviour: attributes")
struct AttributeBehaviourTests {
    @Test("B-E2: each call is answered once, also when nothing matches; nil and an empty list mean all")
    func answeredOnce() throws {
        let scene = LockWorld()
        try scene.connect()
        scene.world.run(for: .seconds(1))
        _ = scene.app.take()
        let peripheral = scene.app.peripheral
        peripheral.discoverServices([CBUUID(string: "180F")])
        peripheral.discoverServices([])
        scene.world.run(for: .seconds(1))
        #expect(scene.app.take() == ["didDiscoverServices []", "didDiscoverServices [FFF0]"])
        let service = try #require(peripheral.services?.first)
        #expect(service.characteristics == nil, "services only")
        peripheral.discoverCharacteristics([CBUUID(string: "2A00")], for: service)
        peripheral.discoverCharacteristics([], for: service)
        peripheral.discoverIncludedServices(nil, for: service)
        scene.world.run(for: .seconds(1))
        #expect(
            scene.app.take() == [
                "didDiscoverCharacteristics []", "didDiscoverCharacteristics [FFF1 FFF2 FFF3 FFF4 FFF5 FFF6]",
                "didDiscoverIncludedServices []",
            ])
        let characteristic = scene.app.characteristic("FFF4")
        #expect(characteristic.descriptors == nil)
        peripheral.discoverDescriptors(for: characteristic)
        scene.waitForLog("didDiscoverDescriptors []")
    }

    @Test("B-E5: without a bond nothing is remembered of a database: a changed one is seen at the next connection")
    func noCache() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        scene.lockApp.manager.remove(scene.service)
        scene.lockApp.manager.add(CBMutableService(type: CBUUID(string: "180F"), primary: true))
        scene.app.manager.connect(scene.app.peripheral)
        #expect(scene.wait { $0.app.peripheral.state == .connected })
        scene.app.peripheral.discoverServices(nil)
        scene.waitForLog("didDiscoverServices [180F]")
    }

    @Test("B-E6: the order is that of the handles, and a UUID may occur more than once")
    func twins() throws {
        let scene = LockWorld(advertises: false)
        let values = ["one", "two", "three"].map { Data($0.utf8) }
        for _ in 0..<2 {
            let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
            service.characteristics = values.map {
                CBMutableCharacteristic(
                    type: CBUUID(string: "FFE1"), properties: .read, value: $0, permissions: .readable)
            }
            scene.lockApp.manager.add(service)
        }
        scene.advertise()
        try scene.connect()
        scene.app.peripheral.discoverServices([CBUUID(string: "FFE0")])
        scene.waitForLog("didDiscoverServices [FFE0 FFE0]")
        let services = try #require(scene.app.peripheral.services)
        #expect(services[0] !== services[1])
        scene.app.peripheral.discoverCharacteristics(nil, for: services[1])
        scene.waitForLog("didDiscoverCharacteristics [FFE1 FFE1 FFE1]")
        let found = try #require(services[1].characteristics)
        for characteristic in found.reversed() { scene.app.peripheral.readValue(for: characteristic) }
        #expect(scene.wait { _ in found.allSatisfy { $0.value != nil } })
        #expect(found.map(\.value) == values)
    }

    @Test("B-F2: a read's answer and a notification share their call, in the order in which they came")
    func sharedCall() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let characteristic = scene.app.characteristic("FFF1")
        scene.app.peripheral.setNotifyValue(true, for: characteristic)
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        _ = scene.app.take()
        scene.lockApp.onRead = { app, request in
            app.manager.updateValue(Data([1]), for: scene.value, onSubscribedCentrals: nil)
            request.value = Data([2])
            app.manager.respond(to: request, withResult: .success)
        }
        scene.app.peripheral.readValue(for: characteristic)
        scene.world.run(for: .seconds(1))
        #expect(scene.app.take() == ["didUpdateValue FFF1 01", "didUpdateValue FFF1 02"])
    }

    @Test("B-F5: a write changes no value")
    func writtenValue() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let characteristic = scene.app.characteristic("FFF1")
        scene.lockApp.onRead = { app, request in
            request.value = Data([7])
            app.manager.respond(to: request, withResult: .success)
        }
        scene.app.peripheral.readValue(for: characteristic)
        scene.waitForLog("didUpdateValue FFF1 07")
        scene.app.peripheral.writeValue(Data([8]), for: characteristic, type: .withResponse)
        scene.waitForLog("didWriteValue FFF1")
        #expect(characteristic.value == Data([7]))
    }

    @Test("B-F9: setNotifyValue without a change answers at once, without radio activity")
    func noChange() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let before = scene.world.now
        scene.app.peripheral.setNotifyValue(false, for: scene.app.characteristic("FFF1"))
        #expect(scene.app.take() == ["didUpdateNotificationState FFF1 false"] && scene.world.now == before)
        scene.world.run(for: .seconds(1))
        #expect(scene.lockApp.take().isEmpty && scene.app.take().isEmpty)
    }

    @Test("B-F10: without the property: requestNotSupported")
    func cannotNotify() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF4"))
        scene.waitForLog("didUpdateNotificationState FFF4 false CBATTError 6")
        #expect(scene.app.errors.last?.localizedDescription == "The request is not supported.")
    }

    @Test("B-F12: a configuration descriptor written as a descriptor ends the program", .timeLimit(.minutes(60)))
    func configurationDescriptor() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let scene = LockWorld()
            try scene.connectAndDiscover()
            let characteristic = scene.app.characteristic("FFF1")
            scene.app.peripheral.discoverDescriptors(for: characteristic)
            scene.world.run(for: .seconds(1))
            let descriptor = characteristic.descriptors!.first { $0.uuid == CBUUID(string: "2902") }!
            scene.app.peripheral.writeValue(Data([1, 0]), for: descriptor)
        }
        let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            output.contains(
                "Client Characteristic Configuration descriptors must be configured using "
                    + "setNotifyValue:forCharacteristic:"), "\(output)")
    }

    @Test("B-F15: any number of operations are answered in the order in which they were asked")
    func order() throws {
        let scene = LockWorld(lockMTU: 23)
        scene.world.packetLoss = 0.1
        try scene.connectAndDiscover()
        let peripheral = scene.app.peripheral
        let service = try #require(peripheral.services?.first)
        scene.lockApp.onRead = { app, request in
            request.value = Data(repeating: 1, count: 60)[request.offset...]
            app.manager.respond(to: request, withResult: .success)
        }
        var expected: [String] = []
        for round in 0..<10 {
            peripheral.readValue(for: scene.app.characteristic("FFF1"))
            peripheral.writeValue(Data(count: 50), for: scene.app.characteristic("FFF1"), type: .withResponse)
            peripheral.setNotifyValue(round % 2 == 0, for: scene.app.characteristic("FFF3"))
            peripheral.discoverCharacteristics(nil, for: service)
            peripheral.readValue(for: scene.app.characteristic("FFF5"))
            expected += [
                "didUpdateValue FFF1", "didWriteValue FFF1", "didUpdateNotificationState FFF3",
                "didDiscoverCharacteristics [FFF1", "didUpdateValue FFF5",
            ]
            // A change that is none is answered at once (B-F9): wait until this one is made.
            #expect(scene.wait { $0.app.log.count == expected.count })
        }
        #expect(scene.app.log.map { $0.split(separator: " ").prefix(2).joined(separator: " ") } == expected)
    }

    @Test("B-F16: readRSSI is answered by didReadRSSI, and rssi keeps it")
    func rssi() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        #expect(scene.app.peripheral.rssi == nil)
        scene.app.peripheral.readRSSI()
        #expect(scene.wait { !$0.app.log.isEmpty })
        let strength = try #require(scene.app.peripheral.rssi)
        #expect(scene.app.take() == ["didReadRSSI \(strength)"] && (-100 ... -20).contains(strength.intValue))
    }

    @Test("B-G4: there is room for a write without response from didConnect on")
    func roomAtOnce() throws {
        let scene = LockWorld()
        var room: [Bool] = []
        scene.app.reactions["didConnect"] = { room.append($1.canSendWriteWithoutResponse) }
        try scene.connect()
        #expect(room == [true])
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        #expect(!scene.app.peripheral.canSendWriteWithoutResponse, "but none without a link")
        #expect(scene.app.peripheral.maximumWriteValueLength(for: .withResponse) == 0)
    }

    @Test("B-G5: a write without response that is too long arrives cut to ATT_MTU - 3")
    func cut() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let value = Data((0..<300).map { UInt8(truncatingIfNeeded: $0) })
        scene.app.peripheral.writeValue(value, for: scene.app.characteristic("FFF2"), type: .withoutResponse)
        #expect(scene.wait { !$0.lockApp.log.isEmpty })
        #expect(scene.lockApp.take() == ["didReceiveWrite FFF2 0 \(hex(value.prefix(182)))"])
    }

    @Test("B-G6: an update is cut for each central to what its link carries")
    func cutUpdate() throws {
        let scene = LockWorld(lockMTU: 517)
        try scene.connectAndDiscover()
        let small = scene.world.addDevice("Small phone", at: .init(y: 2), mtu: 23)
        let smallApp = small.run { CentralApp() }
        smallApp.reactions["didDiscover"] = { $0.manager.connect($1) }
        smallApp.reactions["didConnect"] = { $1.discoverServices([CBUUID(string: "FFF0")]) }
        smallApp.reactions["didDiscoverServices"] = { $1.discoverCharacteristics(nil, for: $1.services![0]) }
        smallApp.reactions["didDiscoverCharacteristics"] = { $1.setNotifyValue(true, for: $0.characteristic("FFF1")) }
        #expect(scene.wait { _ in smallApp.manager.state == .poweredOn })
        smallApp.manager.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        #expect(scene.wait { _ in smallApp.log.contains("didUpdateNotificationState FFF1 true") })
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        #expect(Set(scene.value.subscribedCentrals?.map(\.maximumUpdateValueLength) ?? []) == [20, 182])
        _ = (scene.app.take(), smallApp.take())
        let value = Data((0..<250).map { UInt8($0) })
        scene.lockApp.manager.updateValue(value, for: scene.value, onSubscribedCentrals: nil)
        #expect(scene.wait { !$0.app.log.isEmpty && !smallApp.log.isEmpty })
        #expect(scene.app.take() == ["didUpdateValue FFF1 \(hex(value.prefix(182)))"])
        #expect(smallApp.take() == ["didUpdateValue FFF1 \(hex(value.prefix(20)))"])
    }
}
