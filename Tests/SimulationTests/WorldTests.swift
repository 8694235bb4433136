import EventLoop
import Foundation
import Simulation
import Synchronization
import Testing

@Suite("World")
struct WorldTests {
    final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    @Test("Actions run in the order of time, then of their scheduling, and can be cancelled")
    func actions() {
        let world = World(seed: 1)
        let log = Log()
        world.schedule(after: .seconds(2)) { log.add("c") }
        world.schedule(after: .seconds(1)) { log.add("a") }
        world.schedule(after: .seconds(1)) { log.add("b") }
        let cancelled = world.schedule(after: .seconds(1)) { log.add("never") }
        cancelled.cancel()
        world.run(for: .milliseconds(1500))
        #expect(log.all == ["a", "b"])
        #expect(world.now == Instant(sinceStart: .milliseconds(1500)))
        world.run(for: .milliseconds(500))
        #expect(log.all == ["a", "b", "c"])
    }

    @Test("Time stands while there is work in the inbox or anybody settles")
    func settling() {
        let world = World(seed: 1)
        let log = Log()
        world.beforeTimeMoves { [unowned world] in
            log.add("settle")
            // Whoever is told something may answer at once, and is heard at the same instant.
            if log.all.count == 2 { world.enqueue { log.add("answer at \($0.sinceStart)") } }
            return true
        }
        world.enqueue { log.add("question at \($0.sinceStart)") }
        world.schedule(after: .seconds(1)) { log.add("later") }
        world.run(for: .seconds(5))
        #expect(
            log.all == [
                "question at 0.0 seconds", "settle", "answer at 0.0 seconds", "settle", "later", "settle",
            ])
    }

    @Test("Who has gone is asked once more, and never again")
    func settlingEnds() {
        let world = World(seed: 1)
        let log = Log()
        for name in ["a", "b", "c"] {
            world.beforeTimeMoves {
                log.add(name)
                return name != "b"
            }
        }
        for seconds in 1...2 { world.schedule(after: .seconds(seconds)) {} }
        world.run(for: .seconds(5))
        // At the beginning, and after each of the two.
        #expect(log.all == ["a", "b", "c", "a", "c", "a", "c"])
    }

    @Test("A world on its own thread takes work from others, at either pace", arguments: [true, false])
    func thread(inRealTime: Bool) {
        let world = World(seed: 1)
        let thread = WorldThread(world, pace: inRealTime ? .realTime : .asFastAsPossible)
        let done = DispatchSemaphore(value: 0)
        let log = Log()
        thread.start()
        let begin = DispatchTime.now().uptimeNanoseconds
        world.enqueue { [unowned world] _ in
            world.schedule(after: .milliseconds(inRealTime ? 20 : 3_600_000)) {
                log.add("at \(world.now.sinceStart >= .milliseconds(20))")
                done.signal()
            }
        }
        done.wait()
        thread.stop()
        let elapsed = DispatchTime.now().uptimeNanoseconds - begin
        #expect(log.all == ["at true"])
        if inRealTime { #expect(elapsed >= 20_000_000) }
    }
}
