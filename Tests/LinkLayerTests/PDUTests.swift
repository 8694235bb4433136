import BluetoothTypes
import ByteCodec
import ProtocolTestKit
import Testing

@testable import LinkLayer

@Suite("Link layer PDUs")
struct PDUTests {
    /// The fields in the order and width of Core 6.0, Vol 6, Part B, 2.3.3.1.
    @Test("CONNECT_IND is 34 octets, laid out as figure 2.14 says")
    func connectIndication() throws {
        let octets = hex(
            "01 02 03 04 05 06 11 12 13 14 15 16 D6 BE 71 50 56 34 12 02 05 00 18 00 01 00 48 00 FF FF FF FF 1F A9")
        let offer = try ConnectIndication(octets: octets)
        #expect(octets.count == 34)
        #expect(offer.initiator == DeviceAddress(0x0605_0403_0201))
        #expect(offer.advertiser == DeviceAddress(0x1615_1413_1211))
        #expect(offer.accessAddress == 0x5071_BED6)
        #expect(offer.crcInit == 0x12_3456)
        #expect(offer.windowSize == 2)
        #expect(offer.windowOffset == 5)
        #expect(offer.timing == ConnectionTiming(interval: 24, latency: 1, timeout: 72))
        #expect(offer.channels == .all)
        #expect(offer.hopIncrement == 9)
        #expect(offer.sleepClockAccuracy == 5)
        #expect(offer.octets == octets)
    }

    @Test("Headers put their bits where Vol 6, Part B, 2.3 and 2.4 say")
    func headers() {
        let advertising = AdvertisingHeader(
            .connect, selectsAlgorithm2: true, sender: .random, target: .public, payloadCount: 34)
        #expect(advertising.rawValue == 0x2265)
        #expect(advertising.kind == .connect && advertising.senderKind == .random && advertising.targetKind == .public)
        let data = DataHeader(.start, nextExpected: true, sequence: false, hasMoreData: true, payloadCount: 27)
        #expect(data.rawValue == 0x1B16)
        #expect(data.kind == .start && data.nextExpected && !data.sequence && data.hasMoreData)
    }

    /// Core 6.0, Vol 6, Part B, 2.1 and the table of `reference/limits.md`.
    @Test(
        "Air times; the longest ones are those of Vol 6, Part B, 4.5.10",
        arguments: [
            (RadioMode.le1M, 80, 296, 2120), (.le2M, 44, 152, 1064), (.codedS2, 462, 894, 4542),
            (.codedS8, 720, 2448, 17040),
        ])
    func airTime(mode: RadioMode, empty: Int, data: Int, longest: Int) {
        #expect(mode.duration(payloadCount: 0) == .microseconds(empty))
        #expect(mode.duration(payloadCount: 27) == .microseconds(data))
        #expect(mode.duration(payloadCount: 255) == .microseconds(longest))
        #expect(mode.octets(in: UInt16(longest)) == 251)
        #expect(mode.octets(in: UInt16(longest) - 1) == 250)
    }

    @Test(
        "Timing is checked against Vol 6, Part B, 4.5.1 and 4.5.2",
        arguments: [
            (ConnectionTiming(interval: 6, latency: 0, timeout: 10), true),
            (ConnectionTiming(interval: 5, latency: 0, timeout: 10), false),
            (ConnectionTiming(interval: 3200, latency: 0, timeout: 801), true),
            (ConnectionTiming(interval: 3200, latency: 0, timeout: 800), false),
            (ConnectionTiming(interval: 6, latency: 499, timeout: 3200), true),
            (ConnectionTiming(interval: 6, latency: 500, timeout: 3200), false),
            (ConnectionTiming(interval: 6, latency: 0, timeout: 3201), false),
        ])
    func timing(timing: ConnectionTiming, isValid: Bool) {
        #expect(timing.isValid == isValid)
    }

    /// Laid out by hand from Core 6.0, Vol 6, Part B, 2.3.4: length and mode, flags, ADI, AuxPtr.
    @Test("ADV_EXT_IND, octet by octet")
    func extendedAnnouncement() throws {
        var payload = ExtendedPayload()
        payload.info = AdvertisingDataInfo(dataIdentifier: 0x234, setIdentifier: 5)
        payload.auxiliary = AuxiliaryPointer(channel: 20, offset: .microseconds(1010), phy: .le2M)
        #expect(payload.octets == hex("06 18 34 52 14 21 20"))
        let read = try ExtendedPayload(octets: payload.octets)
        #expect(read == payload)
        #expect(read.auxiliary?.offset == .microseconds(990) && read.auxiliary?.unit == .microseconds(30))
        #expect(AuxiliaryPointer(channel: 0, offset: .milliseconds(500), phy: .le1M).unit == .microseconds(300))
    }

    @Test("AUX_ADV_IND with all that is known, and fields that are not")
    func extendedData() throws {
        let octets = hex("58 4B 01 02 03 04 05 06 11 12 13 14 15 16 34 52 F8 AA AA AA AA AA AA AA AA 02 01 06")
        let payload = try ExtendedPayload(octets: octets)
        #expect(payload.mode == .connectable)
        #expect(payload.advertiser == DeviceAddress(0x0605_0403_0201))
        #expect(payload.target == DeviceAddress(0x1615_1413_1211))
        #expect(payload.info?.setIdentifier == 5 && payload.txPower == -8)
        #expect(payload.data == [2, 1, 6])
        #expect(throws: PacketError(.truncated, field: "Extended Header")) {
            try ExtendedPayload(octets: hex("02 01 00"))
        }
        #expect(throws: PacketError(.valueNotAllowed(3), field: "AdvMode")) { try ExtendedPayload(octets: hex("C0")) }
        #expect(throws: (any Error).self) { try ExtendedPayload(octets: hex("06 10 34")) }
    }

    @Test("Damaged PDUs name the field")
    func damaged() {
        #expect(throws: PacketError(.truncated, field: "AdvA")) { try Advertisement(octets: [1, 2, 3]) }
        #expect(throws: PacketError(.trailing(octets: 1), field: "AdvData")) {
            try Advertisement(octets: Array(repeating: 0, count: 38))
        }
        #expect(throws: PacketError(.truncated, field: "Hop, SCA")) {
            try ConnectIndication(octets: Array(repeating: 0, count: 33))
        }
    }

    /// Core 6.0, Vol 6, Part B, 2.1.2.
    @Test("Access addresses avoid long runs, few changes and the advertising channels' own")
    func accessAddresses() {
        #expect(!isValidAccessAddress(0x8E89_BED6))
        #expect(!isValidAccessAddress(0x8E89_BED7))
        #expect(!isValidAccessAddress(0xFFFF_0000))
        #expect(!isValidAccessAddress(0x5555_5555))
        #expect(isValidAccessAddress(0x5065_5DAB))
    }
}
