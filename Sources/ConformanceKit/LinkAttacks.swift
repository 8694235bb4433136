import BluetoothCrypto
import BluetoothTypes
import EventLoop
import GATT
import L2CAP
import SMP

/// The fixed channels of one link: what stands between ACL packets and the machines that answer.
private struct FixedChannels {
    private var reassembler = Reassembler()
    private var signalling = Signalling(role: .central)
    private var bearer = GATTConnection()
    private var database = AttributeDatabase()
    private var security = SecurityManager(
        role: .peripheral, local: DeviceAddress(2), remote: DeviceAddress(1),
        configuration: SecurityConfiguration(
            identity: Identity(address: DeviceAddress(2), resolvingKey: SecretKey(2))),
        random: SeededGenerator(seed: 1))

    /// - Parameter packet: an ACL data packet in its H4 form (Core 6.0, Vol 4, Part E, 5.4.2).
    /// - Returns: the payloads that go back.
    mutating func receive(_ packet: [UInt8]) -> [[UInt8]] {
        guard packet.count >= 5, packet[0] == 0x02, packet.count - 5 == Int(packet[3]) | Int(packet[4]) << 8,
            let pdu = reassembler.receive(packet[5...], isStart: packet[2] >> 4 & 0b11 != 0b01)
        else { return [] }
        switch pdu.channel {
        case .signalling:
            return signalling.handle(.receive(pdu.payload), at: Instant()).compactMap { effect in
                if case .send(let octets) = effect { octets } else { nil }
            }
        case .attribute:
            return bearer.handle(.receive(pdu.payload), database: &database, at: Instant()).compactMap { effect in
                if case .send(let octets, _) = effect { octets } else { nil }
            }
        case .securityManager:
            return security.handle(.receive(pdu.payload), at: Instant()).compactMap { effect in
                if case .send(let octets) = effect { octets } else { nil }
            }
        default:
            return []
        }
    }
}

extension Attacks.Row {
    /// All packets after each other on one link.
    func playOnLink() throws(Mismatch) {
        var link = FixedChannels()
        for (index, packet) in bytes.enumerated() {
            let answers = link.receive(packet.octets)
            try Mismatch.check("packet \(index), answers", true, answers.count <= 1)
        }
        // A command with a reserved code: Command Reject, "command not understood" (Vol 3, Part A, 4.1).
        let probe = link.receive([0x02, 0x40, 0x20, 0x08, 0x00, 0x04, 0x00, 0x05, 0x00, 0xFE, 0x55, 0x00, 0x00])
        try Mismatch.check("command afterwards", [[0x01, 0x55, 0x02, 0x00, 0x00, 0x00]], probe) { "\($0)" }
    }
}
