import ByteCodec
import EventLoop
import LinkLayer

/// All packets of the air as a pcap file: LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR (256), with RF channel, strength and PHY,
/// as Wireshark reads it.
///
/// Source: tcpdump.org/linktypes, LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR; pcap with times in nanoseconds,
/// draft-ietf-opsawg-pcap.
package struct AirCapture {
    /// 2026-01-01 00:00:00 UTC in seconds since 1970: when simulated worlds begin.
    package static let beginning: Int64 = 1_767_225_600

    /// What stands at the beginning of a file.
    package static var header: [UInt8] {
        littleEndian(UInt32(0xA1B2_3C4D)) + littleEndian(UInt16(2)) + littleEndian(UInt16(4))
            + littleEndian(UInt64(0)) + littleEndian(UInt32(65535)) + littleEndian(UInt32(256))
    }

    /// Of a link that began with a packet that was seen.
    private struct Link {
        var crcInit: UInt32
        var central: Int
    }

    private var links: [UInt32: Link] = [:]
    /// The CRC's beginnings of periodic advertising, by access address.
    private var trains: [UInt32: UInt32] = [:]

    package init() {}

    private static let advertisingAccessAddress: UInt32 = 0x8E89_BED6
    private static let advertisingCRCInit: UInt32 = 0x55_5555
    /// Links that can be told apart; more than a world has at a time.
    private static let mostLinks = 4096

    /// A packet, as the file has it.
    package mutating func record(_ packet: AirPacket) -> [UInt8] {
        let body = content(packet)
        let (seconds, attoseconds) = packet.start.sinceStart.components
        return littleEndian(UInt32(truncatingIfNeeded: Self.beginning + seconds))
            + littleEndian(UInt32(attoseconds / 1_000_000_000))
            + littleEndian(UInt32(body.count)) + littleEndian(UInt32(body.count)) + body
    }

    private mutating func content(_ packet: AirPacket) -> [UInt8] {
        let isAdvertising = packet.accessAddress == Self.advertisingAccessAddress
        if isAdvertising {
            noteLink(packet)
            noteTrain(packet)
        }
        let link = links[packet.accessAddress]
        let train = trains[packet.accessAddress]
        let crcInit = isAdvertising ? Self.advertisingCRCInit : link?.crcInit ?? train
        // As whoever heard it best.
        let strength = packet.receptions.map(\.rssi).max()

        // Dewhitened, reference access address valid.
        var flags: UInt16 = 0x0001 | 0x0010
        if strength != nil { flags |= 0x0002 }
        if !isAdvertising, let link { flags |= packet.sender == link.central ? 2 << 7 : 3 << 7 }
        if train != nil { flags |= 1 << 7 }
        if crcInit != nil { flags |= 0x0400 | 0x0800 }
        var codingIndicator: [UInt8] = []
        switch packet.mode {
        case .le1M: break
        case .le2M: flags |= 1 << 14
        case .codedS8, .codedS2:
            flags |= 2 << 14
            codingIndicator = [packet.mode == .codedS8 ? 0 : 1]
        }
        // As it was sent: who got it, and whether whole, differs from receiver to receiver.
        let crc = crcInit.map { crc24(packet.octets, initial: $0) } ?? 0
        return [Self.radioChannel(packet.channel), UInt8(bitPattern: strength ?? 0), 0, 0]
            + littleEndian(packet.accessAddress) + littleEndian(flags) + littleEndian(packet.accessAddress)
            + codingIndicator + packet.octets + littleEndian(crc).prefix(3)
    }

    /// CONNECT_IND and AUX_CONNECT_REQ: header of 2 octets, 34 octets, the access address behind the two addresses.
    private mutating func noteLink(_ packet: AirPacket) {
        guard packet.octets.count == 36, packet.octets[0] & 0x0F == AdvertisingHeader.Kind.connect.rawValue else {
            return
        }
        func number(_ range: Range<Int>) -> UInt32 {
            packet.octets[range].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        if links.count >= Self.mostLinks { links = [:] }
        links[number(14..<18)] = Link(crcInit: number(18..<21), central: packet.sender)
    }

    /// AUX_ADV_IND with SyncInfo.
    private mutating func noteTrain(_ packet: AirPacket) {
        // No other packet is so long and has the flag: Core 6.0, Vol 6, Part B, 2.3.4.
        guard packet.octets.count > 3, packet.octets[0] & 0x0F == AdvertisingHeader.Kind.extended.rawValue,
            packet.octets[2] & 0x3F > 0, packet.octets[3] & 1 << 5 != 0,
            let sync = (try? ExtendedPayload(octets: packet.octets[2...]))?.sync
        else { return }
        if trains.count >= Self.mostLinks { trains = [:] }
        trains[sync.accessAddress] = sync.crcInit
    }

    /// In steps of 2 MHz from 2402 MHz: Core 6.0, Vol 6, Part B, 1.4.1.
    private static func radioChannel(_ index: UInt8) -> UInt8 {
        switch index {
        case 37: 0
        case 38: 12
        case 39: 39
        case 0...10: index + 1
        default: index + 2
        }
    }
}

/// The CRC of a PDU, in the order of its transmission: x^24 + x^10 + x^9 + x^6 + x^4 + x^3 + x + 1, the least
/// significant bit of each octet first, position 23 of the register sent first (Core 6.0, Vol 6, Part B, 3.1.1).
package func crc24(_ octets: some Sequence<UInt8>, initial: UInt32) -> UInt32 {
    // Kept with position 23 as the lowest bit, so that the sum goes out as it stands.
    var register = reversed24(initial)
    for octet in octets {
        register ^= UInt32(octet)
        for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 1 ? 0xDA_6000 : 0) }
    }
    return register
}

private func reversed24(_ value: UInt32) -> UInt32 {
    var result: UInt32 = 0
    for bit in 0..<24 where value >> bit & 1 == 1 { result |= 1 << (23 - bit) }
    return result
}

func littleEndian<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
    stride(from: 0, to: Value.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: value >> $0) }
}
