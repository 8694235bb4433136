import BluetoothTypes
import EventLoop
import HostInterface

/// What a person in front of a host does when it asks something for a pairing, and how a program lets its host pair.
extension Player {
    /// A program's idea of pairing: any that is allowed.
    func newPolicy() -> PairingPolicy {
        var policy = PairingPolicy()
        policy.ioCapability =
            [
                .noInputNoOutput, .noInputNoOutput, .displayOnly, .displayYesNo, .keyboardOnly, .keyboardDisplay,
            ][generator.next(below: 6)]
        policy.requiresAuthentication = generator.isChosen(outOf100: 10)
        policy.usesSecureConnections = generator.isChosen(outOf100: 75)
        policy.isSecureConnectionsOnly = policy.usesSecureConnections && generator.isChosen(outOf100: 5)
        policy.bonds = generator.isChosen(outOf100: 85)
        policy.acceptsPairing = generator.isChosen(outOf100: 90)
        policy.confirmsJustWorks = generator.isChosen(outOf100: 30)
        policy.maximumKeySize = generator.isChosen(outOf100: 80) ? 16 : UInt8(7 + generator.next(below: 10))
        policy.minimumKeySize = generator.isChosen(outOf100: 80) ? 7 : policy.maximumKeySize
        policy.lostBond = generator.isChosen(outOf100: 50) ? .disconnect : .pairAgain
        policy.encryptsAtOnce = generator.isChosen(outOf100: 70)
        return policy
    }

    /// Most questions are answered as they should be, some wrongly or late, some never.
    func answer(_ question: PairingQuestion) {
        if case .display(let passkey) = question.kind { board.passkey = passkey }
        guard let reply = reply(to: question.kind) else { return }
        let delay = generator.next(below: 1500)
        later(.milliseconds(delay)) { $0.ask(.security(.reply(question.id, reply))) }
    }

    private func reply(to kind: PairingQuestion.Kind) -> PairingReply? {
        let mood = generator.next(below: 100)
        guard mood < 92 else { return mood < 96 ? .no : nil }
        switch kind {
        case .display: return nil
        case .enterPasskey:
            let isRight = generator.isChosen(outOf100: 85)
            return .passkey(isRight ? board.passkey ?? 0 : UInt32(generator.next(below: 1_000_000)))
        case .compare, .confirm: return .yes
        }
    }
}
