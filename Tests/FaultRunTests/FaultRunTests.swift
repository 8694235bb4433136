import FaultRunKit
import Testing

@Suite("Fault runs")
struct FaultRunTests {
    @Test("What a host promises holds in worlds where everything fails", arguments: 0..<30)
    func holds(seed: Int) {
        let outcome = FaultRun(seed: UInt64(seed)).run()
        #expect(outcome.violations == [])
        // A world in which nothing happens would prove nothing.
        #expect(outcome.requests > 20 && outcome.events > 20)
    }

    @Test("A seed repeats to the event")
    func repeats() {
        #expect(FaultRun(seed: 5).run() == FaultRun(seed: 5).run())
    }
}
