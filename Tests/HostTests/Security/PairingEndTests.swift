import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

@Suite("Pairings that fail, and pairings cut short")
struct PairingEndTests {
    @Test(
        "A wrong passkey: the operation ends with the peer's error, the link goes on — B-K1", arguments: [true, false])
    func wrongPasskey(isSecure: Bool) {
        let scene = SecureScene(phone: .keyboardOnly, lock: .displayOnly) { $0.usesSecureConnections = isSecure }
        scene.persons.typingError = 1
        _ = scene.connect()
        #expect(scene.read() == .failure(.attribute(errorCode: 0x05)))
        // 0x04 is Confirm Value Failed. Legacy: the responder sees it at the initiator's random value.
        #expect(scene.problems(of: scene.phone).first == .refusedByPeer(reason: 0x04) || isSecure)
        scene.world.run(.seconds(1))
        #expect(scene.bonds(of: scene.phone).isEmpty && scene.bonds(of: scene.lock).isEmpty)
        // Whoever guesses must wait (2.3.6); then the right passkey is as good as ever.
        scene.persons.typingError = 0
        scene.world.run(.seconds(2))
        #expect(scene.read() == .success(.value(SecureScene.value)))
        scene.checkAnswers(scene.phone, "phone")
    }

    @Test("Who is told of a bond may end the link at once: the peer has its keys too — Vol 3, Part H, 3.6.1")
    func endAtOnce() {
        let scene = SecureScene()
        _ = scene.connect()
        guard case .success(.link) = scene.phone.answer(.security(.secure(scene.lock.peer, authenticated: false)))
        else { return #expect(Bool(false), "The link is not secured.") }
        scene.disconnect()
        #expect(scene.bonds(of: scene.phone).count == 1 && scene.bonds(of: scene.lock).count == 1)
    }

    @Test("Each failure doubles the time that a guesser waits, also over new links — Vol 3, Part H, 2.3.6")
    func repeatedAttempts() {
        let scene = SecureScene(phone: .keyboardOnly, lock: .displayOnly)
        scene.persons.typingError = 1
        _ = scene.connect()
        _ = scene.read()
        scene.disconnect()
        _ = scene.connect()
        _ = scene.read()
        // 0x09 is Repeated Attempts.
        #expect(scene.problems(of: scene.phone).last == .refused(reason: 0x09))
    }

    @Test("A person who says no ends the pairing — numeric comparison, and consent to Just Works")
    func refusedByPerson() {
        let comparison = SecureScene(phone: .displayYesNo, lock: .displayYesNo)
        comparison.persons.agree = false
        _ = comparison.connect()
        #expect(comparison.read() == .failure(.attribute(errorCode: 0x05)))
        // 0x0C is Numeric Comparison Failed.
        #expect(
            comparison.problems(of: comparison.phone).contains {
                [.refused(reason: 0x0C), .refusedByPeer(reason: 0x0C)].contains($0)
            })
        let consent = SecureScene()
        consent.setPolicy(of: consent.lock, nil) { $0.confirmsJustWorks = true }
        consent.persons.agree = false
        _ = consent.connect()
        #expect(consent.read() == .failure(.attribute(errorCode: 0x05)))
        #expect(consent.problems(of: consent.phone) == [.refusedByPeer(reason: 0x05)])
    }

    @Test("A peer that does not want to pair: the operation ends with its error")
    func pairingNotSupported() {
        let scene = SecureScene()
        scene.setPolicy(of: scene.lock, nil) { $0.acceptsPairing = false }
        _ = scene.connect()
        #expect(scene.read() == .failure(.attribute(errorCode: 0x05)))
        // 0x05 is Pairing Not Supported.
        #expect(scene.problems(of: scene.phone) == [.refusedByPeer(reason: 0x05)])
    }

    @Test("Nobody answers: after thirty seconds the operation ends, and this link pairs no more — 3.4, B172")
    func timeout() {
        let scene = SecureScene(phone: .displayYesNo, lock: .displayYesNo)
        scene.persons.answers = false
        _ = scene.connect()
        let before = scene.world.world.now
        #expect(scene.read() == .failure(.security(.timedOut)))
        let waited = before.duration(to: scene.world.world.now)
        #expect((.seconds(30) ... .seconds(31)).contains(waited))
        scene.world.run(.seconds(1))
        #expect(scene.problems(of: scene.lock) == [.timedOut])
        scene.persons.answers = true
        #expect(scene.read() == .failure(.security(.timedOut)))
        scene.disconnect()
        _ = scene.connect()
        #expect(scene.read() == .success(.value(SecureScene.value)))
        // Each question that was asked has ended.
        let ended = scene.events(of: scene.phone).filter { if case .questionEnded = $0 { true } else { false } }
        #expect(ended.count == scene.questions.filter(\.isPhone).count)
    }

    @Test("The program that answers for the person leaves: the pairing ends")
    func agentLeaves() {
        let scene = SecureScene(phone: .displayYesNo, lock: .displayYesNo)
        scene.persons.answers = false
        let other = scene.world.client(of: scene.phone.device)
        _ = scene.connect()
        _ = other.answer(.connect(scene.lock.peer))
        let number = other.ask(.read(scene.lock.peer, scene.characteristic))
        scene.world.run(.seconds(2))
        #expect(other.answers(number).isEmpty)
        scene.phone.close()
        scene.world.run(.seconds(2))
        #expect(other.answers(number) == [.failure(.attribute(errorCode: 0x05))])
    }

    @Test("Another program speaks for the person from now on: what the first one shows ends, and the pairing with it")
    func agentIsReplaced() {
        let scene = SecureScene(phone: .displayYesNo, lock: .displayYesNo)
        scene.persons.answers = false
        let other = scene.world.client(of: scene.phone.device)
        // The first client that has a policy counts.
        #expect(scene.phone.answer(.security(.setPolicy(nil))) == .success(.done))
        scene.setPolicy(of: other, .displayYesNo)
        _ = scene.connect()
        scene.phone.ask(.read(scene.lock.peer, scene.characteristic))
        scene.world.run(.seconds(2))
        scene.setPolicy(of: scene.phone, .displayYesNo)
        let events = scene.events(of: other)
        let asked = events.compactMap { if case .asked(let question) = $0 { question.id } else { nil } }
        let ended = events.compactMap { if case .questionEnded(let id) = $0 { id } else { nil } }
        #expect(asked.count == 1 && ended == asked)
    }

    enum Ending: CaseIterable, Sendable {
        case phoneSwitchedOff, lockSwitchedOff, lockOutOfPower, outOfReach, cancelled, phoneClientLeaves,
            lockClientLeaves
        case bondRemoved
    }

    /// A pairing by comparison takes some 40 connection events of 15 ms.
    @Test(
        "Whatever ends a pairing, at any step, all that was asked ends, once", arguments: Ending.allCases,
        [true, false])
    func cutShort(by ending: Ending, isSecure: Bool) {
        for step in 0..<24 {
            let scene = SecureScene(seed: UInt64(step), phone: .keyboardDisplay, lock: .keyboardDisplay) {
                $0.usesSecureConnections = isSecure
            }
            _ = scene.connect()
            scene.phone.ask(.read(scene.lock.peer, scene.characteristic))
            scene.phone.ask(.security(.secure(scene.lock.peer, authenticated: true)))
            scene.world.run(.milliseconds(30 * step))
            let what = "\(ending) after \(30 * step) ms"
            end(scene, by: ending)
            scene.world.run(.seconds(40))
            if ending != .phoneClientLeaves {
                _ = scene.phone.answer(.disconnect(scene.lock.peer))
                scene.world.run(.seconds(1))
                scene.checkAnswers(scene.phone, "phone: \(what)")
            }
            if ending != .lockClientLeaves && ending != .lockOutOfPower {
                scene.checkAnswers(scene.lock, "lock: \(what)")
            }
        }
    }

    private func end(_ scene: SecureScene, by ending: Ending) {
        switch ending {
        case .phoneSwitchedOff: scene.phone.device.setPowered(false)
        case .lockSwitchedOff: scene.lock.device.setPowered(false)
        case .lockOutOfPower: scene.lock.device.device.removeFromAir()
        case .outOfReach: scene.lock.device.device.move(to: Position(x: 100_000, y: 0))
        case .cancelled: scene.phone.ask(.disconnect(scene.lock.peer))
        case .phoneClientLeaves: scene.phone.close()
        case .lockClientLeaves: scene.lock.close()
        case .bondRemoved: scene.phone.ask(.security(.removeBond(scene.lock.peer)))
        }
    }
}
