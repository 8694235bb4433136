import EventLoop
import ProtocolTestKit
import Testing

@testable import LinkLayer

/// Octet by octet; section numbers are those of Core 6.0, Vol 6, Part B.
@Suite("LL connection subrating")
struct SubratingTests {
    private static let features: UInt64 = 0b10_1110 | 1 << 37 | 1 << 38

    private static let request = SubrateRequest(factors: 2...5, maxLatency: 1, continuation: 1, timeout: 200)

    /// The events that a connection uses without an answer of its peer.
    private func used(_ bench: inout PeerBench, count: Int) -> [Int] {
        (0..<count).map { _ in
            let event = bench.connection.event
            bench.hearAnything(header: 0, payload: [], isIntact: false)
            return event
        }
    }

    @Test("5.1.19: the events of the specification's example")
    func example() {
        // An old base of 32 and factor of 5: 37, 42, 47; a new base of 38 and factor of 3: 44, 47, 50.
        let (old, new) = (Subrating(factor: 5, base: 32), Subrating(factor: 3, base: 38))
        #expect([32, 37, 41, 42].map { old.next(after: $0) } == [37, 42, 42, 47])
        #expect([42, 44, 47].map { new.next(after: $0) } == [44, 47, 50])
        #expect([20, 31, 32].map { old.next(after: $0) } == [22, 32, 37])
        var bench = PeerBench(role: .central, features: Self.features)
        bench.connection.event = 42
        bench.connection.subrating = old
        bench.connection.control.pendingSubrating = PendingSubrating(
            subrating: new, timing: bench.connection.timing, isOut: true)
        // As in figure 5.5.
        #expect(used(&bench, count: 9) == [42, 44, 47, 50, 52, 53, 56, 57, 59])
    }

    @Test("5.1.19: LL_SUBRATE_IND by the central, whose own events change with the acknowledgement")
    func central() {
        var bench = PeerBench(role: .central, features: Self.features)
        bench.run { $0.start(.subrate(Self.request), at: $1, reports: &$2) }
        // It asks for the features first: 5.1.4.
        #expect(bench.exchange(.control, hex("09") + octets(Self.features)) == hex("08") + octets(Self.features))
        let base = bench.connection.event - 1
        #expect(bench.exchange() == hex("27 05 00") + [UInt8(base), 0] + hex("01 00 01 00 C8 00"))
        // The bench's packet of the next event acknowledges it.
        _ = bench.exchange()
        guard case .subrated(.success) = bench.report() else {
            Issue.record("not reported")
            return
        }
        #expect(bench.connection.subrating == Subrating(factor: 5, base: base, continuation: 1))
        #expect((bench.connection.event - base) % 5 == 0)
        #expect(bench.connection.timing.latency == 1 && bench.connection.timing.timeout == 200)
    }

    @Test("5.1.20: LL_SUBRATE_REQ by the peripheral; a refusal ends it")
    func peripheral() {
        var bench = PeerBench(role: .peripheral, features: Self.features)
        bench.run { $0.start(.subrate(Self.request), at: $1, reports: &$2) }
        #expect(bench.exchange() == hex("26 02 00 05 00 01 00 01 00 C8 00"))
        _ = bench.exchange(.control, hex("11 26 20"))
        guard case .subrated(.unsupportedParameterValue) = bench.report() else {
            Issue.record("not reported")
            return
        }
        #expect(bench.connection.subrating == Subrating())
    }

    @Test("2.4.2: a central does not take LL_SUBRATE_IND, nor a peripheral LL_SUBRATE_REQ")
    func wrongSide() {
        var central = PeerBench(role: .central, features: Self.features)
        _ = central.exchange(.control, hex("27 05 00 00 00 00 00 00 00 C8 00"))
        #expect(central.exchange() == hex("07 27"))
        var peripheral = PeerBench(role: .peripheral, features: Self.features)
        #expect(peripheral.exchange(.control, hex("26 02 00 05 00 01 00 01 00 C8 00")) == hex("07 26"))
    }

    @Test("5.1.19: what cannot be ends the link, and is not followed", arguments: ["00 00", "F5 01"])
    func impossible(factor: String) {
        var bench = PeerBench(role: .peripheral, features: Self.features)
        _ = bench.exchange(.control, hex("27 \(factor) 00 00 00 00 00 00 C8 00"))
        guard case .closed(.invalidParameters) = bench.report() else {
            Issue.record("not closed")
            return
        }
    }

    @Test("5.1.19: an announcement from before the counter's wrap is read after it")
    func wrap() {
        var bench = PeerBench(role: .peripheral, features: Self.features)
        bench.connection.event = 0x1_0006
        bench.connection.lastHeardEvent = 0x1_0006
        // 65,532, as 16 bits, with a factor of 10: 65,542 is 6.
        _ = bench.exchange(.control, hex("27 0A 00 FC FF 00 00 00 00 C8 00"))
        #expect(bench.connection.subrating.base == 0xFFFC)
        #expect(bench.connection.event == 0x1_0006 + 10)
    }

    @Test("5.3: while the central changes the events by itself, a request gets a collision")
    func collision() {
        var bench = PeerBench(role: .central, features: Self.features)
        bench.connection.control.remoteFeatures = Self.features
        bench.connection.control.pendingSubrating = PendingSubrating(
            subrating: Subrating(), timing: bench.connection.timing)
        _ = bench.exchange(.control, hex("26 02 00 05 00 01 00 01 00 C8 00"))
        #expect(bench.exchange() == hex("11 26 23"))
    }

    @Test("5.2: a central that does not answer ends the link after 40 s")
    func timeout() {
        var bench = PeerBench(role: .peripheral, features: Self.features)
        bench.run { $0.start(.subrate(Self.request), at: $1, reports: &$2) }
        for _ in 0..<1400 where bench.connection.nextStart != nil {
            _ = bench.exchange()
            bench.run { $0.wake(at: $1, reports: &$2) }
        }
        guard case .closed(.responseTimeout) = bench.report() else {
            Issue.record("not closed")
            return
        }
    }

    private func octets(_ features: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: features >> UInt64(8 * $0)) }
    }
}
