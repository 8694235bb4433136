import EventLoop
import LinkLayer
import Simulation
import Testing

@Suite("Captures of the air")
struct CaptureTests {
    @Test("The CRC of a PDU followed by its CRC leaves nothing: Core 6.0, Vol 6, Part B, 3.1.1")
    func crc() {
        for initial: UInt32 in [0x55_5555, 0x12_3456, 0] {
            for count in [2, 10, 39, 257] {
                let pdu = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
                let crc = crc24(pdu, initial: initial)
                let octets = (0..<3).map { UInt8(truncatingIfNeeded: crc >> (8 * $0)) }
                #expect(crc24(pdu + octets, initial: initial) == 0)
                var changed = pdu
                changed[count / 2] ^= 0x10
                #expect(crc24(changed, initial: initial) != crc)
            }
        }
    }

    @Test("A record has channel, strength, PHY and direction where the format wants them")
    func record() throws {
        let file = try WorldFile(
            json: Array(
                """
                { "devices": [{ "name": "Door", "ready": "smartLock", "position": [1, 0] },
                              { "name": "Me", "central": [{ "connect": "Door" }] }] }
                """.utf8))
        let played = PlayedWorld(file)
        var capture = AirCapture()
        var packets: [(packet: AirPacket, record: [UInt8])] = []
        played.world.addAirTap { packets.append(($0, capture.record($0))) }
        played.world.run(for: .seconds(2))

        let first = try #require(packets.first { $0.packet.channel == 38 && !$0.packet.receptions.isEmpty })
        let (seconds, attoseconds) = first.packet.start.sinceStart.components
        // 2026-01-01 00:00:00 UTC is 0x6955B900.
        #expect(number(first.record, 0, 4) == 0x6955_B900 + Int(seconds))
        #expect(number(first.record, 4, 4) == Int(attoseconds / 1_000_000_000))
        #expect(
            number(first.record, 8, 4) == first.record.count - 16
                && number(first.record, 12, 4) == first.record.count - 16)
        // 2426 MHz is RF channel 12; then the strength.
        #expect(
            first.record[16] == 12 && Int8(bitPattern: first.record[17]) == first.packet.receptions.map(\.rssi).max())
        #expect(number(first.record, 20, 4) == 0x8E89_BED6 && number(first.record, 26, 4) == 0x8E89_BED6)
        // Dewhitened, strength and reference address valid, CRC checked and valid, LE 1M, no direction.
        #expect(number(first.record, 24, 2) == 0x0C13)
        #expect(Array(first.record[30..<(first.record.count - 3)]) == first.packet.octets)

        let link = packets.filter { $0.packet.accessAddress != 0x8E89_BED6 }
        #expect(link.count > 10)
        for (packet, record) in link {
            // Bits 7...9: 2 from the central, 3 from the peripheral. "Door" is number 1, "Me" number 2.
            #expect(number(record, 24, 2) >> 7 & 0b111 == (packet.sender == 2 ? 2 : 3))
        }
    }

    private func number(_ octets: [UInt8], _ place: Int, _ count: Int) -> Int {
        octets[place..<(place + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
