import BluetoothCrypto
import BluetoothTypes
import ByteCodec
import SMP

/// Whole pairings with their nonces and keys, and short conversations that end badly.
package struct PairingTranscripts: Decodable, Sendable {
    var cases: [Case]
    var short_scripts: [Script]

    package func play() -> ConformanceReport {
        var report = ConformanceReport()
        for item in cases { report.add(item.id, result { () throws(Mismatch) in try item.play() }) }
        for script in short_scripts { report.add(script.id, result { () throws(Mismatch) in try script.play() }) }
        return report
    }

    private func result(_ play: () throws(Mismatch) -> Void) -> Mismatch? {
        do throws(Mismatch) {
            try play()
            return nil
        } catch {
            return error
        }
    }

    struct Party: Decodable, Sendable {
        /// 0 public, 1 random.
        var addr_type: UInt8
        var identity_addr_le: Hexadecimal

        var address: DeviceAddress { identity_addr_le.address(kind: addr_type) }
    }

    struct Message: Decodable, Sendable {
        var from: String
        var pdu: Hexadecimal
        var phase: Int?
    }

    struct GivenKeys: Decodable, Sendable {
        var ltk_le: Hexadecimal?
        var ediv: UInt16?
        /// Most significant octet first.
        var rand: Hexadecimal?
        var irk_le: Hexadecimal?
        var identity_addr_type: UInt8?
        var identity_addr_le: Hexadecimal?
        var csrk_le: Hexadecimal?
    }

    struct Case: Decodable, Sendable {
        var id: String
        var kind: String
        var iut_role: String
        var method: String
        var authenticated: Bool
        var initiator: Party
        var responder: Party
        var passkey: UInt32?
        var numeric_comparison: UInt32?
        var iut_private_key_le: Hexadecimal?
        var keys_distributed: [String: GivenKeys]
        var messages: [Message]
        var stk_le: Hexadecimal?
        var ltk_le: Hexadecimal?
    }
}

extension Hexadecimal {
    var number: UInt128 { octets.reversed().reduce(0) { $0 << 8 | UInt128($1) } }
    var key: SecretKey { SecretKey(number) }

    func address(kind: UInt8) -> DeviceAddress {
        DeviceAddress(UInt64(number & 0xFFFF_FFFF_FFFF), kind: kind == 1 ? .random : .public)
    }
}

/// Hands out numbers that a file gives, in the order in which the Security Manager draws them; then zeros.
struct ScriptedGenerator: RandomNumberGenerator, Sendable {
    private var numbers: [UInt64] = []
    private var position = 0

    mutating func next() -> UInt64 {
        guard position < numbers.count else { return 0 }
        defer { position += 1 }
        return numbers[position]
    }

    mutating func append(_ number: UInt64) { numbers.append(number) }

    mutating func append(block: UInt128) {
        numbers += [UInt64(truncatingIfNeeded: block >> 64), UInt64(truncatingIfNeeded: block)]
    }

    mutating func append(privateKey wire: [UInt8]) {
        let octets = Array(wire.reversed())
        for start in stride(from: 0, to: octets.count, by: 8) {
            numbers.append(octets[start..<min(start + 8, octets.count)].reduce(0) { $0 << 8 | UInt64($1) })
        }
    }

    /// The draw that becomes `passkey`.
    mutating func append(passkey: UInt32) { numbers.append(UInt64(passkey) << 44) }
}

// MARK: - Whole pairings

extension PairingTranscripts.Case {
    private var isCentral: Bool { iut_role == "central" }
    private var iut: String { isCentral ? "initiator" : "responder" }
    private var tester: String { isCentral ? "responder" : "initiator" }

    func play() throws(Mismatch) {
        var player = PairingPlayer(machine: machine, passkey: passkey, comparison: numeric_comparison)
        player.linkKey = (stk_le ?? ltk_le)?.key
        if isCentral { try player.handle(.secure(authenticated: false)) }
        for (index, message) in messages.enumerated() {
            player.place = "message \(index)"
            if message.phase == 3, !player.isEncrypted { try player.encrypt() }
            if message.from == iut {
                try player.expect(message.pdu.octets)
            } else {
                try player.handle(.receive(message.pdu.octets[...]))
            }
        }
        player.place = "end"
        try player.expectQuiet()
        guard let security = player.finished else {
            throw Mismatch(place: "end", expected: "finished", actual: "\(player.failures)")
        }
        try Mismatch.check("authenticated", authenticated, security.isAuthenticated)
        try Mismatch.check("kind", kind == "secure-connections", security.isSecureConnections)
        try compare(player.bond)
    }

    /// What the tester gave away must be in the bond.
    private func compare(_ bond: Bond?) throws(Mismatch) {
        guard let bond else { throw Mismatch(place: "bond", expected: "a bond", actual: "none") }
        let keys = keys_distributed[tester]
        let party = isCentral ? responder : initiator
        let address =
            keys?.identity_addr_le.map { $0.address(kind: keys?.identity_addr_type ?? 0) } ?? party.address
        try Mismatch.check("identity address", address, bond.address)
        try Mismatch.check("IRK", true, keys?.irk_le?.key == bond.resolvingKey)
        try Mismatch.check("CSRK", true, keys?.csrk_le?.key == bond.peerSigningKey)
        if kind == "secure-connections" {
            try Mismatch.check("LTK", true, ltk_le?.key == bond.peerKey?.key && ltk_le?.key == bond.localKey?.key)
        } else {
            try Mismatch.check("LTK", true, keys?.ltk_le?.key == bond.peerKey?.key)
            try Mismatch.check("EDIV", keys?.ediv ?? 0, bond.peerKey?.diversifier ?? 0)
        }
    }

    private var machine: SecurityManager {
        let keys = keys_distributed[iut]
        let own = isCentral ? initiator : responder
        var configuration = SecurityConfiguration(
            identity: Identity(
                address: keys?.identity_addr_le?.address(kind: keys?.identity_addr_type ?? 0) ?? own.address,
                resolvingKey: keys?.irk_le?.key ?? SecretKey(0)))
        if let first = messages.first(where: { $0.from == iut }) { configuration.take(features: first.pdu.octets) }
        return SecurityManager(
            role: isCentral ? .central : .peripheral, local: own.address,
            remote: (isCentral ? responder : initiator).address, configuration: configuration, random: generator)
    }

    private var generator: ScriptedGenerator {
        var generator = ScriptedGenerator()
        if let key = iut_private_key_le { generator.append(privateKey: key.octets) }
        // A passkey that is typed is not drawn; one that is shown is drawn before the first random value.
        if let passkey, showsPasskey { generator.append(passkey: passkey) }
        for message in messages where message.from == iut && message.pdu.octets.first == 0x04 {
            generator.append(block: Hexadecimal(Array(message.pdu.octets.dropFirst())).number)
        }
        guard let keys = keys_distributed[iut] else { return generator }
        if let key = keys.ltk_le {
            generator.append(block: key.number)
            generator.append(UInt64(keys.ediv ?? 0))
            generator.append(keys.rand?.octets.reduce(0) { $0 << 8 | UInt64($1) } ?? 0)
        }
        if let key = keys.csrk_le { generator.append(block: key.number) }
        return generator
    }

    private var showsPasskey: Bool {
        let features = messages.prefix(2).compactMap { try? PairingFeatures(octets: $0.pdu.octets.dropFirst()) }
        guard features.count == 2 else { return false }
        let method = PairingMethod.select(initiator: features[0], responder: features[1])
        return method == .passkey(isCentral ? .responderEnters : .initiatorEnters)
    }
}

extension SecurityConfiguration {
    /// The features with which the script's own device opens.
    mutating func take(features octets: [UInt8]) {
        guard octets.first == 0x01 || octets.first == 0x02,
            let features = try? PairingFeatures(octets: octets.dropFirst())
        else { return }
        ioCapability = features.ioCapability
        authentication = features.authentication
        maximumKeySize = min(features.maximumKeySize, 16)
        initiatorKeys = features.initiatorKeys
        responderKeys = features.responderKeys
    }
}
