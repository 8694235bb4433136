import BluetoothCrypto
import ProtocolTestKit
import Testing

@testable import LinkLayer

/// The sample conversation of Core 6.0, Vol 6, Part C, 1.2, octet by octet, and departures from it.
@Suite("Link encryption")
struct EncryptionTests {
    // As the section prints them, most significant octet first.
    static let longTermKey = SecretKey(0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF)
    static let centralHalf = SessionHalf(diversifier: 0xACBD_CEDF_E0F1_0213, vector: 0xBADC_AB24)
    static let peripheralHalf = SessionHalf(diversifier: 0x0213_2435_4657_6879, vector: 0xDEAF_BABE)
    static let order = EncryptionOrder(
        randomNumber: 0xABCD_EF12_3456_7890, encryptedDiversifier: 0x2474, longTermKey: longTermKey, half: centralHalf)

    // As they travel.
    static let request = hex("03 90 78 56 34 12 EF CD AB 74 24 13 02 F1 E0 DF CE BD AC 24 AB DC BA")
    static let response = hex("04 79 68 57 46 35 24 13 02 BE BA AF DE")
    static let centralConfirms = hex("9F CD A7 F4 48")
    static let peripheralConfirms = hex("A3 4C 13 A4 15")
    static let fromCentral = hex("17 00 63 64 65 66 67 68 69 6A 6B 6C 6D 6E 6F 70 71 31 32 33 34 35 36 37 38 39 30")
    static let fromCentralSealed = hex(
        "7A 70 D6 64 15 22 6D F2 6B 17 83 9A 06 04 05 59 6B D6 56 4F 79 6B 5B 9C E6 FF 32 F7 5A 6D 33")
    static let fromPeripheral = hex("17 00 37 36 35 34 33 32 31 30 41 42 43 44 45 46 47 48 49 4A 4B 4C 4D 4E 4F 50 51")
    static let fromPeripheralSealed = hex(
        "F3 88 81 E7 BD 94 C9 C3 69 B9 A6 68 46 DD 47 86 AA 8C 39 CE 54 0D 0D AE 3A DC DF 89 B9 60 88")

    /// A connection that is encrypted with the sample data.
    static func encrypted(_ role: ConnectionRole) -> PeerBench {
        var bench = PeerBench(role: role)
        switch role {
        case .central:
            bench.run { $0.start(.encrypt(order), at: $1, reports: &$2) }
            #expect(bench.exchange() == request)
            #expect(bench.exchange(.control, response) == [])
            #expect(bench.exchange(.control, hex("05")) == [])
            #expect(bench.exchange() == centralConfirms)
            #expect(bench.exchange(.control, peripheralConfirms) == [])
        case .peripheral:
            #expect(bench.exchange(.control, request) == [])
            guard case .encryptionRequested(0xABCD_EF12_3456_7890, 0x2474) = bench.report() else {
                Issue.record("not reported")
                return bench
            }
            bench.run { connection, now, _ in connection.contribute(peripheralHalf, at: now) }
            #expect(bench.exchange() == response)
            bench.run { connection, now, _ in connection.answerKeyRequest(longTermKey, at: now) }
            #expect(bench.exchange() == hex("05"))
            #expect(bench.exchange(.control, centralConfirms) == peripheralConfirms)
        }
        guard case .encryptionChanged(.success, isRefresh: false) = bench.report() else {
            Issue.record("not encrypted")
            return bench
        }
        #expect(bench.connection.isEncrypted)
        return bench
    }

    @Test("LL/SEC/PER/BV-01: the sample data, as peripheral")
    func samplePeripheral() {
        var bench = Self.encrypted(.peripheral)
        #expect(bench.exchange(.start, Self.fromCentralSealed) == [])
        expectData(&bench, Self.fromCentral)
        bench.run { connection, now, _ in connection.send(Self.fromPeripheral[...], isContinuation: false, at: now) }
        #expect(bench.exchange() == Self.fromPeripheralSealed)
    }

    @Test("LL/SEC/CEN/BV-01: the sample data, as central")
    func sampleCentral() {
        var bench = Self.encrypted(.central)
        bench.run { connection, now, _ in connection.send(Self.fromCentral[...], isContinuation: false, at: now) }
        #expect(bench.exchange() == Self.fromCentralSealed)
        #expect(bench.exchange(.start, Self.fromPeripheralSealed) == [])
        expectData(&bench, Self.fromPeripheral)
    }

    @Test("5.1.3.1: what fails its integrity check ends the connection with 0x3D", arguments: [0, 15, 30])
    func damaged(octet: Int) {
        var bench = Self.encrypted(.peripheral)
        var sealed = Self.fromCentralSealed
        sealed[octet] ^= 0x04
        _ = bench.exchange(.start, sealed)
        expectClosed(&bench, .micFailure)
    }

    @Test("5.1.3.1: plain text on an encrypted link ends it with 0x3D", arguments: ["07", "02 13", "17 00 04 00 0B"])
    func plainText(pdu: String) {
        var bench = Self.encrypted(.central)
        _ = bench.exchange(.start, hex(pdu))
        expectClosed(&bench, .micFailure)
    }

    @Test(
        "5.1.3.1: whatever does not belong to the procedure ends the connection with 0x3D",
        arguments: ["12", "0C 09 5D 00 01 00", "06", "03"])
    func strangerAmongThem(pdu: String) {
        var bench = PeerBench(role: .peripheral)
        _ = bench.exchange(.control, Self.request)
        _ = bench.report()
        _ = bench.exchange(.control, hex(pdu))
        expectClosed(&bench, .micFailure)
    }

    @Test("5.1.3.1: data in the middle of the start ends the connection with 0x3D")
    func dataAmongThem() {
        var bench = PeerBench(role: .central)
        bench.run { $0.start(.encrypt(Self.order), at: $1, reports: &$2) }
        #expect(bench.exchange() == Self.request)
        #expect(bench.exchange(.control, Self.response) == [])
        _ = bench.exchange(.start, hex("03 00 04 00 0A 03 00"))
        expectClosed(&bench, .micFailure)
    }

    @Test("LL/SEC/PER/BI-01: without a key the request is rejected, and data goes on in the clear")
    func keyMissing() {
        var bench = PeerBench(role: .peripheral)
        _ = bench.exchange(.control, Self.request)
        bench.run { connection, now, _ in
            connection.contribute(Self.peripheralHalf, at: now)
            connection.send([7], isContinuation: false, at: now)
        }
        #expect(bench.exchange() == Self.response)
        #expect(bench.exchange() == [])
        bench.run { connection, now, _ in connection.answerKeyRequest(nil, at: now) }
        #expect(bench.exchange() == hex("0D 06"))
        #expect(bench.exchange() == [7])
    }

    @Test("LL_REJECT_EXT_IND for a peer that is known to understand it")
    func keyMissingExtended() {
        var bench = PeerBench(role: .peripheral)
        #expect(bench.exchange(.control, hex("08 04 00 00 00 00 00 00 00")) == hex("09 04 00 00 00 00 00 00 00"))
        _ = bench.exchange(.control, Self.request)
        bench.run { connection, now, _ in
            connection.contribute(Self.peripheralHalf, at: now)
            connection.answerKeyRequest(nil, at: now)
        }
        #expect(bench.exchange() == Self.response)
        #expect(bench.exchange() == hex("11 03 06"))
    }

    @Test(
        "LL/SEC/CEN/BI-01: a refusal is told to the host, and data goes on",
        arguments: [("0D 06", 0x06), ("11 03 06", 0x06), ("11 03 1A", 0x1A), ("07 03", 0x1A)] as [(String, UInt8)])
    func refused(pdu: String, code: UInt8) {
        var bench = PeerBench(role: .central)
        bench.run { $0.start(.encrypt(Self.order), at: $1, reports: &$2) }
        bench.run { connection, now, _ in connection.send([7], isContinuation: false, at: now) }
        #expect(bench.exchange() == Self.request)
        #expect(bench.exchange() == [])
        _ = bench.exchange(.control, hex(pdu))
        guard case .encryptionChanged(let error, isRefresh: false) = bench.report() else {
            Issue.record("not reported")
            return
        }
        #expect(error == LinkError(rawValue: code))
        #expect(bench.exchange() == [7])
    }

    @Test("A refusal of something else changes nothing")
    func refusalOfAnother() {
        var bench = PeerBench(role: .central)
        bench.run { $0.start(.encrypt(Self.order), at: $1, reports: &$2) }
        #expect(bench.exchange() == Self.request)
        _ = bench.exchange(.control, hex("07 14"))
        #expect(bench.reports.isEmpty)
        #expect(bench.connection.isChangingEncryption)
    }

    @Test("5.1.3.2: LL_PAUSE_ENC_REQ on a link in the clear is not known")
    func pauseInTheClear() {
        var bench = PeerBench(role: .peripheral)
        #expect(bench.exchange(.control, hex("0A")) == hex("07 0A"))
        #expect(bench.exchange(.control, hex("0B")) == hex("07 0B"))
    }

    private func expectData(_ bench: inout PeerBench, _ expected: [UInt8]) {
        while let report = bench.report() {
            if case .data(let payload, isStart: true) = report {
                #expect(Array(payload) == expected)
                return
            }
        }
        Issue.record("no data")
    }

    private func expectClosed(_ bench: inout PeerBench, _ expected: LinkError) {
        while let report = bench.report() {
            if case .closed(let reason) = report {
                #expect(reason == expected)
                return
            }
        }
        Issue.record("not closed")
    }
}
