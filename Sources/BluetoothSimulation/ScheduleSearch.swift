import EventLoop
import Simulation

/// Looks for the order of events that breaks an app, and for the least that it takes.
///
///     let search = ScheduleSearch()
///     let finding = search.run { world in
///         world.addDevice(.smartLock, "Door", at: .init(x: 2))
///         let app = world.addDevice("Phone").run { LockApp() }
///         guard world.run(until: { app.isOpen }, within: .seconds(30)) else { throw NeverOpened() }
///     }
///     if let finding { print(finding) }
///
/// It runs a small world again and again, and holds up single packets between hosts and controllers, as a busy system
/// does; the order on each line stays, so that everything it does may happen in the field. First each packet alone,
/// then several at once by chance. What breaks the app is shrunk: no step of the script can be left out, and none be
/// shorter by half.
public struct ScheduleSearch {
    /// A packet that is held up.
    public struct Step: Hashable, Sendable, CustomStringConvertible {
        /// Which of the world's packets between hosts and controllers, counted from 0.
        public var number: Int
        /// How long it is held up.
        public var delay: Duration
        /// Where it is held up, in words.
        public var place: String

        public var description: String {
            "\(Int((delay / .milliseconds(1)).rounded(.up))) ms: packet \(number), \(place)"
        }
    }

    /// A script that breaks the app.
    public struct Finding: CustomStringConvertible {
        /// The least that it takes; empty if the app breaks by itself.
        public var script: [Step]
        /// What the scenario threw.
        public var error: any Error
        /// What happened, as a person would tell it.
        public var story: String
        /// How many runs it took to find it, and to shrink it.
        public var runs: Int

        public var description: String {
            let steps = script.map { "  hold up for \($0)\n" }.joined()
            return "\(error)\n" + (steps.isEmpty ? "  with nothing held up\n" : steps) + "\n" + story
        }
    }

    /// How many schedules to try.
    public var attempts: Int
    /// Of the worlds, and of the chance in the search.
    public var seed: UInt64
    /// How long a packet is held up; the search tries them all.
    public var delays: [Duration]
    /// How many packets are held up at once, at most.
    public var mostSteps: Int

    /// - Parameters:
    ///   - attempts: how many schedules to try.
    ///   - seed: of the worlds, and of the chance in the search.
    ///   - delays: how long a packet is held up; the search tries them all.
    ///   - mostSteps: how many packets are held up at once, at most.
    public init(
        attempts: Int = 500, seed: UInt64 = 0,
        delays: [Duration] = [.milliseconds(20), .milliseconds(200), .seconds(1)], mostSteps: Int = 3
    ) {
        precondition(attempts >= 0 && mostSteps >= 1 && !delays.isEmpty, "A search needs something to try.")
        precondition(delays.allSatisfy { $0 > .zero }, "What is not held up is no step.")
        self.attempts = attempts
        self.seed = seed
        self.delays = delays
        self.mostSteps = mostSteps
    }

    /// - Parameter scenario: makes the devices, lets time pass, and throws if the app is broken. It must do the same
    ///   each time.
    /// - Returns: `nil` if nothing broke it.
    public func run(_ scenario: (BluetoothWorld) throws -> Void) -> Finding? {
        var runs = 0
        func play(_ script: [Int: Duration]) -> Outcome {
            runs += 1
            return outcome(of: script, scenario)
        }
        let undisturbed = play([:])
        if undisturbed.error != nil { return finding([:], scenario, runs: runs) }
        var chance = SeededGenerator(seed: seed ^ 0x5EA6C4)
        for attempt in 0..<attempts {
            let script = schedule(attempt, of: max(1, undisturbed.deliveries), &chance)
            guard play(script).error != nil else { continue }
            return finding(shrink(script) { play($0).error != nil }, scenario, runs: runs)
        }
        return nil
    }

    private struct Outcome {
        var error: (any Error)?
        var deliveries: Int
        var held: [LineDelays.Delivery]
    }

    private func outcome(of script: [Int: Duration], _ scenario: (BluetoothWorld) throws -> Void) -> Outcome {
        let world = BluetoothWorld(seed: seed)
        let delays = LineDelays(script)
        world.world.lineDelays = delays
        do { try scenario(world) } catch {
            return Outcome(error: error, deliveries: delays.deliveries, held: delays.held)
        }
        return Outcome(error: nil, deliveries: delays.deliveries, held: delays.held)
    }

    /// The first half of the attempts holds up one packet each, spread over the run; the others several.
    private func schedule(_ attempt: Int, of count: Int, _ chance: inout SeededGenerator) -> [Int: Duration] {
        func pick(_ bound: Int) -> Int { Int(chance.next() % UInt64(bound)) }
        guard attempt >= attempts / 2 else {
            let number = attempts / 2 >= count ? attempt % count : attempt * count / max(1, attempts / 2)
            return [number: delays[pick(delays.count)]]
        }
        var script: [Int: Duration] = [:]
        for _ in 0...pick(mostSteps) { script[pick(count)] = delays[pick(delays.count)] }
        return script
    }

    private func shrink(_ script: [Int: Duration], _ breaks: ([Int: Duration]) -> Bool) -> [Int: Duration] {
        var script = script
        for number in script.keys.sorted() {
            var less = script
            less[number] = nil
            if breaks(less) { script = less }
        }
        for number in script.keys.sorted() {
            while let delay = script[number], delay > .milliseconds(1) {
                var less = script
                less[number] = delay / 2
                guard breaks(less) else { break }
                script = less
            }
        }
        return script
    }

    private func finding(
        _ script: [Int: Duration], _ scenario: (BluetoothWorld) throws -> Void, runs: Int
    ) -> Finding? {
        let recordings = WorldRecordings()
        let outcome: Outcome = WorldRecordings.$current.withValue(recordings) {
            self.outcome(of: script, scenario)
        }
        guard let error = outcome.error else { return nil }
        let steps = outcome.held.map { delivery in
            Step(number: delivery.number, delay: delivery.delay, place: Self.place(of: delivery))
        }
        return Finding(script: steps, error: error, story: recordings.stories.joined(separator: "\n"), runs: runs)
    }

    private static func place(of delivery: LineDelays.Delivery) -> String {
        let way = delivery.direction == .hostToController ? "'s host to its controller" : "'s controller to its host"
        let milliseconds = Int(delivery.time.sinceStart / .milliseconds(1))
        return "\(delivery.device)\(way) at \(milliseconds) ms, \(HCICapture.words(for: delivery.packet))"
    }
}
