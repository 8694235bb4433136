import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Faults of a peer's attributes, as an app sees them")
struct AttributeFaultTests {
    private let scene = LockWorld()

    private var value: CBCharacteristic { scene.app.characteristic("FFF1") }

    private func read(within limit: Duration = .seconds(60)) -> [String] {
        scene.app.peripheral.readValue(for: value)
        _ = scene.wait(for: limit) { !$0.app.log.isEmpty }
        return scene.app.take()
    }

    private func answerReads(with text: String) {
        scene.lockApp.onRead = { app, request in
            request.value = Data(text.utf8)
            app.manager.respond(to: request, withResult: .success)
        }
    }

    @Test("answersAtSecond29: a read that takes 29 s ends well; the next one can begin only then")
    func second29() throws {
        try scene.connectAndDiscover()
        // What the phone's system asks for itself comes first.
        scene.world.run(for: .seconds(2))
        scene.lock.addFault(.answersAtSecond29)
        let start = scene.world.now
        scene.app.peripheral.readValue(for: value)
        scene.app.peripheral.readValue(for: value)
        #expect(scene.wait(for: .seconds(100)) { $0.app.log == ["didUpdateValue FFF1 ", "didUpdateValue FFF1 "] })
        #expect((scene.world.now - start) / .seconds(1) > 58)
        scene.lock.removeFault(.answersAtSecond29)
        _ = scene.app.take()
        #expect(read(within: .seconds(1)) == ["didUpdateValue FFF1 "])
    }

    @Test("neverAnswers: after 30 s the link is useless, and ends")
    func never() throws {
        try scene.connectAndDiscover()
        scene.lock.addFault(.neverAnswers)
        let start = scene.world.now
        let log = read()
        // Core 6.0, Vol 3, Part F, 3.3.3: after a timeout nothing more may be sent on this bearer.
        #expect(log.first?.hasPrefix("didUpdateValue FFF1 - CB") == true, "\(log)")
        #expect((scene.world.now - start) / .seconds(1) >= 30)
        #expect(scene.wait { $0.app.peripheral.state == .disconnected })
        #expect(scene.lockApp.log.allSatisfy { !$0.hasPrefix("didReceiveRead") })
    }

    @Test("tableMovedSilently: old handles reach other attributes or none; a new discovery finds everything")
    func moved() throws {
        answerReads(with: "value")
        try scene.connectAndDiscover()
        #expect(read() == ["didUpdateValue FFF1 76616c7565"])
        scene.lock.addFault(.tableMovedSilently)
        // The attribute sixteen below is none of the lock's values.
        let log = read()
        #expect(log != ["didUpdateValue FFF1 76616c7565"])
        #expect(scene.app.log.allSatisfy { !$0.hasPrefix("didModifyServices") })
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        scene.app.manager.connect(scene.app.peripheral)
        scene.waitForLog("didConnect connected")
        try scene.discover()
        #expect(read() == ["didUpdateValue FFF1 76616c7565"])
    }

    @Test("duplicateHandles: the discovery ends with an error, and does not go round in circles")
    func duplicates() throws {
        try scene.connect()
        scene.lock.addFault(.duplicateHandles)
        scene.app.peripheral.discoverServices(nil)
        #expect(scene.wait { $0.app.log.contains { $0.hasPrefix("didDiscoverServices") } })
        if let service = scene.app.peripheral.services?.first {
            scene.app.peripheral.discoverCharacteristics(nil, for: service)
            #expect(scene.wait { $0.app.log.contains { $0.hasPrefix("didDiscoverCharacteristics") } })
        }
        #expect(scene.app.errors.count == 1, "\(scene.app.log)")
        #expect(scene.app.peripheral.state == .connected)
    }

    @Test("illegalAnswers: the read fails, the link goes on")
    func illegal() throws {
        try scene.connectAndDiscover()
        scene.lock.addFault(.illegalAnswers)
        let log = read()
        #expect(log.count == 1 && log[0].hasPrefix("didUpdateValue FFF1 - CB"), "\(log)")
        scene.lock.removeFault(.illegalAnswers)
        #expect(read() == ["didUpdateValue FFF1 "])
    }

    @Test("errorsWithoutMeaning: what was found counts, and the link goes on")
    func meaningless() throws {
        scene.lock.addFault(.errorsWithoutMeaning)
        try scene.connect()
        scene.app.peripheral.discoverServices(nil)
        #expect(scene.wait { $0.app.log.contains { $0.hasPrefix("didDiscoverServices") } })
        #expect(scene.app.peripheral.state == .connected)
        scene.lock.removeFault(.errorsWithoutMeaning)
        try scene.discover()
        #expect(read() == ["didUpdateValue FFF1 "])
    }

    @Test("missingConfigurationDescriptor: subscribing fails, B-H4")
    func noDescriptor() throws {
        scene.lock.addFault(.missingConfigurationDescriptor)
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: value)
        #expect(scene.wait { !$0.app.log.isEmpty })
        #expect(scene.app.log.first?.hasPrefix("didUpdateNotificationState FFF1 false CB") == true, "\(scene.app.log)")
    }

    @Test("emptyTable: connected, and no services")
    func empty() throws {
        scene.lock.addFault(.emptyTable)
        try scene.connect()
        scene.app.peripheral.discoverServices(nil)
        #expect(scene.wait { $0.app.log.contains("didDiscoverServices []") })
    }

    @Test("ignoresMTUExchange: connected all the same, with the least MTU")
    func mtuIgnored() throws {
        scene.lock.addFault(.ignoresMTUExchange)
        try scene.connect()
        #expect(scene.app.peripheral.maximumWriteValueLength(for: .withoutResponse) == 20)
    }

    @Test("refusesMTUExchange: everything works, 20 octets at a time")
    func mtuRefused() throws {
        scene.lock.addFault(.refusesMTUExchange)
        try scene.connectAndDiscover()
        #expect(scene.app.peripheral.maximumWriteValueLength(for: .withoutResponse) == 20)
        #expect(read() == ["didUpdateValue FFF1 "])
    }

    @Test("smallPackets: what is longer than 20 octets is cut on its way here, and lost on its way there")
    func small() throws {
        scene.lock.addFault(.smallPackets)
        try scene.connectAndDiscover()
        #expect(scene.app.peripheral.maximumWriteValueLength(for: .withoutResponse) == 182)
        scene.app.peripheral.setNotifyValue(true, for: value)
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        _ = scene.app.take()
        scene.lockApp.manager.updateValue(Data(repeating: 7, count: 100), for: scene.value, onSubscribedCentrals: nil)
        scene.waitForLog("didUpdateValue FFF1 " + String(repeating: "07", count: 20))
        scene.app.peripheral.writeValue(
            Data(repeating: 1, count: 21), for: scene.app.characteristic("FFF2"), type: .withoutResponse)
        scene.app.peripheral.writeValue(
            Data(repeating: 1, count: 20), for: scene.app.characteristic("FFF2"), type: .withoutResponse)
        scene.world.run(for: .seconds(1))
        #expect(scene.lockApp.log.count { $0.hasPrefix("didReceiveWrite FFF2") } == 1)
    }

    @Test("echoesWrongly: a long write fails, and nothing is written")
    func echo() throws {
        try scene.connectAndDiscover()
        scene.lock.addFault(.echoesWrongly)
        scene.app.peripheral.writeValue(Data(repeating: 9, count: 400), for: value, type: .withResponse)
        #expect(scene.wait { !$0.app.log.isEmpty })
        #expect(scene.app.log[0].hasPrefix("didWriteValue FFF1 CB"), "\(scene.app.log)")
        #expect(!scene.lockApp.log.contains { $0.hasPrefix("didReceiveWrite") })
    }

    @Test("truncatesLongReads: the value ends where the first answer ended")
    func truncated() throws {
        answerReads(with: String(repeating: "x", count: 400))
        try scene.connectAndDiscover()
        scene.lock.addFault(.truncatesLongReads)
        _ = read()
        #expect(value.value?.count == 184)
        scene.lock.removeFault(.truncatesLongReads)
        scene.lockApp.onRead = { app, request in
            request.value = Data(repeating: 120, count: 400).dropFirst(request.offset)
            app.manager.respond(to: request, withResult: .success)
        }
        _ = read()
        #expect(value.value?.count == 400)
    }
}
