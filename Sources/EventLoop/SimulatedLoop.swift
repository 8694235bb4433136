import Glibc

/// Runs every job of a simulation on one thread, and moves time only when nothing is left to run.
///
/// Two things follow. A run is a function of its inputs: the same test takes the same steps every time. And waiting
/// costs nothing: the loop steps from one deadline to the next, so half an hour of radio silence is one step.
///
/// It is the executor of actors (`unownedExecutor`), the preferred executor of tasks (`executorPreference:`) and
/// their clock. A job that arrives from another thread, or after the end, has leaked out of the simulation, and traps.
package final class SimulatedLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    // `@unchecked`: the state below is touched on `thread` alone, which `checkIsolated()` enforces.
    private let thread = pthread_self()
    private var isOpen = true
    private var jobs: [UnownedJob] = []
    private var timers = TimerQueue()

    /// The simulated time.
    package private(set) var now = Instant()

    private init() {}

    /// Runs a simulation from beginning to end on the calling thread.
    package static func simulate<Result>(_ body: (SimulatedLoop) throws -> Result) rethrows -> Result {
        let loop = SimulatedLoop()
        defer { loop.isOpen = false }
        return try body(loop)
    }

    /// Runs everything that is due up to and including `end`, in the order of time, then of arrival.
    package func run(until end: Instant) {
        runJobs()
        while let deadline = timers.nextDeadline, deadline <= end {
            now = deadline
            timers.removeFirst()()
            runJobs()
        }
        now = end
    }

    /// Calls `action` once the time has come.
    package func schedule(at deadline: Instant, _ action: @escaping () -> Void) {
        checkIsolated()
        timers.insert(action, at: max(deadline, now))
    }

    private func runJobs() {
        while !jobs.isEmpty {
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            for job in batch {
                unsafe job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            }
        }
    }
}

// MARK: - Executor

extension SimulatedLoop {
    package func enqueue(_ job: consuming ExecutorJob) {
        checkIsolated()
        jobs.append(UnownedJob(job))
    }

    package func checkIsolated() {
        precondition(pthread_equal(thread, pthread_self()) != 0, "A job reached the simulation from another thread.")
        precondition(isOpen, "A job reached the simulation after its end.")
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }
}

// MARK: - Clock

extension SimulatedLoop: Clock {
    package var minimumResolution: Duration { .nanoseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let alarm = Alarm()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                alarm.set(continuation)
                schedule(at: deadline) { alarm.ring() }
            }
        } onCancel: {
            alarm.ring()
        }
        try Task.checkCancellation()
    }
}

/// Wakes one sleeper once, whichever comes first: its deadline or its cancellation.
private final class Alarm: @unchecked Sendable {
    // `@unchecked`: every task of a simulation runs on the loop's thread, and so does whoever cancels it.
    private var continuation: CheckedContinuation<Void, Never>?
    private var hasRung = false

    func set(_ continuation: CheckedContinuation<Void, Never>) {
        if hasRung { continuation.resume() } else { self.continuation = continuation }
    }

    func ring() {
        hasRung = true
        continuation?.resume()
        continuation = nil
    }
}
