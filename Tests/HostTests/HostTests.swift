import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

@Suite("One host with another, over the air")
struct HostTests {
    let scene = TestWorld()

    /// A peripheral with `FFF0`: `FFF1` (read, write without response, write, notify, indicate), asked each time.
    private func peripheral(answering value: [UInt8]? = Array("good day".utf8)) -> (TestClient, AttributeHandle) {
        let peripheral = scene.device("peripheral", at: 2)
        let characteristic = CharacteristicDefinition(
            uuid: .uuid16(0xFFF1), properties: 0x3E, permissions: [.readable, .writeable])
        let definition = ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [characteristic])
        guard case .success(.published(let service)) = peripheral.answer(.addService(definition)) else {
            Issue.record("The service was not published.")
            return (peripheral, AttributeHandle(rawValue: 0))
        }
        if let value {
            peripheral.onQuestion = { event in
                switch event {
                case .readRequested(let request):
                    .respond(request.id, errorCode: 0, value: Array(value.dropFirst(request.offset)))
                case .writeRequested(let request) where request.needsResponse:
                    .respond(request.id, errorCode: 0, value: [])
                default: nil
                }
            }
        }
        _ = peripheral.answer(.startAdvertising(AdvertisementContent(localName: "Peri", services: [.uuid16(0xFFF0)])))
        return (peripheral, service.characteristics[0])
    }

    private func connected(to peripheral: TestClient) -> TestClient {
        let central = scene.device("central")
        #expect(central.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
        return central
    }

    @Test("An adapter is made ready, and clients are told so")
    func powersOn() {
        let client = scene.device("central")
        scene.run(.milliseconds(10))
        #expect(client.events.last?.event == .state(.poweredOn(address: client.peer.address)))
    }

    @Test("A scan with a filter reports who lists the service, with name and signal")
    func scan() throws {
        let (peripheral, _) = peripheral()
        let central = scene.device("central")
        #expect(central.answer(.startScan(ScanFilter(services: [.uuid16(0xFFF0)]))) == .success(.done))
        scene.run(.seconds(1))
        let found = central.events.compactMap {
            if case .discovered(let discovery) = $0.event { discovery } else { nil }
        }
        #expect(found.allSatisfy { $0.peer == peripheral.peer && $0.isConnectable })
        let first = try #require(found.first)
        // Flags, Complete List of 16-bit Service UUIDs, Complete Local Name: Core Supplement, Part A, 1.
        #expect(
            first.advertisingData == [2, 0x01, 0x06, 3, 0x03, 0xF0, 0xFF, 5, 0x09, 0x50, 0x65, 0x72, 0x69])
        // 2 m: 40.2 dB at one metre and 6 dB more, give or take the fading.
        #expect((-60 ... -35).contains(first.rssi))
        // One for the advertisement, one for its scan response if that brings news; no more.
        #expect(found.count <= 2)
        central.ask(.startScan(ScanFilter(services: [.uuid16(0x180D)])))
        central.clear()
        scene.run(.seconds(1))
        #expect(!central.events.contains { if case .discovered = $0.event { true } else { false } })
    }

    @Test("GAP/CONN/DCEP/BV-03-C, GAP/CONN/TERM/BV-01-C: connect, discover, read, write, subscribe, be notified, leave")
    func wholeStory() throws {
        let (peripheral, handle) = peripheral()
        let central = connected(to: peripheral)
        guard case .success(.services(let services)) = central.answer(.discoverServices(peripheral.peer, only: nil)),
            let service = services.first(where: { $0.uuid == .uuid16(0xFFF0) }),
            case .success(.characteristics(let list)) = central.answer(
                .discoverCharacteristics(peripheral.peer, of: service))
        else {
            Issue.record("Nothing was discovered.")
            return
        }
        let characteristic = try #require(list.first)
        #expect(characteristic.value == handle && characteristic.properties == 0x3E)
        let good = Array("good day".utf8)
        #expect(central.answer(.read(peripheral.peer, handle)) == .success(.value(good)))
        #expect(
            central.answer(.write(peripheral.peer, handle, value: [1, 2], withResponse: true)) == .success(.done))
        #expect(central.answer(.subscribe(peripheral.peer, characteristic, .notifications)) == .success(.done))
        #expect(peripheral.events.contains { $0.event == .subscribed(central.peer, handle, mtu: 517) })
        #expect(peripheral.answer(.notify(handle, value: [7], to: nil)) == .success(.done))
        scene.run(.milliseconds(100))
        #expect(central.events.contains { $0.event == .notified(peripheral.peer, handle, value: [7]) })
        #expect(central.answer(.disconnect(peripheral.peer)) == .success(.done))
        scene.run(.milliseconds(100))
        #expect(peripheral.events.contains { $0.event == .unsubscribed(central.peer, handle) })
        #expect(central.openRequests.isEmpty && peripheral.openRequests.isEmpty)
    }

    @Test("A long value is written in parts and read back whole")
    func longValues() {
        let long = (0..<512).map { UInt8(truncatingIfNeeded: $0) }
        let (peripheral, handle) = peripheral(answering: long)
        let central = scene.device("central") { $0.preferredMTU = 23 }
        #expect(central.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 23)))
        #expect(central.answer(.read(peripheral.peer, handle)) == .success(.value(long)))
        #expect(
            central.answer(.write(peripheral.peer, handle, value: long, withResponse: true)) == .success(.done))
        let written = peripheral.events.compactMap {
            if case .writeRequested(let request) = $0.event { request } else { nil }
        }
        #expect(written.count == 1)
        #expect(written.first?.parts.flatMap(\.value) == long)
    }

    @Test("A read that is never answered ends after thirty seconds, and takes the link with it — Vol 3, Part F, 3.3.3")
    func transactionTimeout() {
        let (peripheral, handle) = peripheral(answering: nil)
        let central = connected(to: peripheral)
        let before = scene.world.now
        #expect(central.answer(.read(peripheral.peer, handle)) == .failure(.timedOut))
        let waited = before.duration(to: scene.world.now)
        #expect(waited >= .seconds(30) && waited < .seconds(31))
        scene.run(.seconds(3))
        #expect(
            central.events.last { if case .disconnected = $0.event { true } else { false } }?.event
                == .disconnected(peripheral.peer, .timedOut))
        #expect(central.openRequests.isEmpty)
    }

    @Test("A peer that falls silent is lost after the supervision timeout, and what was asked of it ends")
    func supervisionTimeout() {
        let (peripheral, handle) = peripheral()
        let central = connected(to: peripheral)
        scene.run(.seconds(1))
        peripheral.device.device.removeFromAir()
        let before = scene.world.now
        let read = central.ask(.read(peripheral.peer, handle))
        scene.run(.seconds(5))
        #expect(central.answers(read) == [.failure(.disconnected(reason: 0x08))])
        let lost = central.events.last { $0.event == .disconnected(peripheral.peer, .disconnected(reason: 0x08)) }
        let waited = (lost?.at ?? .zero) - before.sinceStart
        #expect(waited >= .seconds(1.9) && waited <= .seconds(2.1))
    }

    @Test("A pending connect waits for ever, and cancelling it ends it once")
    func cancelConnect() {
        let central = scene.device("central")
        let nobody = PeerID(DeviceAddress(0x02_0000_0000_99))
        let connect = central.ask(.connect(nobody))
        scene.run(.seconds(3600))
        #expect(central.answers(connect).isEmpty)
        #expect(central.answer(.disconnect(nobody)) == .success(.done))
        scene.run(.seconds(1))
        #expect(central.answers(connect) == [.failure(.cancelled)])
        #expect(central.openRequests.isEmpty)
    }

    @Test("A pending connect meets its peer when it comes")
    func connectLater() {
        let central = scene.device("central")
        let connect = central.ask(.connect(PeerID(DeviceAddress(0x02_0000_0000_02))))
        scene.run(.seconds(60))
        let (peripheral, _) = peripheral()
        scene.run(.seconds(2))
        #expect(peripheral.peer == PeerID(DeviceAddress(0x02_0000_0000_02)))
        #expect(central.answers(connect) == [.success(.connected(mtu: 517))])
    }

    @Test("Switching the radio off ends what was asked, without a word about the links — B-B4")
    func powerOff() {
        let (peripheral, handle) = peripheral()
        let central = connected(to: peripheral)
        central.clear()
        let read = central.ask(.read(peripheral.peer, handle))
        central.device.setPowered(false)
        #expect(central.answers(read) == [.failure(.notPowered)])
        #expect(central.events.last?.event == .state(.poweredOff))
        #expect(!central.events.contains { if case .disconnected = $0.event { true } else { false } })
        #expect(central.answer(.connect(peripheral.peer)) == .failure(.notPowered))
        central.device.setPowered(true)
        scene.run(.seconds(3))
        #expect(central.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
    }

    @Test("The peer of a radio that is switched off is told so — Core 6.0, Vol 1, Part F, 2.20")
    func goodbye() {
        let (peripheral, _) = peripheral()
        let central = connected(to: peripheral)
        peripheral.device.setPowered(false)
        scene.run(.milliseconds(200))
        #expect(
            central.events.contains { $0.event == .disconnected(peripheral.peer, .disconnected(reason: 0x15)) })
    }

    @Test("A link that two clients hold ends with the second one")
    func sharedLink() {
        let (peripheral, handle) = peripheral()
        let first = connected(to: peripheral)
        let second = scene.client(of: first.device)
        // The link is there already: no radio activity, no waiting (B-C12).
        let before = scene.world.now
        #expect(second.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
        #expect(scene.world.now == before)
        #expect(first.answer(.disconnect(peripheral.peer)) == .success(.done))
        #expect(first.answer(.read(peripheral.peer, handle)) == .failure(.notConnected))
        #expect(second.answer(.read(peripheral.peer, handle)) == .success(.value(Array("good day".utf8))))
        second.close()
        scene.run(.seconds(1))
        var open = true
        second.device.withHost { open = $0.hasLinks }
        #expect(!open)
    }

    @Test("A client is asked only about what is permitted; a characteristic without a descriptor cannot be subscribed")
    func permissions() throws {
        let peripheral = scene.device("peripheral", at: 2)
        let secret = CharacteristicDefinition(uuid: .uuid16(0xFFF2), properties: 0x02, permissions: [.writeable])
        let definition = ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [secret])
        guard case .success(.published(let service)) = peripheral.answer(.addService(definition)) else { return }
        _ = peripheral.answer(.startAdvertising(AdvertisementContent()))
        let central = connected(to: peripheral)
        // 0x02: Read Not Permitted (Core 6.0, Vol 3, Part F, 3.4.1.1).
        #expect(
            central.answer(.read(peripheral.peer, service.characteristics[0])) == .failure(.attribute(errorCode: 0x02)))
        #expect(!peripheral.events.contains { if case .readRequested = $0.event { true } else { false } })
        let remote = RemoteCharacteristic(
            uuid: .uuid16(0xFFF2), declaration: service.handle, value: service.characteristics[0],
            end: service.characteristics[0], properties: 0x02)
        #expect(
            central.answer(.subscribe(peripheral.peer, remote, .notifications)) == .failure(.noConfigurationDescriptor))
    }

    @Test(
        "GAP/IDLE/NAMP/BV-01-C, GAP/IDLE/NAMP/BV-02-C, GATT/SR/GAS/BV-01-C: the name is read, Service Changed is heard")
    func housekeeping() {
        let (peripheral, _) = peripheral()
        let central = connected(to: peripheral)
        scene.run(.seconds(2))
        #expect(central.events.contains { $0.event == .nameChanged(peripheral.peer, "peripheral") })
        _ = peripheral.answer(.addService(ServiceDefinition(uuid: .uuid16(0xFFE0))))
        scene.run(.seconds(1))
        #expect(
            central.events.contains { if case .servicesChanged(peripheral.peer, _) = $0.event { true } else { false } })
    }
}

@Suite("A link that the peer made")
struct PeripheralLinkTests {
    @Test("It serves a client that waits for this peer, ends its wait, and its loss is told")
    func heldLinkOfPeripheral() {
        let scene = TestWorld()
        let waiting = scene.device("waiting")
        let caller = scene.device("caller", at: 2)
        scene.run(.milliseconds(10))
        _ = waiting.answer(.startAdvertising(AdvertisementContent()))
        let connect = waiting.ask(.connect(caller.peer))
        scene.run(.seconds(1))
        #expect(waiting.answers(connect).isEmpty)
        #expect(caller.answer(.connect(waiting.peer)) == .success(.connected(mtu: 517)))
        scene.run(.seconds(1))
        #expect(waiting.answers(connect) == [.success(.connected(mtu: 517))])
        #expect(caller.answer(.disconnect(waiting.peer)) == .success(.done))
        scene.run(.seconds(1))
        #expect(waiting.events.contains { $0.event == .disconnected(caller.peer, .disconnected(reason: 0x13)) })
        #expect(waiting.openRequests.isEmpty)
    }
}
