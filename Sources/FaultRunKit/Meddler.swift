import EventLoop
import Simulation

/// Damages ACL data packets as a peer with a broken host would send them: octets changed, the end cut off, junk
/// added, the packet doubled or lost, or PDUs that nobody asked for in between. The HCI framing stays right, for that
/// is between a host and its own controller.
enum Meddler {
    /// Of an H4 packet: the indicator, the handle, the length.
    private static let headerLength = 5

    static func meddle(_ packet: [UInt8], _ chance: inout SeededGenerator) -> [[UInt8]] {
        guard packet.first == 0x02, packet.count > headerLength, chance.isChosen(outOf100: 25) else { return [packet] }
        var data = Array(packet[headerLength...])
        switch chance.next(below: 8) {
        case 0: data[chance.next(below: data.count)] = UInt8(truncatingIfNeeded: chance.next())
        case 1: data[chance.next(below: data.count)] ^= 1 << chance.next(below: 8)
        case 2: data.removeLast(chance.next(below: data.count))
        // The L2CAP length grows with it half of the time, so that junk reaches the layers above.
        case 3 where data.count < 20:
            data += (0..<1 + chance.next(below: 6)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
            if data.count > 4, chance.isChosen(outOf100: 50) { data[0] = UInt8(data.count - 4) }
        case 4: return [packet, packet]
        case 5, 6: return [packet, uncalledFor(on: packet, &chance)]
        default: data = (0..<data.count).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
        }
        let length = [UInt8(truncatingIfNeeded: data.count), UInt8(truncatingIfNeeded: data.count >> 8)]
        return [Array(packet[..<3]) + length + data]
    }

    /// A whole PDU at a moment that is not its own, on the link of `packet`.
    private static func uncalledFor(on packet: [UInt8], _ chance: inout SeededGenerator) -> [UInt8] {
        func octet() -> UInt8 { UInt8(truncatingIfNeeded: chance.next()) }
        func low(_ bound: Int) -> UInt8 { UInt8(chance.next(below: bound)) }
        func junk(_ count: Int) -> [UInt8] { (0..<count).map { _ in octet() } }
        let (channel, payload): (UInt16, [UInt8]) =
            switch chance.next(below: 18) {
            // ATT: an answer to nothing, a value, the end of a queue, questions side by side (Vol 3, Part F, 3.4).
            case 0: (0x04, [0x01, low(32), low(32), 0, low(20)])
            case 1: (0x04, [chance.isChosen(outOf100: 50) ? 0x1B : 0x1D, low(40), 0] + junk(4))
            case 2: (0x04, [0x18, low(2)])
            case 3: (0x04, [0x13])
            case 4: (0x04, [0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28])
            case 5: (0x04, [0x16, low(40), 0, low(3), 0] + junk(8))
            case 6: (0x04, [0xD2, low(40), 0] + junk(16))
            // The Security Manager: failures, requests and keys (Vol 3, Part H, 3.5 and 3.6).
            case 7: (0x06, [0x05, low(16)])
            case 8: (0x06, [0x0B, low(64)])
            case 9:
                (
                    0x06,
                    [
                        chance.isChosen(outOf100: 50) ? 0x01 : 0x02, low(5), low(2), low(64), 7 + low(12), low(16),
                        low(16),
                    ]
                )
            case 10: (0x06, [[0x03, 0x04, 0x06, 0x08, 0x0A, 0x0D][chance.next(below: 6)]] + junk(16))
            case 11: (0x06, [0x0C] + junk(64))
            // Signalling: credits, ends, openings of both kinds, changes (Vol 3, Part A, 4).
            case 12: (0x05, [0x16, 1 + low(255), 4, 0, 0x40 + low(4), 0, octet(), octet()])
            case 13: (0x05, [0x06, 1 + low(255), 4, 0, 0x40 + low(4), 0, 0x40 + low(4), 0])
            case 14:
                (
                    0x05,
                    [0x14, 1 + low(255), 10, 0, 0x80 + low(4), 0, 0x40 + low(4), 0, 64, 0, 23 + low(60), 0, low(9), 0]
                )
            case 15:
                (
                    0x05,
                    [0x17, 1 + low(255), 12, 0, 0x80 + low(4), 0, 64, 0, 64, 0, low(9), 0, 0x40 + low(9), 0, 0x50, 0]
                )
            case 16: (0x05, [0x19, 1 + low(255), 6, 0, 64 + low(90), 0, 64, 0, 0x40 + low(4), 0])
            default: (0x40 + UInt16(low(4)), [low(9), 0] + junk(8))
            }
        let pdu = [UInt8(payload.count), 0, UInt8(truncatingIfNeeded: channel), UInt8(channel >> 8)] + payload
        // The first fragment of a host's PDU (Vol 4, Part E, 5.4.2).
        return [0x02, packet[1], packet[2] & 0x0F, UInt8(pdu.count), 0] + pdu
    }
}
