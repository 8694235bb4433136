import EventLoop
import LinkLayer

/// One number for all that a world does: every packet of the air and of every HCI line, each with its time, and who
/// heard it how well. Two runs that differ in an octet or a nanosecond differ in it.
///
/// The function is FNV-1a of 64 bits (Fowler, Noll, Vo; RFC 9923).
package final class WorldDigest {
    package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325
    /// How many packets are in it.
    package private(set) var packets = 0

    package init(of world: World) {
        world.addAirTap { [weak self] packet in self?.add(packet) }
        world.addHCITap { [weak self] now, device, direction, packet in
            guard let self else { return }
            add(now)
            add(UInt64(device.number) << 1 | (direction == .hostToController ? 1 : 0))
            add(packet)
        }
    }

    /// Sixteen hexadecimal digits.
    package var text: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private func add(_ packet: AirPacket) {
        add(packet.start)
        add(UInt64(packet.sender) << 16 | UInt64(packet.channel) << 8 | UInt64(packet.mode.rawValue))
        add(UInt64(packet.accessAddress))
        add(packet.octets)
        for reception in packet.receptions {
            add(UInt64(reception.device) << 9 | UInt64(UInt8(bitPattern: reception.rssi)) << 1)
            add(reception.isIntact ? 1 : 0)
        }
    }

    private func add(_ instant: Instant) {
        let (seconds, attoseconds) = instant.sinceStart.components
        add(UInt64(bitPattern: seconds))
        add(UInt64(bitPattern: attoseconds))
    }

    private func add(_ octets: [UInt8]) {
        packets += 1
        add(UInt64(octets.count))
        for octet in octets { mix(octet) }
    }

    private func add(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { mix(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }

    private func mix(_ octet: UInt8) { value = (value ^ UInt64(octet)) &* 0x100_0000_01B3 }
}
