import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

@Suite("Attributes that change while a bonded client is away — Core 6.0, Vol 3, Part G, 2.5.2 and 7.1")
struct ChangedDatabaseTests {
    /// A phone that has bonded with a lock, has gone, and forgets what it heard.
    private func away() -> SecureScene {
        let scene = SecureScene()
        _ = scene.connect()
        #expect(scene.read() == .success(.value(SecureScene.value)))
        scene.world.run(.milliseconds(500))
        scene.disconnect()
        scene.phone.clear()
        return scene
    }

    private func addService(to lock: TestClient) -> AttributeHandle? {
        let definition = ServiceDefinition(uuid: .uuid16(0xFFA0))
        guard case .success(.published(let service)) = lock.answer(.addService(definition)) else { return nil }
        return service.handle
    }

    private func changes(_ scene: SecureScene) -> [ClosedRange<UInt16>] {
        scene.phone.events.compactMap { if case .servicesChanged(_, let range) = $0.event { range } else { nil } }
    }

    @Test(
        "GATT/SR/GAS/BV-01-C, GATT/SR/GAS/BV-07-C: a bonded client is told of the change when it comes back, and once")
    func toldWhenBack() {
        let scene = away()
        #expect(addService(to: scene.lock) != nil)
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        scene.world.run(.milliseconds(500))
        #expect(changes(scene) == [0x0001...0xFFFF])
        scene.disconnect()
        scene.phone.clear()
        _ = scene.connect()
        scene.world.run(.milliseconds(500))
        #expect(changes(scene) == [])
    }

    @Test("It is told before it gets any value")
    func toldFirst() {
        let scene = SecureScene()
        _ = scene.connect()
        #expect(scene.phone.answer(.subscribe(scene.lock.peer, scene.remote, .notifications)) == .success(.done))
        scene.world.run(.milliseconds(500))
        scene.disconnect()
        scene.phone.clear()
        _ = addService(to: scene.lock)
        scene.lock.onQuestion = { event in
            guard case .subscribed(_, let handle, _) = event else { return nil }
            return .notify(handle, value: [7], to: nil)
        }
        _ = scene.connect()
        scene.world.run(.milliseconds(500))
        let told = scene.phone.events.map(\.event).filter { event in
            switch event {
            case .servicesChanged, .notified: true
            default: false
            }
        }
        #expect(
            told == [
                .servicesChanged(scene.lock.peer, handles: 0x0001...0xFFFF),
                .notified(scene.lock.peer, scene.characteristic, value: [7]),
            ])
    }

    @Test("Nothing is told of services that are as they were, also when the server has been restarted")
    func sameAgain() {
        let scene = away()
        let handle = addService(to: scene.lock)
        #expect(scene.lock.answer(.removeService(handle!)) == .success(.done))
        _ = scene.connect()
        scene.world.run(.milliseconds(500))
        #expect(changes(scene) == [])
        scene.lock.device.device.removeFromAir()
        scene.world.run(.seconds(3))
        scene.lock.device.device.returnToAir()
        scene.world.run(.milliseconds(100))
        scene.lock.open()
        scene.publish()
        _ = scene.connect()
        scene.world.run(.milliseconds(500))
        #expect(changes(scene) == [])
    }

    @Test("A server that was restarted with other services tells its bonded clients")
    func othersAfterRestart() {
        let scene = away()
        scene.lock.device.device.removeFromAir()
        scene.world.run(.seconds(3))
        scene.lock.device.device.returnToAir()
        scene.world.run(.milliseconds(100))
        scene.lock.open()
        _ = addService(to: scene.lock)
        scene.publish()
        _ = scene.connect()
        scene.world.run(.milliseconds(500))
        #expect(changes(scene) == [0x0001...0xFFFF])
        #expect(scene.phone.answer(.read(scene.lock.peer, scene.characteristic)) == .success(.value(SecureScene.value)))
    }

    @Test("What was subscribed to before the pairing is kept with the bond as well")
    func subscribedBeforePairing() throws {
        let scene = away()
        let kept = try #require(scene.bonds(of: scene.lock).first)
        #expect(kept.subscriptions.map(\.uuid) == [.uuid16(0x2A05)])
        #expect(kept.knownDatabase?.count == 16)
    }
}
