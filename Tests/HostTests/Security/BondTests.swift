import BluetoothCrypto
import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

@Suite("Bonds: coming back, and keys that are lost")
struct BondTests {
    private func bonded(_ change: (inout PairingPolicy) -> Void = { _ in }) -> SecureScene {
        let scene = SecureScene(change)
        _ = scene.connect()
        #expect(scene.read() == .success(.value(SecureScene.value)))
        scene.world.run(.milliseconds(500))
        return scene
    }

    @Test("A bonded link is encrypted before anybody is told of it — B-K3", arguments: [true, false])
    func comesBack(isSecure: Bool) {
        let scene = bonded { $0.usesSecureConnections = isSecure }
        scene.disconnect()
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.security?.isSecureConnections == isSecure)
        #expect(scene.read() == .success(.value(SecureScene.value)))
        #expect(scene.events(of: scene.phone).filter { $0 == .bonded(scene.lock.peer) }.count == 1)
    }

    @Test("Bonds outlive a loss of power")
    func outlivesPower() {
        let scene = bonded()
        scene.lock.device.device.removeFromAir()
        scene.world.run(.seconds(3))
        scene.lock.device.device.returnToAir()
        scene.world.run(.milliseconds(100))
        scene.lock.open()
        scene.publish()
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.security?.level == 2)
    }

    @Test("GAP/SEC/AUT/BV-22-C: a lost bond of the peer is told as such; without the bond here the two pair — B-D11")
    func peerLostBond() {
        let scene = bonded()
        scene.disconnect()
        #expect(scene.lock.answer(.security(.removeBond(scene.phone.peer))) == .success(.done))
        #expect(scene.connect() == .failure(.security(.peerLostBond)))
        #expect(scene.problems(of: scene.phone) == [.peerLostBond])
        #expect(scene.problems(of: scene.lock) == [.bondMissingHere])
        scene.world.run(.seconds(1))
        // Nothing changes by itself.
        #expect(scene.connect() == .failure(.security(.peerLostBond)))
        // The way out.
        #expect(scene.phone.answer(.security(.removeBond(scene.lock.peer))) == .success(.done))
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.read() == .success(.value(SecureScene.value)))
    }

    @Test("By a policy of the program's, a peer that lost its bond pairs anew, and no weaker than before")
    func pairsAgain() {
        let scene = bonded { $0.lostBond = .pairAgain }
        scene.disconnect()
        _ = scene.lock.answer(.security(.removeBond(scene.phone.peer)))
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.security == nil)
        #expect(scene.read() == .success(.value(SecureScene.value)))
        scene.disconnect()
        // Somebody with the lock's address who knows no Secure Connections does not get the bond.
        _ = scene.lock.answer(.security(.removeBond(scene.phone.peer)))
        scene.setPolicy(of: scene.lock, nil) { $0.usesSecureConnections = false }
        _ = scene.connect()
        #expect(scene.read() == .failure(.attribute(errorCode: 0x05)))
        #expect(scene.bonds(of: scene.phone).map(\.bond.security.isSecureConnections) == [true])
    }

    @Test("A bond removed on this side: the link to it ends, and the next one pairs anew")
    func bondRemovedHere() {
        let scene = bonded()
        #expect(scene.phone.answer(.security(.removeBond(scene.lock.peer))) == .success(.done))
        scene.world.run(.seconds(1))
        #expect(scene.phone.answer(.read(scene.lock.peer, scene.characteristic)) == .failure(.notConnected))
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.security == nil)
        #expect(scene.read() == .success(.value(SecureScene.value)))
        #expect(scene.bonds(of: scene.lock).count == 1 && scene.bonds(of: scene.phone).count == 1)
    }

    @Test("A wrong key is told apart from a lost one")
    func wrongKey() {
        let scene = bonded()
        scene.disconnect()
        var record = scene.bonds(of: scene.phone)[0]
        record.bond.peerKey = LongTermKey(SecretKey(4711))
        #expect(scene.phone.answer(.security(.importBonds([record]))) == .success(.done))
        // The peer's link layer finds it out and says nothing more: the phone hears nothing, or that the check fails.
        let answer = scene.connect()
        #expect(answer == .failure(.security(.wrongKey)) || answer == .failure(.disconnected(reason: 0x08)))
        #expect(scene.problems(of: scene.lock) == [.wrongKey])
        for client in [scene.phone, scene.lock] {
            _ = client.answer(.security(.removeBond(client === scene.phone ? scene.lock.peer : scene.phone.peer)))
        }
        scene.world.run(.seconds(5))
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.read() == .success(.value(SecureScene.value)))
    }

    @Test(
        "A bonded client's subscriptions are there again when it comes back — Vol 3, Part G, 3.3.3.3, B-H6",
        arguments: [
            ("GATT/SR/GAN/BV-03-C", SubscriptionKind.notifications), ("GATT/SR/GAI/BV-02-C", .indications),
        ])
    func subscriptions(id: String, kind: SubscriptionKind) {
        let scene = bonded()
        #expect(scene.phone.answer(.subscribe(scene.lock.peer, scene.remote, kind)) == .success(.done))
        scene.disconnect()
        scene.lock.clear()
        _ = scene.connect()
        scene.world.run(.milliseconds(200))
        let told = scene.lock.events.contains { event in
            if case .subscribed(scene.phone.peer, scene.characteristic, _) = event.event { true } else { false }
        }
        #expect(told)
        scene.phone.clear()
        #expect(scene.lock.answer(.notify(scene.characteristic, value: [9], to: nil)) == .success(.done))
        scene.world.run(.milliseconds(200))
        #expect(
            scene.phone.events.contains { $0.event == .notified(scene.lock.peer, scene.characteristic, value: [9]) })
        // One that has unsubscribed is not.
        #expect(scene.phone.answer(.subscribe(scene.lock.peer, scene.remote, .none)) == .success(.done))
        scene.disconnect()
        scene.lock.clear()
        _ = scene.connect()
        scene.world.run(.milliseconds(200))
        #expect(!scene.lock.events.contains { if case .subscribed = $0.event { true } else { false } })
    }

    @Test("Subscriptions of a bonded client outlive its server's loss of power, once the service is published again")
    func subscriptionsOutlivePower() {
        let scene = bonded()
        #expect(scene.phone.answer(.subscribe(scene.lock.peer, scene.remote, .notifications)) == .success(.done))
        scene.lock.device.device.removeFromAir()
        scene.world.run(.seconds(3))
        scene.lock.device.device.returnToAir()
        scene.world.run(.milliseconds(100))
        scene.lock.open()
        scene.publish()
        scene.lock.clear()
        _ = scene.connect()
        scene.world.run(.milliseconds(200))
        #expect(
            scene.lock.events.contains {
                if case .subscribed(scene.phone.peer, scene.characteristic, _) = $0.event { true } else { false }
            })
    }
}
