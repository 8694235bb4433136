/// The clock by which deadlines and pauses of the toolkit go: the machine's, or a simulated world's.
public struct Timekeeper: Sendable {
    private let read: @Sendable () -> Duration
    private let pause: @Sendable (Duration) async throws -> Void

    public init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let origin = clock.now
        read = { origin.duration(to: clock.now) }
        pause = { try await clock.sleep(for: $0) }
    }

    /// The machine's clock, which goes on while it sleeps.
    public static var continuous: Timekeeper { Timekeeper(ContinuousClock()) }

    /// Since this timekeeper was made.
    public var now: Duration { read() }

    /// Returns when `duration` has passed; throws `CancellationError` as soon as the task is cancelled.
    public func sleep(for duration: Duration) async throws { try await pause(duration) }
}

/// How much of a call's time is left when it takes several steps.
struct Deadline {
    private let time: Timekeeper
    private let end: Duration?

    init(_ limit: Duration?, by time: Timekeeper) {
        self.time = time
        end = limit.map { time.now + $0 }
    }

    /// `nil` is for ever; zero means that it is over.
    var left: Duration? { end.map { max(.zero, $0 - time.now) } }
}
