import BluetoothCrypto
import BluetoothTypes
import EventLoop
import HostInterface
import Simulation
import Testing

/// Source of methods: Core 6.0, Vol 3, Part H, 2.3.5.1, table 2.8.
@Suite("Pairing of two hosts over the air")
struct PairingTests {
    struct Method: Sendable, CustomTestStringConvertible {
        var phone: IOCapability
        var lock: IOCapability
        var isSecure: Bool
        var isAuthenticated: Bool
        /// What the phone's person, then the lock's, is asked.
        var asked: (phone: String?, lock: String?)

        var testDescription: String { "\(phone) and \(lock), \(isSecure ? "Secure Connections" : "legacy")" }
    }

    static let methods = [true, false].flatMap { isSecure in
        [
            Method(
                phone: .noInputNoOutput, lock: .noInputNoOutput, isSecure: isSecure, isAuthenticated: false,
                asked: (nil, nil)),
            Method(
                phone: .keyboardOnly, lock: .displayOnly, isSecure: isSecure, isAuthenticated: true,
                asked: ("enter", "display")),
            Method(
                phone: .displayOnly, lock: .keyboardOnly, isSecure: isSecure, isAuthenticated: true,
                asked: ("display", "enter")),
            Method(
                phone: .keyboardOnly, lock: .keyboardOnly, isSecure: isSecure, isAuthenticated: true,
                asked: ("enter", "enter")),
            Method(
                phone: .displayYesNo, lock: .displayYesNo, isSecure: isSecure, isAuthenticated: isSecure,
                asked: isSecure ? ("compare", "compare") : (nil, nil)),
            Method(
                phone: .keyboardDisplay, lock: .keyboardDisplay, isSecure: isSecure, isAuthenticated: true,
                asked: isSecure ? ("compare", "compare") : ("display", "enter")),
        ]
    }

    private func name(_ kind: PairingQuestion.Kind?) -> String? {
        switch kind {
        case .display: "display"
        case .enterPasskey: "enter"
        case .compare: "compare"
        case .confirm: "confirm"
        case nil: nil
        }
    }

    @Test("A read that the peer refuses starts a pairing, and is done then — B-K1", arguments: methods)
    func pairs(by method: Method) {
        let scene = SecureScene(phone: method.phone, lock: method.lock) { $0.usesSecureConnections = method.isSecure }
        #expect(scene.connect() == .success(.connected(mtu: 517)))
        #expect(scene.security == nil)
        #expect(scene.read() == .success(.value(SecureScene.value)))
        #expect(name(scene.questions.first { $0.isPhone }?.kind) == method.asked.phone)
        #expect(name(scene.questions.first { !$0.isPhone }?.kind) == method.asked.lock)
        let security = LinkSecurity(
            isAuthenticated: method.isAuthenticated, isSecureConnections: method.isSecure, keySize: 16)
        #expect(scene.security == security)
        scene.world.run(.milliseconds(500))
        for (client, peer) in [(scene.phone, scene.lock.peer), (scene.lock, scene.phone.peer)] {
            #expect(scene.events(of: client).contains(.secured(peer, security)))
            #expect(scene.events(of: client).contains(.bonded(peer)))
            #expect(scene.bonds(of: client).map(\.bond.security) == [security])
        }
        scene.checkAnswers(scene.phone, "\(method)")
        scene.checkAnswers(scene.lock, "\(method)")
    }

    @Test("Writing and subscribing start a pairing too, and what is subscribed to is sent encrypted — B-K1, B155")
    func otherOperations() {
        for operation in 0..<2 {
            let scene = SecureScene()
            _ = scene.connect()
            let request: HostRequest =
                operation == 0
                ? .write(scene.lock.peer, scene.characteristic, value: [1], withResponse: true)
                : .subscribe(scene.lock.peer, scene.remote, .notifications)
            #expect(scene.phone.answer(request) == .success(.done))
            #expect(scene.security?.level == 2)
            guard operation == 1 else { continue }
            #expect(scene.lock.answer(.notify(scene.characteristic, value: [7], to: nil)) == .success(.done))
            scene.world.run(.milliseconds(100))
            #expect(
                scene.phone.events.contains {
                    $0.event == .notified(scene.lock.peer, scene.characteristic, value: [7])
                })
        }
    }

    @Test("Several refused requests wait for one pairing, and each is done once")
    func manyAtOnce() {
        let scene = SecureScene()
        _ = scene.connect()
        let numbers = (0..<5).map { _ in scene.phone.ask(.read(scene.lock.peer, scene.characteristic)) }
        scene.world.run(.seconds(5))
        for number in numbers { #expect(scene.phone.answers(number) == [.success(.value(SecureScene.value))]) }
        #expect(scene.events(of: scene.phone).filter { $0 == .bonded(scene.lock.peer) }.count == 1)
    }

    @Test("A link is secured on request; a peripheral asks its central to — Vol 3, Part H, 2.4.6")
    func onRequest() {
        let scene = SecureScene(phone: .keyboardDisplay, lock: .displayOnly)
        _ = scene.connect()
        let number = scene.lock.ask(.security(.secure(scene.phone.peer, authenticated: true)))
        scene.world.run(.seconds(5))
        guard case .success(.link(let status))? = scene.lock.answers(number).first else {
            Issue.record("\(scene.lock.answers(number))")
            return
        }
        #expect(status.security?.level == 4 && status.isBonded)
        #expect(scene.phone.answer(.security(.secure(scene.lock.peer, authenticated: true))) != nil)
    }

    @Test("A peer that wants more than an unauthenticated key gets it, if a person can help")
    func pairsAgainWithPersons() {
        let scene = SecureScene()
        _ = scene.connect()
        _ = scene.read()
        #expect(scene.security?.isAuthenticated == false)
        scene.setPolicy(of: scene.phone, .keyboardDisplay)
        scene.setPolicy(of: scene.lock, .displayOnly)
        let answer = scene.phone.answer(.security(.secure(scene.lock.peer, authenticated: true)))
        guard case .success(.link(let status)) = answer else {
            Issue.record("\(String(describing: answer))")
            return
        }
        #expect(status.security?.level == 4)
    }

    @Test("Secure Connections only: a peer that can't is refused, and the operation ends with its error")
    func secureConnectionsOnly() {
        let scene = SecureScene(phone: .keyboardDisplay, lock: .displayOnly)
        scene.setPolicy(of: scene.phone, .keyboardDisplay) { $0.isSecureConnectionsOnly = true }
        scene.setPolicy(of: scene.lock, .displayOnly) { $0.usesSecureConnections = false }
        _ = scene.connect()
        // Vol 3, Part H, 3.5.5: 0x03 is Authentication Requirements.
        #expect(scene.read() == .failure(.attribute(errorCode: 0x05)))
        #expect(scene.problems(of: scene.phone) == [.refused(reason: 0x03)])
        scene.world.run(.milliseconds(100))
        #expect(scene.problems(of: scene.lock) == [.refusedByPeer(reason: 0x03)])
    }

    @Test("Keys shorter than the least are refused — SM/CEN/EKS/BI-01-C, SM/PER/EKS/BI-02-C")
    func keySize() {
        for phoneIsStrict in [true, false] {
            let scene = SecureScene()
            scene.setPolicy(of: scene.phone, nil) {
                $0.minimumKeySize = phoneIsStrict ? 16 : 7
                $0.maximumKeySize = phoneIsStrict ? 16 : 10
            }
            scene.setPolicy(of: scene.lock, nil) {
                $0.minimumKeySize = phoneIsStrict ? 7 : 16
                $0.maximumKeySize = phoneIsStrict ? 10 : 16
            }
            _ = scene.connect()
            #expect(scene.read() == .failure(.attribute(errorCode: 0x05)))
            // 0x06 is Encryption Key Size.
            let strict = phoneIsStrict ? scene.phone : scene.lock
            #expect(scene.problems(of: strict) == [.refused(reason: 0x06)])
        }
    }

    @Test("Short keys are fine where both say so, and stay short over a reconnection")
    func shortKeys() {
        let scene = SecureScene { $0.maximumKeySize = 7 }
        _ = scene.connect()
        #expect(scene.read() == .success(.value(SecureScene.value)))
        #expect(scene.security?.keySize == 7)
        scene.disconnect()
        _ = scene.connect()
        #expect(scene.security?.keySize == 7)
    }

    @Test("Out of band: what came by another way proves who is there — Vol 3, Part H, 2.3.5.6.4")
    func outOfBand() {
        for isForged in [false, true] {
            let scene = SecureScene()
            guard case .success(.outOfBand(var share)) = scene.lock.answer(.security(.makeOutOfBandData)) else {
                Issue.record("There is no data.")
                return
            }
            if isForged { share.confirm ^= 1 }
            let set = HostRequest.security(.setOutOfBandData(scene.lock.peer, share))
            #expect(scene.phone.answer(set) == .success(.done))
            _ = scene.connect()
            if isForged {
                #expect(scene.read() == .failure(.attribute(errorCode: 0x05)))
                #expect(scene.problems(of: scene.phone) == [.refused(reason: 0x04)])
            } else {
                #expect(scene.read() == .success(.value(SecureScene.value)))
                #expect(scene.security?.level == 4)
            }
        }
    }

    @Test("Without bonding the link is encrypted and nothing is kept")
    func withoutBonding() {
        let scene = SecureScene { $0.bonds = false }
        _ = scene.connect()
        #expect(scene.read() == .success(.value(SecureScene.value)))
        #expect(scene.bonds(of: scene.phone).isEmpty && scene.bonds(of: scene.lock).isEmpty)
        scene.disconnect()
        _ = scene.connect()
        #expect(scene.security == nil)
        #expect(scene.read() == .success(.value(SecureScene.value)))
    }
}
