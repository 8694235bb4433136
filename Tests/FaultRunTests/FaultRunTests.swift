import FaultRunKit
import Testing

@Suite("Fault runs")
struct FaultRunTests {
    @Test("What a host promises holds in worlds where everything fails", arguments: 0..<20)
    func holds(seed: Int) {
        let outcome = FaultRun(seed: UInt64(seed)).run()
        #expect(outcome.violations == [])
        // A world in which nothing happens would prove nothing.
        #expect(outcome.requests > 20 && outcome.events > 20)
    }

    @Test("Worlds are not idle: links are encrypted, bonds made, channels used, values written and notified")
    func isBusy() {
        let reached = (100..<140).reduce(FaultRun.Reached()) { $0 + FaultRun(seed: UInt64($1)).run().reached }
        #expect(reached.encryptions > 5 && reached.bonds > 3 && reached.channels > 5 && reached.streamed > 1000)
        #expect(reached.writes > 2 && reached.values > 0 && reached.periodicReports > 10)
        #expect(reached.reliableWrites > 0 && reached.enlargements > 0 && reached.bearers > 2)
    }

    @Test("A seed repeats to the event")
    func repeats() {
        #expect(FaultRun(seed: 5).run() == FaultRun(seed: 5).run())
    }
}
