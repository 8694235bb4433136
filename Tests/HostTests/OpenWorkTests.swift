import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

@Suite("What is still waiting, on whom, since when")
struct OpenWorkTests {
    private func list(_ client: TestClient) -> [OpenWork] {
        guard case .success(.openWork(let work)) = client.answer(.listOpenWork) else { return [] }
        return work
    }

    private func serve(_ lock: TestClient) -> AttributeHandle? {
        let definition = ServiceDefinition(
            uuid: .uuid16(0xFFF0),
            characteristics: [
                CharacteristicDefinition(uuid: .uuid16(0xFFF1), properties: 0x02, permissions: .readable)
            ])
        guard case .success(.published(let service)) = lock.answer(.addService(definition)) else { return nil }
        _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
        return service.characteristics[0]
    }

    @Test("A read that a program leaves unanswered shows on both sides, with its age, and is gone when it has ended")
    func unansweredRead() throws {
        let world = TestWorld()
        let (lock, phone) = (world.device("lock", at: 2), world.device("phone"))
        let handle = try #require(serve(lock))
        _ = phone.answer(.connect(lock.peer))
        world.run(.milliseconds(500))
        #expect(list(phone) == [] && list(lock) == [])
        phone.ask(.read(lock.peer, handle))
        world.run(.seconds(3))
        #expect(
            list(phone) == [
                OpenWork(
                    "reading the value at handle \(handle.rawValue)", waitsFor: .peer(lock.peer), age: .seconds(3)),
                OpenWork("the answer to an attribute request", waitsFor: .peer(lock.peer), age: .seconds(3)),
            ])
        let asked = list(lock)
        #expect(asked.map(\.what) == ["the reply to a peer's request"] && asked.map(\.party) == [.program])
        #expect(asked.allSatisfy { (.seconds(2)...(.seconds(3))).contains($0.age) })
        world.run(.seconds(40))
        #expect(list(phone) == [] && list(lock) == [])
    }

    @Test("A connect to nobody waits for the peer until it is taken back")
    func connect() {
        let world = TestWorld()
        let phone = world.device("phone")
        let nobody = PeerID(DeviceAddress(0x02_0000_00FF_FF))
        phone.ask(.connect(nobody))
        world.run(.seconds(60))
        #expect(list(phone) == [OpenWork("connecting", waitsFor: .peer(nobody), age: .seconds(60))])
        _ = phone.answer(.disconnect(nobody))
        world.run(.seconds(1))
        #expect(list(phone) == [])
    }

    @Test("A pairing waits for a person here, and for the peer there")
    func pairing() {
        let scene = SecureScene(phone: .keyboardDisplay, lock: .displayYesNo)
        scene.persons.answers = false
        _ = scene.connect()
        scene.world.run(.milliseconds(500))
        scene.phone.ask(.read(scene.lock.peer, scene.characteristic))
        scene.world.run(.seconds(5))
        #expect(list(scene.phone).contains { $0.party == .person && $0.what == "the reply to a pairing's question" })
        #expect(list(scene.phone).contains { $0.what.hasPrefix("reading") })
        scene.world.run(.seconds(60))
        #expect(list(scene.phone) == [])
    }

    @Test("A controller that does not answer shows with its command; the list is given also while the radio is off")
    func controller() {
        let host = Host { _ in }
        var events: [HostEvent] = []
        let client = host.attach({ events.append($0) }, at: Instant())
        host.powerOn(at: Instant())
        let now = Instant(sinceStart: .seconds(4))
        host.submit(.listOpenWork, number: RequestNumber(1), client: client, at: now)
        #expect(
            events.last
                == .answer(
                    RequestNumber(1),
                    .success(
                        .openWork([OpenWork("the command 0x0C03", waitsFor: .controller, age: .seconds(4))]))))
    }
}
