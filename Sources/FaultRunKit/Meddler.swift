import EventLoop
import Simulation

/// Damages ACL data packets as a peer with a broken host would send them: octets changed, the end cut off, junk
/// added, the packet doubled or lost. The HCI framing stays right, for that is between a host and its own controller.
enum Meddler {
    /// Of an H4 packet: the indicator, the handle, the length.
    private static let headerLength = 5

    static func meddle(_ packet: [UInt8], _ chance: inout SeededGenerator) -> [[UInt8]] {
        guard packet.first == 0x02, packet.count > headerLength, chance.isChosen(outOf100: 25) else { return [packet] }
        var data = Array(packet[headerLength...])
        switch chance.next(below: 6) {
        case 0: data[chance.next(below: data.count)] = UInt8(truncatingIfNeeded: chance.next())
        case 1: data[chance.next(below: data.count)] ^= 1 << chance.next(below: 8)
        case 2: data.removeLast(chance.next(below: data.count))
        // The L2CAP length grows with it half of the time, so that junk reaches the layers above.
        case 3 where data.count < 20:
            data += (0..<1 + chance.next(below: 6)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
            if data.count > 4, chance.isChosen(outOf100: 50) { data[0] = UInt8(data.count - 4) }
        case 4: return [packet, packet]
        default: data = (0..<data.count).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
        }
        let length = [UInt8(truncatingIfNeeded: data.count), UInt8(truncatingIfNeeded: data.count >> 8)]
        return [Array(packet[..<3]) + length + data]
    }
}
