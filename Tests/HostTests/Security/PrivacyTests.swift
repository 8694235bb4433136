import BluetoothCrypto
import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

@Suite("Private addresses, and who is behind them")
struct PrivacyTests {
    /// Longer than an address lasts (Core 6.0, Vol 3, Part C, appendix A, TGAP(private_addr_int): 15 minutes).
    private static let nextAddress = Duration.seconds(960)

    private func discovered(_ client: TestClient, from start: Int) -> [PeerID] {
        client.events[start...].compactMap {
            if case .discovered(let discovery) = $0.event { discovery.peer } else { nil }
        }
    }

    /// The lock as the phone finds it on the air.
    private func find(_ scene: SecureScene) throws -> PeerID {
        let start = scene.phone.events.count
        #expect(scene.phone.answer(.startScan(ScanFilter(allowDuplicates: true))) == .success(.done))
        scene.world.run(.seconds(1))
        #expect(scene.phone.answer(.stopScan) == .success(.done))
        return try #require(discovered(scene.phone, from: start).last)
    }

    @Test("A device with private addresses shows another one every fifteen minutes, all of them random and resolvable")
    func rotates() throws {
        let scene = SecureScene(privateLock: true)
        var seen: [PeerID] = []
        for _ in 0..<3 {
            seen.append(try find(scene))
            scene.world.run(Self.nextAddress)
        }
        #expect(Set(seen).count == 3)
        // Core 6.0, Vol 6, Part B, 1.3.2.2: the two most significant bits are 01.
        #expect(seen.allSatisfy { $0.address.kind == .random && $0.address.value >> 46 == 0b01 })
    }

    @Test(
        """
        GAP/DISC/RPA/BV-01-C, GAP/CONN/PRDA/BV-02-C, GAP/PRIV/CONN/BV-10-C, GAP/CONN/GCEP/BV-06-C: a bonded peripheral \
        keeps its name for the clients, whatever address it shows — B168
        """, arguments: [true, false]
    )
    func peripheralIsKnown(byTheController: Bool) throws {
        let scene = SecureScene(privateLock: true, usesResolvingList: byTheController)
        let lock = try find(scene)
        #expect(scene.phone.answer(.connect(lock)) == .success(.connected(mtu: 517)))
        let value = HostAnswer.value(SecureScene.value)
        #expect(scene.phone.answer(.read(lock, scene.characteristic)) == .success(value))
        scene.world.run(.milliseconds(500))
        #expect(scene.bonds(of: scene.phone).map(\.identity) == [scene.lock.peer.address])
        _ = scene.phone.answer(.disconnect(lock))
        for _ in 0..<2 {
            scene.world.run(Self.nextAddress)
            #expect(try find(scene) == lock)
            #expect(scene.phone.answer(.connect(lock)) == .success(.connected(mtu: 517)))
            #expect(scene.phone.answer(.read(lock, scene.characteristic)) == .success(value))
            _ = scene.phone.answer(.disconnect(lock))
        }
        scene.checkAnswers(scene.phone, "phone")
    }

    @Test("GAP/PRIV/CONN/BV-12-C: a stranger behind a private address that no bond resolves may connect, as a stranger")
    func stranger() {
        let scene = SecureScene(privatePhone: true)
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.read() == .success(.value(SecureScene.value)))
        scene.world.run(.milliseconds(500))
        scene.disconnect()
        let known = scene.bonds(of: scene.lock).map(\.peer)
        #expect(known.count == 1)
        // The other one, whose key the lock does not have.
        let other = scene.world.device("other", at: 1) { $0.usesPrivateAddress = true }
        #expect(other.answer(.connect(scene.lock.peer)) == .success(.connected(mtu: 517)))
        // 0x05 is Insufficient Authentication: the stranger would have to pair.
        var policy = PairingPolicy()
        policy.acceptsPairing = false
        #expect(scene.lock.answer(.security(.setPolicy(policy))) == .success(.done))
        #expect(other.answer(.read(scene.lock.peer, scene.characteristic)) == .failure(.attribute(errorCode: 0x05)))
        #expect(scene.bonds(of: scene.lock).map(\.peer) == known)
    }

    @Test(
        "GAP/CONN/DCEP/BV-06-C: a pending connection to a bonded peripheral survives the change of its address",
        arguments: [true, false])
    func pendingConnection(byTheController: Bool) throws {
        let scene = SecureScene(privateLock: true, usesResolvingList: byTheController)
        let lock = try find(scene)
        _ = scene.phone.answer(.connect(lock))
        _ = scene.phone.answer(.read(lock, scene.characteristic))
        scene.world.run(.milliseconds(500))
        _ = scene.phone.answer(.disconnect(lock))
        _ = scene.lock.answer(.stopAdvertising)
        let number = scene.phone.ask(.connect(lock))
        scene.world.run(Self.nextAddress)
        #expect(scene.phone.answers(number).isEmpty)
        _ = scene.lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
        scene.world.run(.seconds(3))
        #expect(scene.phone.answers(number) == [.success(.connected(mtu: 517))])
        #expect(scene.phone.answer(.disconnect(lock)) == .success(.done))
        // One that is taken back leaves nothing behind.
        let other = scene.phone.ask(.connect(lock))
        #expect(scene.phone.answer(.disconnect(lock)) == .success(.done))
        #expect(scene.phone.answers(other) == [.failure(.cancelled)] || scene.phone.answers(other).count == 1)
    }

    @Test(
        """
        GAP/CONN/PRDA/BV-01-C, GAP/PRIV/CONN/BV-11-C: a bonded central is known again behind its next address, and its \
        subscriptions with it
        """
    )
    func centralIsKnown() {
        let scene = SecureScene(privatePhone: true)
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.read() == .success(.value(SecureScene.value)))
        #expect(scene.phone.answer(.subscribe(scene.lock.peer, scene.remote, .notifications)) == .success(.done))
        scene.world.run(.milliseconds(500))
        func subscriber() -> PeerID? {
            scene.lock.events.compactMap { if case .subscribed(let peer, _, _) = $0.event { peer } else { nil } }.last
        }
        let first = subscriber()
        #expect(first != nil && first != scene.phone.peer)
        scene.disconnect()
        scene.lock.clear()
        scene.world.run(Self.nextAddress)
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        scene.world.run(.milliseconds(200))
        #expect(subscriber() == first)
        #expect(scene.bonds(of: scene.lock).map(\.identity) == [scene.phone.peer.address])
    }

    @Test("A device that was met by its identity address before keeps that name when it bonds from behind another")
    func metAsItself() throws {
        let scene = SecureScene(privateLock: true)
        let record = BondRecord(
            bond: Bond(
                address: scene.lock.peer.address,
                security: LinkSecurity(isAuthenticated: false, isSecureConnections: true, keySize: 16)))
        // A bond from elsewhere without an IRK: known, but not to be found behind a private address.
        #expect(scene.phone.answer(.security(.importBonds([record]))) == .success(.done))
        let stranger = try find(scene)
        #expect(stranger != scene.lock.peer)
        _ = scene.phone.answer(.connect(stranger))
        #expect(scene.phone.answer(.read(stranger, scene.characteristic)) == .success(.value(SecureScene.value)))
        scene.world.run(.milliseconds(500))
        _ = scene.phone.answer(.disconnect(stranger))
        #expect(try find(scene) == scene.lock.peer)
    }

    @Test("Who gives away another's identity address does not get that one's bond for a weaker one")
    func stolenIdentity() throws {
        let scene = SecureScene(privatePhone: true)
        var record = BondRecord(
            bond: Bond(
                address: scene.phone.peer.address,
                security: LinkSecurity(isAuthenticated: true, isSecureConnections: true, keySize: 16)))
        record.bond.localKey = LongTermKey(SecretKey(4711))
        record.bond.peerKey = record.bond.localKey
        #expect(scene.lock.answer(.security(.importBonds([record]))) == .success(.done))
        _ = scene.connect()
        // Just Works, from an address that no key resolves, and then the identity of the bond's owner.
        #expect(scene.read() == .success(.value(SecureScene.value)))
        scene.world.run(.milliseconds(500))
        #expect(scene.bonds(of: scene.lock) == [record])
        #expect(scene.problems(of: scene.lock) == [.tooWeak])
    }
}
