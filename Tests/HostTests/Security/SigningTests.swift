import BluetoothCrypto
import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

/// Source: Core 6.0, Vol 3, Part C, 10.4, and Part H, 2.4.5.
@Suite("Signed writes")
struct SigningTests {
    /// Bonded, connected anew, and in the clear.
    private func bondedInTheClear() -> SecureScene {
        let scene = SecureScene { $0.encryptsAtOnce = false }
        _ = scene.connect()
        #expect(scene.read() == .success(.value(SecureScene.value)))
        scene.world.run(.milliseconds(500))
        scene.disconnect()
        _ = scene.connect()
        #expect(scene.security == nil)
        return scene
    }

    private func write(_ value: [UInt8], _ scene: SecureScene) -> Result<HostAnswer, HostFailure>? {
        let request = HostRequest.security(.writeSigned(scene.lock.peer, scene.signedCharacteristic, value: value))
        defer { scene.world.run(.milliseconds(100)) }
        return scene.phone.answer(request)
    }

    private func written(_ scene: SecureScene) -> [[UInt8]] {
        scene.lock.events.compactMap {
            if case .writeRequested(let request) = $0.event { request.parts.first?.value } else { nil }
        }
    }

    @Test("A signed write on a link in the clear reaches the application, in order, and counts up")
    func signed() {
        let scene = bondedInTheClear()
        for value in [[1], [2, 3], []] as [[UInt8]] { #expect(write(value, scene) == .success(.done)) }
        #expect(written(scene) == [[1], [2, 3], []])
        #expect(scene.bonds(of: scene.phone)[0].localSignCounter == 3)
        #expect(scene.bonds(of: scene.lock)[0].peerSignCounter == 3)
        // Over a new link the counter goes on.
        scene.disconnect()
        _ = scene.connect()
        #expect(write([4], scene) == .success(.done))
        #expect(written(scene).last == [4])
    }

    @Test("A counter that was seen before, and a key that is not the peer's, are ignored")
    func replayedAndForged() {
        let scene = bondedInTheClear()
        #expect(write([1], scene) == .success(.done))
        #expect(write([2], scene) == .success(.done))
        var record = scene.bonds(of: scene.phone)[0]
        record.localSignCounter = 1
        _ = scene.phone.answer(.security(.importBonds([record])))
        #expect(write([3], scene) == .success(.done))
        record.localSignCounter = 100
        record.bond.localSigningKey = SecretKey(1)
        _ = scene.phone.answer(.security(.importBonds([record])))
        #expect(write([4], scene) == .success(.done))
        #expect(written(scene) == [[1], [2]])
    }

    @Test("On an encrypted link the write goes unsigned; a characteristic that has no signed writes takes none")
    func elsewhere() {
        let scene = bondedInTheClear()
        // FFF1 wants encryption, which no signature is.
        let request = HostRequest.security(.writeSigned(scene.lock.peer, scene.characteristic, value: [9]))
        #expect(scene.phone.answer(request) == .success(.done))
        scene.world.run(.milliseconds(100))
        #expect(written(scene).isEmpty)
        #expect(scene.read() == .success(.value(SecureScene.value)))
        #expect(scene.security != nil)
        #expect(scene.phone.answer(request) == .success(.done))
        scene.world.run(.milliseconds(100))
        #expect(written(scene) == [[9]])
        #expect(scene.bonds(of: scene.phone)[0].localSignCounter == 1)
    }

    @Test("Without a bond there is nothing to sign with")
    func withoutBond() {
        let scene = SecureScene()
        _ = scene.connect()
        guard case .failure(.invalidParameters) = write([1], scene) else {
            Issue.record("A write without a key was taken.")
            return
        }
        scene.checkAnswers(scene.phone, "phone")
    }
}
