import BluetoothCrypto
import BluetoothTypes
import EventLoop
import SMP

extension Attacks.Row {
    private static let central = DeviceAddress(1)
    private static let peripheral = DeviceAddress(2)

    /// Each PDU to an idle machine of either role, then to each side at each moment of a pairing.
    func playOnSecurityManager() throws(Mismatch) {
        for (index, attack) in bytes.enumerated() {
            for role in [SecurityManager.Role.central, .peripheral] {
                try attackIdle(attack.octets, role, "octets \(index), idle \(role)")
                // A pairing of these features has at most thirty PDUs.
                for moment in 0..<30 {
                    try attackPairing(attack.octets, role, moment, "octets \(index), \(role) after \(moment) PDUs")
                }
            }
        }
    }

    private func attackIdle(_ octets: [UInt8], _ role: SecurityManager.Role, _ place: String) throws(Mismatch) {
        var player = PairingPlayer(machine: Self.machine(role))
        player.place = place
        try player.attack(octets)
        try expectNothingGiven(player)
    }

    private func attackPairing(
        _ octets: [UInt8], _ role: SecurityManager.Role, _ moment: Int, _ place: String
    ) throws(Mismatch) {
        var (central, peripheral) = (
            PairingPlayer(machine: Self.machine(.central)), PairingPlayer(machine: Self.machine(.peripheral))
        )
        central.place = place
        peripheral.place = place
        try central.handle(.secure(authenticated: false))
        var pdus = 0
        while pdus < 100 {
            if pdus == moment {
                if role == .central { try central.attack(octets) } else { try peripheral.attack(octets) }
            }
            if let pdu = central.take() {
                try peripheral.handle(.receive(pdu[...]))
            } else if let pdu = peripheral.take() {
                try central.handle(.receive(pdu[...]))
            } else if let key = central.takeKey() {
                // The link layer: the peripheral is asked first; who refuses, or has another key, stays in the clear.
                try peripheral.handle(.longTermKeyRequested(random: 0, diversifier: 0))
                let isAgreed = peripheral.takeKey() == key
                try peripheral.handle(.encryptionChanged(isAgreed ? .encrypted : .keyMissing))
                try central.handle(.encryptionChanged(isAgreed ? .encrypted : .keyMissing))
            } else {
                break
            }
            pdus += 1
        }
        try Mismatch.check("\(place), PDUs", true, pdus < 100)
        if let ours = central.bond, let theirs = peripheral.bond {
            try Mismatch.check("\(place), keys agree", true, ours.peerKey == theirs.localKey)
            try Mismatch.check(
                "\(place), address", true, ours.address == Self.peripheral && theirs.address == Self.central)
        }
    }

    private func expectNothingGiven(_ player: PairingPlayer) throws(Mismatch) {
        try Mismatch.check("\(player.place), bond", nil, player.bond.map { "\($0)" }) { $0 ?? "none" }
        try Mismatch.check("\(player.place), link", nil, player.finished.map { "\($0)" }) { $0 ?? "in the clear" }
        try Mismatch.check("\(player.place), key", true, player.offered == nil)
    }

    private static func machine(_ role: SecurityManager.Role) -> SecurityManager {
        let isCentral = role == .central
        let (local, remote) = isCentral ? (central, peripheral) : (peripheral, central)
        return SecurityManager(
            role: role, local: local, remote: remote,
            configuration: SecurityConfiguration(
                identity: Identity(address: local, resolvingKey: SecretKey(isCentral ? 1 : 2))),
            random: SeededGenerator(seed: isCentral ? 1 : 2))
    }
}

extension PairingPlayer {
    /// A PDU, or an H4 event that means one of the machine's other inputs.
    mutating func attack(_ octets: [UInt8]) throws(Mismatch) {
        let before = sent.count
        switch Array(octets.prefix(4)) {
        case [0x04, 0x3E, 0x0D, 0x05] where octets.count == 16:
            let random = octets[6..<14].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            try handle(.longTermKeyRequested(random: random, diversifier: UInt16(octets[14]) | UInt16(octets[15]) << 8))
        case [0x04, 0x08, 0x04, 0x06]:
            try handle(.encryptionChanged(.keyMissing))
        default:
            try handle(.receive(octets[...]))
        }
        // Sending its keys is one answer, however many PDUs they take; nothing else is more than one.
        try Mismatch.check("\(place), answers", true, sent.count <= before + 1 || octets.first == 0x0A)
    }
}
