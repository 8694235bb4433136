import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

@Suite("What is known of a bonded peer's attributes counts on the next link — B-E5, Core 6.0, Vol 3, Part G, 2.5.2")
struct AttributeCacheTests {
    /// What discovery found, and how long it took.
    private func explore(_ scene: SecureScene) -> (found: [HostAnswer], time: Duration) {
        let start = scene.phone.device.world.now
        var found: [HostAnswer] = []
        let answer = scene.phone.answer(.discoverServices(scene.lock.peer, only: nil))
        guard case .success(.services(let services)) = answer else { return ([], .zero) }
        found.append(.services(services))
        for service in services {
            guard
                case .success(.characteristics(let list)) = scene.phone.answer(
                    .discoverCharacteristics(scene.lock.peer, of: service))
            else { continue }
            found.append(.characteristics(list))
            for characteristic in list {
                if case .success(let answer) = scene.phone.answer(
                    .discoverDescriptors(scene.lock.peer, of: characteristic))
                {
                    found.append(answer)
                }
            }
        }
        return (found, start.duration(to: scene.phone.device.world.now))
    }

    private func bonded() -> SecureScene {
        let scene = SecureScene()
        _ = scene.connect()
        #expect(scene.read() == .success(.value(SecureScene.value)))
        scene.world.run(.milliseconds(500))
        return scene
    }

    private func reconnect(_ scene: SecureScene) {
        scene.disconnect()
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        scene.world.run(.milliseconds(500))
    }

    @Test("GATT/CL/GAS/BV-03-C, GATT/CL/GAS/BV-05-C: the client says what it can do, and the server keeps it")
    func features() {
        let scene = bonded()
        #expect(scene.bonds(of: scene.lock).map(\.clientFeatures) == [0x07])
    }

    @Test("Discovery on the next link asks nothing, also after the loss of power")
    func nextLink() {
        let scene = bonded()
        let first = explore(scene)
        #expect(first.time > .milliseconds(100))
        reconnect(scene)
        let second = explore(scene)
        #expect(second.found == first.found)
        #expect(second.time < .milliseconds(20))
        #expect(scene.phone.answer(.subscribe(scene.lock.peer, scene.remote, .notifications)) == .success(.done))

        scene.phone.device.device.removeFromAir()
        scene.world.run(.seconds(3))
        scene.phone.device.device.returnToAir()
        scene.world.run(.milliseconds(100))
        scene.phone.open()
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        scene.world.run(.milliseconds(500))
        let third = explore(scene)
        #expect(third.found == first.found)
        #expect(third.time < .milliseconds(20))
    }

    @Test("Services that came while nobody was connected are found — B057 to B068")
    func changedMeanwhile() {
        let scene = bonded()
        let first = explore(scene)
        scene.disconnect()
        #expect(scene.lock.answer(.addService(ServiceDefinition(uuid: .uuid16(0xFFA0)))) != nil)
        _ = scene.connect()
        scene.world.run(.milliseconds(500))
        let second = explore(scene)
        guard case .services(let before)? = first.found.first, case .services(let after)? = second.found.first else {
            Issue.record("No services were found.")
            return
        }
        #expect(after.map(\.uuid) == before.map(\.uuid) + [.uuid16(0xFFA0)])
        reconnect(scene)
        let third = explore(scene)
        #expect(third.found == second.found)
        #expect(third.time < .milliseconds(20))
    }

    @Test("Services that come while the peers are connected are found, and what is kept follows")
    func changedNow() {
        let scene = bonded()
        _ = explore(scene)
        reconnect(scene)
        _ = scene.lock.answer(.addService(ServiceDefinition(uuid: .uuid16(0xFFA0))))
        scene.world.run(.milliseconds(500))
        let second = explore(scene)
        guard case .services(let after)? = second.found.first else { Issue.record("No services were found."); return }
        #expect(after.last?.uuid == .uuid16(0xFFA0))
        reconnect(scene)
        #expect(explore(scene).found == second.found)
    }

    @Test("Without a bond each link begins anew: another device may have the address")
    func withoutBond() {
        let scene = SecureScene()
        _ = scene.connect()
        scene.world.run(.milliseconds(500))
        let first = explore(scene)
        reconnect(scene)
        let second = explore(scene)
        #expect(second.found == first.found)
        #expect(second.time > .milliseconds(100))
        #expect(scene.bonds(of: scene.phone).isEmpty)
    }

    @Test("The bond's end is the end of what was known")
    func bondRemoved() {
        let scene = bonded()
        _ = explore(scene)
        #expect(scene.bonds(of: scene.phone)[0].remoteDatabase != nil)
        for client in [scene.phone, scene.lock] {
            _ = client.answer(.security(.removeBond(client === scene.phone ? scene.lock.peer : scene.phone.peer)))
        }
        scene.world.run(.seconds(3))
        _ = scene.connect()
        #expect(scene.read() == .success(.value(SecureScene.value)))
        scene.world.run(.milliseconds(500))
        #expect(scene.bonds(of: scene.phone).count == 1)
        #expect(explore(scene).time > .milliseconds(100))
    }
}
