import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Over the air: attributes, both roles")
struct RadioAttributeTests {
    @Test("A4, B-E1, B-E3: the published services are found, the system's own are not")
    func discovery() throws {
        let scene = LockWorld()
        try scene.connect()
        scene.app.peripheral.discoverServices(nil)
        scene.waitForLog("didDiscoverServices [FFF0]")
        let service = scene.app.peripheral.services![0]
        scene.app.peripheral.discoverCharacteristics([CBUUID(string: "FFF4")], for: service)
        scene.waitForLog("didDiscoverCharacteristics [FFF4]")
        let constant = service.characteristics![0]
        scene.app.peripheral.discoverCharacteristics(nil, for: service)
        scene.waitForLog("didDiscoverCharacteristics [FFF1 FFF2 FFF3 FFF4 FFF5 FFF6]")
        #expect(service.characteristics![3] === constant)
        #expect(service.characteristics!.map(\.properties.rawValue) == [0x1A, 0x04, 0x20, 0x02, 0x02, 0x08])
    }

    @Test("B-F11, B-F13, B-F14: descriptors, the configuration among them")
    func descriptors() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let characteristic = scene.app.characteristic("FFF1")
        scene.app.peripheral.setNotifyValue(true, for: characteristic)
        scene.app.peripheral.discoverDescriptors(for: characteristic)
        #expect(scene.wait { _ in characteristic.descriptors != nil })
        let descriptors = try #require(characteristic.descriptors)
        #expect(Set(descriptors.map(\.uuid.uuidString)) == ["2901", "2902"])
        for descriptor in descriptors { scene.app.peripheral.readValue(for: descriptor) }
        scene.waitForLog("didUpdateDescriptor 2901 Door")
        scene.waitForLog("didUpdateDescriptor 2902 1")
    }

    @Test("B-F1, B-H7: a dynamic value is asked for, a constant one is not")
    func read() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.lockApp.onRead = { app, request in
            request.value = Data("open".utf8)[request.offset...]
            app.manager.respond(to: request, withResult: .success)
        }
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF4"))
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateValue FFF1 \(hex(Data("open".utf8)))")
        #expect(scene.app.log[0] == "didUpdateValue FFF4 \(hex(Data("constant".utf8)))", "in the order asked")
        #expect(scene.lockApp.log == ["didReceiveRead FFF1 0"])
    }

    @Test("B-H8: a long value is read in pieces")
    func longRead() throws {
        let scene = LockWorld(lockMTU: 23)
        try scene.connectAndDiscover()
        let value = Data((0..<50).map { UInt8($0) })
        scene.lockApp.onRead = { app, request in
            request.value = value[request.offset...]
            app.manager.respond(to: request, withResult: .success)
        }
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateValue FFF1 \(hex(value))")
        #expect(scene.lockApp.log == ["didReceiveRead FFF1 0", "didReceiveRead FFF1 22", "didReceiveRead FFF1 44"])
    }

    @Test("B-F3, B-H11: what is not permitted is answered by the system")
    func notPermitted() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF5"))
        scene.app.peripheral.writeValue(Data([1]), for: scene.app.characteristic("FFF6"), type: .withResponse)
        scene.waitForLog("didUpdateValue FFF5 - CBATTError 2")
        scene.waitForLog("didWriteValue FFF6 CBATTError 3")
        #expect(scene.lockApp.log.isEmpty)
        #expect(scene.app.errors[1].localizedDescription == "Writing is not permitted.")
    }

    @Test("A6, B-F4, B-N1: a write is confirmed, or refused with the lock's own code")
    func write() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let characteristic = scene.app.characteristic("FFF1")
        scene.app.peripheral.writeValue(Data("unlock".utf8), for: characteristic, type: .withResponse)
        scene.waitForLog("didWriteValue FFF1")
        #expect(scene.lockApp.take() == ["didReceiveWrite FFF1 0 \(hex(Data("unlock".utf8)))"])
        scene.lockApp.onWrite = { app, requests in
            app.manager.respond(to: requests[0], withResult: CBATTError.Code(rawValue: 0x80)!)
        }
        scene.app.peripheral.writeValue(Data("unlock".utf8), for: characteristic, type: .withResponse)
        scene.waitForLog("didWriteValue FFF1 CBATTError 128")
    }

    @Test("B-F6, B-H9: a long write arrives whole, in one call")
    func longWrite() throws {
        let scene = LockWorld(lockMTU: 23)
        try scene.connectAndDiscover()
        let value = Data((0..<100).map { UInt8($0) })
        var received = Data()
        scene.lockApp.onWrite = { app, requests in
            for request in requests {
                #expect(request.offset == received.count)
                received += request.value ?? Data()
            }
            app.manager.respond(to: requests[0], withResult: .success)
        }
        scene.app.peripheral.writeValue(value, for: scene.app.characteristic("FFF1"), type: .withResponse)
        scene.waitForLog("didWriteValue FFF1")
        #expect(received == value && scene.lockApp.log.count == 1)
    }

    @Test("B-G3, B-H10: a hundred writes without response, none lost")
    func writesWithoutResponse() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let characteristic = scene.app.characteristic("FFF2")
        var next: UInt8 = 0
        func send(_ peripheral: CBPeripheral) {
            while next < 100 && peripheral.canSendWriteWithoutResponse {
                peripheral.writeValue(Data([next]), for: characteristic, type: .withoutResponse)
                next += 1
            }
        }
        scene.app.reactions["isReady"] = { _, peripheral in send(peripheral) }
        send(scene.app.peripheral)
        #expect(scene.wait { $0.lockApp.log.count == 100 })
        #expect(scene.lockApp.log == (0..<100).map { "didReceiveWrite FFF2 0 \(hex(Data([UInt8($0)])))" })
        #expect(scene.world.reports.filter { $0.device == "Phone" }.isEmpty)
    }

    @Test("A7, B-F8, B-H6, B-H12: subscribe, be notified, unsubscribe")
    func notifications() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let characteristic = scene.app.characteristic("FFF1")
        scene.app.peripheral.setNotifyValue(true, for: characteristic)
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        #expect(scene.lockApp.take() == ["didSubscribe FFF1 182"])
        #expect(scene.value.subscribedCentrals?.count == 1)
        #expect(scene.lockApp.manager.updateValue(Data([0x64]), for: scene.value, onSubscribedCentrals: nil))
        scene.waitForLog("didUpdateValue FFF1 64")
        scene.app.peripheral.setNotifyValue(false, for: characteristic)
        scene.waitForLog("didUpdateNotificationState FFF1 false")
        #expect(scene.lockApp.take() == ["didUnsubscribe FFF1"])
        _ = scene.app.take()
        scene.lockApp.manager.updateValue(Data([0x65]), for: scene.value, onSubscribedCentrals: nil)
        scene.world.run(for: .seconds(1))
        #expect(scene.app.log.isEmpty)
    }

    @Test("B-H12: indications are confirmed; none is lost, and the queue says when it is full")
    func indications() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF3"))
        scene.waitForLog("didUpdateNotificationState FFF3 true")
        _ = scene.app.take()
        var next: UInt8 = 0
        func send() {
            while next < 60,
                scene.lockApp.manager.updateValue(Data([next]), for: scene.indicated, onSubscribedCentrals: nil)
            {
                next += 1
            }
        }
        scene.lockApp.reactions["isReady"] = { _ in send() }
        send()
        #expect(next == 20)
        #expect(scene.wait { $0.app.log.count == 60 })
        #expect(scene.app.log == (0..<60).map { "didUpdateValue FFF3 \(hex(Data([UInt8($0)])))" })
    }

    @Test("B-H5: a central that vanishes has unsubscribed")
    func vanishedCentral() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        _ = scene.lockApp.take()
        scene.phone.position = .init(x: 10_000)
        #expect(scene.wait { $0.lockApp.log == ["didUnsubscribe FFF1"] })
        #expect(scene.value.subscribedCentrals == [])
    }

    @Test("C9, B-G1, B-G2: the MTU that both take", arguments: [(185, 182), (23, 20), (247, 244), (517, 514)])
    func mtu(lockMTU: Int, room: Int) throws {
        let scene = LockWorld(lockMTU: lockMTU, phoneMTU: 517)
        try scene.connect()
        scene.world.run(for: .seconds(1))
        #expect(scene.app.peripheral.maximumWriteValueLength(for: .withoutResponse) == room)
        #expect(scene.app.peripheral.maximumWriteValueLength(for: .withResponse) == 512)
    }

    @Test("B-E4: a service that is added on a living link is told")
    func serviceChanged() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.world.run(for: .seconds(1))
        let battery = CBMutableService(type: CBUUID(string: "180F"), primary: true)
        scene.lockApp.manager.add(battery)
        #expect(scene.wait { $0.app.log.contains { $0.hasPrefix("didModifyServices") } })
        scene.app.peripheral.discoverServices(nil)
        scene.waitForLog("didDiscoverServices [FFF0 180F]")
        _ = scene.app.take()
        scene.lockApp.manager.remove(scene.service)
        scene.waitForLog("didModifyServices [FFF0]")
    }

    @Test("C4: a read that is never answered ends at the central, and the peripheral is warned")
    func forgotten() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.lockApp.onRead = { _, _ in }
        let before = scene.world.now
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
        #expect(scene.wait(for: .seconds(40)) { !$0.app.log.isEmpty })
        #expect(scene.world.now - before > .seconds(29))
        #expect(scene.world.reports.contains { $0.device == "Door lock" && $0.text.contains("never answered") })
    }

    @Test("A3, B5: one central, two peripherals")
    func twoPeripherals() throws {
        let scene = LockWorld()
        try scene.connect()
        let other = scene.world.addDevice("Other", at: .init(y: 1))
        let otherApp = other.run { PeripheralApp() }
        #expect(scene.wait { _ in otherApp.manager.state == .poweredOn })
        otherApp.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Other"])
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { $0.app.peripherals.count == 2 })
        scene.app.manager.connect(scene.app.peripherals[1])
        #expect(scene.wait { $0.app.peripherals.allSatisfy { $0.state == .connected } })
    }

    @Test("B-I1: a name that does not fit the advertisement moves to the scan response")
    func longName() throws {
        let scene = LockWorld(advertises: false)
        scene.lockApp.manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "A name of twenty-six octet",
            CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "0000FFF0-1234-1000-8000-00805F9B34FB")],
        ])
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { $0.app.peripherals.first?.name == "A name of twenty-six octet" })
    }
}
