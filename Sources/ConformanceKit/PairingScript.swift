import BluetoothCrypto
import BluetoothTypes
import ByteCodec
import EventLoop
import SMP

extension PairingTranscripts {
    /// A conversation in which some PDUs are given as octets, others by what they are.
    struct Script: Decodable, Sendable {
        var id: String
        var iut_role: String
        var io: String?
        var iut_random_le: Hexadecimal?
        var initiator_addr_le: Hexadecimal?
        var responder_addr_le: Hexadecimal?
        /// `[who, what]`
        var steps: [[String]]
    }
}

extension PairingTranscripts.Script {
    private var isCentral: Bool { iut_role == "central" }

    func play() throws(Mismatch) {
        var iut = PairingPlayer(machine: machine(isTester: false))
        // Where the file does not spell a tester's PDU out, a second machine says it.
        let isSpelled = steps.allSatisfy { $0.first != "tester" || $0.last.flatMap(Hexadecimal.init) != nil }
        var tester = isSpelled ? nil : PairingPlayer(machine: machine(isTester: true))
        if isCentral { try iut.handle(.secure(authenticated: false)) }
        for (index, step) in steps.enumerated() {
            guard step.count == 2 else {
                throw Mismatch(place: "step \(index)", expected: "who and what", actual: "\(step)")
            }
            iut.place = "step \(index)"
            switch step[0] {
            case "iut":
                let octets = iut.take() ?? []
                try compare(step[1], octets, iut.place)
                try tester?.handle(.receive(octets[...]))
            case "tester":
                guard let octets = tester == nil ? Hexadecimal(step[1])?.octets : tester?.take() else {
                    throw Mismatch(place: iut.place, expected: step[1], actual: "silence of the tester")
                }
                try compare(step[1], octets, iut.place)
                try iut.handle(.receive(octets[...]))
            case "iut-silent":
                try iut.expectQuiet()
            case "controller":
                try iut.handle(.linkLost)
                try Mismatch.check(iut.place, [.linkLost], iut.failures)
                try Mismatch.check(iut.place, nil, iut.machine.security.map { "\($0)" }, { $0 ?? "not encrypted" })
            default:
                throw Mismatch(place: iut.place, expected: "a known actor", actual: step[0])
            }
        }
        // Whole pairings are cut off in the middle; what fails must have said its last word.
        if steps.last?.last?.hasPrefix("05") == true { try iut.expectQuiet() }
    }

    private func compare(_ expected: String, _ octets: [UInt8], _ place: String) throws(Mismatch) {
        if let spelled = Hexadecimal(expected)?.octets {
            return try Mismatch.check(place, Self.singleMode(spelled), Self.singleMode(octets), \.hexadecimal)
        }
        let code: UInt8? =
            switch expected {
            case "pairing request of the stack": 0x01
            case "confirm c1", "confirm f4": 0x03
            case "random": 0x04
            case "public key": 0x0C
            default: nil
            }
        guard let code, octets.first == code else {
            throw Mismatch(place: place, expected: expected, actual: octets.hexadecimal)
        }
    }

    /// Features without the bits by which devices that have BR/EDR too convert keys (CT2, LinkKey): this host has LE
    /// alone, and leaves them out.
    private static func singleMode(_ octets: [UInt8]) -> [UInt8] {
        guard let code = octets.first, code == 0x01 || code == 0x02,
            var features = try? PairingFeatures(octets: octets.dropFirst())
        else { return octets }
        features.authentication.remove(.ct2)
        features.initiatorKeys.remove(.link)
        features.responderKeys.remove(.link)
        return [code] + features.octets
    }

    private func machine(isTester: Bool) -> SecurityManager {
        let initiator = (initiator_addr_le ?? Hexadecimal([1, 0, 0, 0, 0, 0])).address(kind: 0)
        let responder = (responder_addr_le ?? Hexadecimal([2, 0, 0, 0, 0, 0])).address(kind: 0)
        let isInitiator = isCentral != isTester
        let local = isInitiator ? initiator : responder
        var configuration = SecurityConfiguration(identity: Identity(address: local, resolvingKey: SecretKey(0)))
        let who = isTester ? "tester" : "iut"
        for step in steps where step.first == who {
            guard let octets = step.last.flatMap(Hexadecimal.init)?.octets else { continue }
            configuration.take(features: octets)
        }
        var generator = ScriptedGenerator()
        if let random = iut_random_le, !isTester { generator.append(block: random.number) }
        // Numbers for whoever needs more than the file gives: no two alike, and neither side's are the other's.
        var seeded = SeededGenerator(seed: isTester ? 2 : 1)
        for _ in 0..<64 { generator.append(seeded.next()) }
        return SecurityManager(
            role: isInitiator ? .central : .peripheral, local: local, remote: isInitiator ? responder : initiator,
            configuration: configuration, random: generator)
    }
}
