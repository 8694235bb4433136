import EventLoop
import ProtocolTestKit
import Testing

@testable import LinkLayer

/// Control procedures octet by octet; the PDUs are laid out by Core 6.0, Vol 6, Part B, 2.4.2.
@Suite("LL control procedures")
struct ControlTests {
    @Test("2.4.2.8: what is not known, is too long or comes from the wrong side gets LL_UNKNOWN_RSP")
    func unknown() {
        var bench = PeerBench(role: .peripheral)
        #expect(bench.exchange(.control, hex("7F 01")) == hex("07 7F"))
        #expect(bench.exchange(.control, hex("08 01")) == hex("07 08"))
        #expect(bench.exchange(.control, hex("0E 00 00 00 00 00 00 00 00")) == hex("07 0E"))
        #expect(bench.exchange(.control, hex("03") + Array(repeating: 0, count: 21)) == hex("07 03"))
        #expect(bench.reports.isEmpty)
    }

    @Test("5.1.4: LL_FEATURE_REQ is answered with what both can do")
    func features() {
        var bench = PeerBench(role: .peripheral)
        #expect(
            bench.exchange(.control, hex("08 0A 00 00 00 00 00 00 00")) == hex("09 0A 00 00 00 00 00 00 00"))
    }

    @Test("5.1.5: LL_VERSION_IND goes out once, whoever began")
    func version() {
        var bench = PeerBench(role: .peripheral)
        #expect(bench.exchange(.control, hex("0C 09 5D 00 01 00")) == hex("0C 0E FF FF 01 00"))
        #expect(bench.exchange(.control, hex("0C 09 5D 00 01 00")) == [])
        bench.run { $0.start(.versionExchange, at: $1, reports: &$2) }
        guard case .remoteVersion(.success, let version) = bench.report() else {
            Issue.record("not reported")
            return
        }
        #expect(version == VersionIndication(version: 9, company: 0x005D, subversion: 1))
        #expect(bench.exchange() == [])
    }

    @Test("5.1.8: LL_PING_REQ")
    func ping() {
        var bench = PeerBench(role: .central)
        _ = bench.exchange(.control, hex("12"))
        #expect(bench.exchange() == hex("13"))
    }

    @Test("5.1.9: LL_LENGTH_REQ is answered with the own lengths, and the effective ones are reported")
    func length() {
        var bench = PeerBench(role: .peripheral)
        #expect(
            bench.exchange(.control, hex("14 FB 00 48 08 FB 00 48 08")) == hex("15 FB 00 48 08 1B 00 48 01"))
        guard case .lengthChanged(let transmit, let receive) = bench.report() else {
            Issue.record("not reported")
            return
        }
        #expect(transmit == EffectiveLength(octets: 27, time: 328))
        #expect(receive == EffectiveLength(octets: 251, time: 2120))
    }

    @Test("5.1.6: LL_TERMINATE_IND is acknowledged, then the connection is over")
    func terminate() {
        var bench = PeerBench(role: .peripheral)
        #expect(bench.exchange(.control, hex("02 13")) == [])
        guard case .closed(let reason) = bench.report() else {
            Issue.record("not closed")
            return
        }
        #expect(reason == LinkError(rawValue: 0x13))
        #expect(bench.connection.nextStart == nil && bench.connection.deadline == nil)
    }

    @Test(
        "5.1.1, 5.1.2: an instant that has passed ends the connection",
        arguments: [
            "00 01 00 00 18 00 00 00 48 00 FF 7F", "01 FF FF FF FF 1F FF 7F",
        ])
    func instantPassed(pdu: String) {
        var bench = PeerBench(role: .peripheral)
        _ = bench.exchange(.control, hex(pdu))
        guard case .closed(let reason) = bench.report() else {
            Issue.record("not closed")
            return
        }
        #expect(reason == .instantPassed)
    }

    @Test("5.1.7: a parameter request that makes no sense is rejected without asking the host")
    func badParameters() {
        var bench = PeerBench(role: .central)
        let request = hex("0F 18 00 06 00 00 00 48 00 00 00 00") + Array(repeating: UInt8(0xFF), count: 12)
        _ = bench.exchange(.control, request)
        #expect(bench.exchange() == hex("11 0F 1E"))
        #expect(bench.reports.isEmpty)
    }

    @Test("4.5.9: a packet that comes again is acknowledged again and not delivered again")
    func duplicates() {
        var bench = PeerBench(role: .peripheral)
        for _ in 0..<3 {
            bench.hearAnything(
                header: DataHeader(
                    .start, nextExpected: false, sequence: false, hasMoreData: false, payloadCount: 1
                ).rawValue, payload: [7], isIntact: true)
        }
        let delivered = bench.reports.filter { if case .data = $0 { true } else { false } }
        #expect(delivered.count == 1)
    }

    @Test("Whatever a peer sends, the connection lives on or closes", arguments: 0..<40 as Range<UInt64>)
    func anything(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bench = PeerBench(role: seed % 2 == 0 ? .central : .peripheral)
        var closings = 0
        for _ in 0..<500 {
            var payload = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if !payload.isEmpty, Bool.random(using: &generator) {
                payload[0] = UInt8.random(in: 0...0x16, using: &generator)
            }
            bench.hearAnything(
                header: UInt16.random(in: 0...0x1F, using: &generator) | UInt16(payload.count) << 8, payload: payload,
                isIntact: Int.random(in: 0..<8, using: &generator) > 0)
            let now = bench.now
            if let deadline = bench.connection.deadline, deadline <= now {
                bench.run { $0.wake(at: $1, reports: &$2) }
            }
            while let report = bench.report() {
                if case .closed = report { closings += 1 }
                if case .parametersRequested(let range) = report {
                    bench.run { connection, now, _ in connection.answerParameterRequest(range, at: now) }
                }
            }
        }
        #expect(closings <= 1)
        #expect((closings == 1) == (bench.connection.nextStart == nil))
    }
}
