import BluetoothTypes
import EventLoop
import HCITransport
import Host
import HostInterface
import Simulation
import Testing

/// A phone and a lock on an encrypted link, whose packets can be looked at and changed.
private final class BearerScene {
    let scene: SecureScene
    /// What may have bearers at once: the fixed channel is one of them.
    var phone: TestClient { scene.phone }
    var lock: TestClient { scene.lock }
    var world: TestWorld { scene.world }

    init(seed: UInt64 = 1) { scene = SecureScene(seed: seed) }

    func pair() {
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.read() == .success(.value(SecureScene.value)))
        world.run(.seconds(1))
    }

    func bearers(of client: TestClient, to other: TestClient) -> Int? {
        guard case .success(.link(let status)) = client.answer(.readLink(other.peer)) else { return nil }
        return status.attributeBearers
    }

    var bearers: [Int?] { [bearers(of: phone, to: lock), bearers(of: lock, to: phone)] }

    /// Puts an L2CAP PDU behind the next packet that a host hands to its controller.
    func inject(_ pdus: [[UInt8]], from client: TestClient) {
        var waiting = pdus
        client.device.device.hciFault = { direction, packet in
            guard direction == .hostToController, packet.first == 0x02, !waiting.isEmpty else { return [packet] }
            defer { waiting = [] }
            let handle = [packet[1], packet[2] & 0x0F]
            return [packet]
                + waiting.map { [0x02] + handle + [UInt8($0.count), 0] + $0 }
        }
    }

    /// Changes the peer's requests for channels of attributes, on their way to the host of `client`, into such for
    /// something that it does not offer; and its refusal into `result`.
    func refuse(_ requests: Int, at client: TestClient, with result: UInt8) {
        var left = requests
        client.device.device.hciFault = { direction, packet in
            var packet = packet
            let isSignalling = packet.count > 14 && packet[0] == 0x02 && packet[7] == 0x05 && packet[8] == 0x00
            switch (direction, isSignalling ? packet[9] : 0) {
            case (.controllerToHost, 0x17) where left > 0:
                left -= 1
                packet[13] = 0x7F
            case (.hostToController, 0x18) where packet[19] == 0x02: packet[19] = result
            default: break
            }
            return [packet]
        }
    }
}

@Suite("Enhanced bearers between hosts — Core 6.0, Vol 3, Part F, 3.2.11 and Part G, 5.3 and 5.4")
struct EnhancedBearerTests {
    @Test("GATT/CL/GAS/BV-04-C: on an encrypted link a client says that it has them, and opens two")
    func opened() {
        let scene = BearerScene()
        scene.pair()
        #expect(scene.bearers == [3, 3])
        #expect(scene.scene.bonds(of: scene.lock).map(\.clientFeatures) == [0x07])
        #expect(scene.scene.read() == .success(.value(SecureScene.value)))
        // The next link finds the peer's attributes in what was kept.
        scene.scene.disconnect()
        #expect(scene.scene.connect() == .success(.connected(mtu: 517)))
        scene.world.run(.seconds(1))
        #expect(scene.bearers == [3, 3])
        scene.scene.checkAnswers(scene.phone, "phone")
    }

    @Test("Not in the clear, and not where one side does without")
    func notOpened() {
        let clear = BearerScene()
        _ = clear.scene.connect()
        clear.world.run(.seconds(2))
        #expect(clear.bearers == [1, 1])
        for isPhoneWithout in [true, false] {
            let world = TestWorld()
            let lock = world.device("lock", at: 2) { $0.usesEnhancedBearers = isPhoneWithout }
            let phone = world.device("phone") { $0.usesEnhancedBearers = !isPhoneWithout }
            _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
            _ = phone.answer(.connect(lock.peer))
            _ = phone.answer(.security(.secure(lock.peer, authenticated: false)))
            world.run(.seconds(2))
            guard case .success(.link(let status)) = phone.answer(.readLink(lock.peer)) else {
                Issue.record("There is no link.")
                continue
            }
            #expect(status.security != nil)
            #expect(status.attributeBearers == 1)
        }
    }

    @Test("A value that one program waits for holds no other program up")
    func sideBySide() throws {
        let scene = BearerScene()
        scene.pair()
        scene.lock.onQuestion = nil
        let slow = scene.phone.ask(.read(scene.lock.peer, scene.scene.characteristic))
        let other = scene.world.client(of: scene.phone.device)
        _ = other.answer(.connect(scene.lock.peer))
        // The device name.
        let name = other.answer(.read(scene.lock.peer, AttributeHandle(rawValue: 3)), within: .seconds(1))
        #expect(name == .success(.value(Array("lock".utf8))))
        #expect(scene.phone.answers(slow).isEmpty)
        let question = scene.lock.events.last { if case .readRequested = $0.event { true } else { false } }
        guard case .readRequested(let request)? = question?.event else { throw Question.missing }
        scene.lock.ask(.respond(request.id, errorCode: 0, value: [1]))
        scene.world.run(.milliseconds(200))
        #expect(scene.phone.answers(slow) == [.success(.value([1]))])
    }

    private enum Question: Error { case missing }

    @Test("The peer closes a bearer while it is asked: the request still ends, once")
    func closedInMidRequest() {
        let scene = BearerScene()
        scene.pair()
        scene.lock.onQuestion = nil
        let other = scene.world.client(of: scene.phone.device)
        _ = other.answer(.connect(scene.lock.peer))
        scene.lock.clear()
        let first = scene.phone.ask(.read(scene.lock.peer, scene.scene.characteristic))
        let second = other.ask(.read(scene.lock.peer, scene.scene.characteristic))
        let third = other.ask(.write(scene.lock.peer, scene.scene.characteristic, value: [1], withResponse: true))
        scene.world.run(.milliseconds(100))
        // Disconnection Requests for both channels (Core 6.0, Vol 3, Part A, 4.6).
        let farewells = [0x40, 0x41].map { [8, 0, 5, 0, 0x06, 0xB0 + $0, 4, 0, $0, 0, $0, 0] as [UInt8] }
        scene.inject(farewells, from: scene.lock)
        scene.lock.onQuestion = { event in
            guard case .readRequested(let request) = event else { return nil }
            return .respond(request.id, errorCode: 0, value: [5])
        }
        for event in scene.lock.events.map(\.event) {
            guard case .readRequested(let request) = event else { continue }
            scene.lock.ask(.respond(request.id, errorCode: 0, value: [4]))
            break
        }
        scene.world.run(.seconds(2))
        #expect(scene.bearers(of: scene.phone, to: scene.lock) == 1)
        #expect(scene.phone.answers(first).count == 1)
        #expect(other.answers(second) == [.success(.value([5]))])
        #expect(other.answers(third).count <= 1)
    }

    @Test(
        "More bearers than are allowed are refused, and on a link in the clear all of them", arguments: [true, false])
    func tooMany(isEncrypted: Bool) {
        let scene = BearerScene()
        if isEncrypted { scene.pair() } else { _ = scene.scene.connect() }
        // L2CAP_CREDIT_BASED_CONNECTION_REQ for five channels (Core 6.0, Vol 3, Part A, 4.25).
        let fields: [UInt8] = [0x27, 0, 64, 0, 64, 0, 5, 0, 0x50, 0, 0x51, 0, 0x52, 0, 0x53, 0, 0x54, 0]
        scene.inject([[22, 0, 5, 0, 0x17, 0xF0, 18, 0] + fields], from: scene.phone)
        _ = scene.phone.answer(.read(scene.lock.peer, AttributeHandle(rawValue: 3)))
        scene.world.run(.seconds(1))
        #expect(scene.bearers(of: scene.lock, to: scene.phone) == (isEncrypted ? 6 : 1))
    }

    @Test("A peer that asks on a bearer and gives no credits for the answers loses the bearer")
    func takesNoAnswer() {
        let scene = BearerScene()
        scene.pair()
        #expect(scene.bearers == [3, 3])
        // A Read Request in one frame, for which the phone, which did not ask, gives no credits.
        var requests = 400
        scene.phone.device.device.hciFault = { direction, packet in
            guard direction == .hostToController, packet.first == 0x02 else { return [packet] }
            if packet.count > 9, packet[7] == 0x05, packet[9] == 0x16 { return [] }
            guard requests > 0 else { return [packet] }
            requests -= 10
            let frame: [UInt8] = [0x02, packet[1], packet[2] & 0x0F, 9, 0, 5, 0, 0x40, 0, 3, 0, 0x0A, 3, 0]
            return [packet] + Array(repeating: frame, count: 10)
        }
        for _ in 0..<40 { _ = scene.phone.answer(.read(scene.lock.peer, AttributeHandle(rawValue: 3))) }
        scene.world.run(.seconds(1))
        #expect(scene.bearers(of: scene.lock, to: scene.phone) == 2)
    }

    @Test("L2CAP/TIM/BV-03-C: a central that is refused for want of resources, as both open at once, asks again")
    func collisionOfCentral() {
        let scene = BearerScene()
        scene.refuse(2, at: scene.lock, with: 0x04)
        scene.pair()
        #expect(scene.bearers == [3, 3])
        let hopeless = BearerScene()
        hopeless.refuse(100, at: hopeless.lock, with: 0x04)
        hopeless.pair()
        #expect(hopeless.bearers == [1, 1])
    }

    @Test("A peripheral waits for 100 ms before it asks again — Part G, 5.4")
    func collisionOfPeripheral() {
        let scene = BearerScene()
        var asked: [Duration] = []
        // The phone's own requests come to nothing, so that it is the lock that opens.
        scene.refuse(100, at: scene.lock, with: 0x02)
        scene.refuse(2, at: scene.phone, with: 0x04)
        let fault = scene.phone.device.device.hciFault
        scene.phone.device.device.hciFault = { [unowned scene] direction, packet in
            if direction == .controllerToHost, packet.count > 14, packet[0] == 0x02, packet[7] == 0x05,
                packet[9] == 0x17
            {
                asked.append(scene.world.world.now.sinceStart)
            }
            return fault?(direction, packet) ?? [packet]
        }
        scene.lock.ask(.connect(scene.phone.peer))
        scene.pair()
        scene.world.run(.seconds(2))
        #expect(asked.count == 3)
        for (earlier, later) in zip(asked, asked.dropFirst()) { #expect(later - earlier >= .milliseconds(100)) }
        #expect(scene.bearers == [3, 3])
    }
}
