import EventLoop
import Simulation
import Synchronization

/// The clock of a ``BluetoothWorld``, for async code in it: sleeping takes no time but the world's.
public struct WorldClock: Clock {
    /// A point of simulated time.
    public struct Instant: InstantProtocol, Hashable, Sendable {
        /// Since the world began.
        public var sinceStart: Duration

        /// So long after the world began.
        public init(sinceStart: Duration = .zero) { self.sinceStart = sinceStart }

        /// The instant that lies `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(sinceStart: sinceStart + duration) }
        /// How long it is from here to `other`; negative if that is earlier.
        public func duration(to other: Instant) -> Duration { other.sinceStart - sinceStart }
        public static func < (left: Instant, right: Instant) -> Bool { left.sinceStart < right.sinceStart }
    }

    let world: World

    /// How far simulated time has come.
    public var now: Instant { Instant(sinceStart: world.timeForAnyThread.sinceStart) }
    /// Simulated time is counted in nanoseconds.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits, in simulated time, until `deadline`. Throws `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let alarm = Alarm()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard alarm.set(continuation) else { return }
                world.enqueue { [world] _ in
                    alarm.action(world.schedule(at: EventLoop.Instant(sinceStart: deadline.sinceStart), alarm.ring))
                }
            }
        } onCancel: {
            alarm.ring()
            world.enqueue { _ in alarm.cancel() }
        }
        try Task.checkCancellation()
    }
}

/// Wakes one sleeper once, whichever comes first: its time or its cancellation.
// `@unchecked`: the continuation has its lock; the action belongs to the world's thread.
private final class Alarm: @unchecked Sendable {
    private struct State {
        var continuation: CheckedContinuation<Void, Never>?
        var hasRung = false
    }

    private let state = Mutex(State())
    private var action: ScheduledAction?

    /// - Returns: whether there is something to wait for.
    func set(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        let isWaiting = state.withLock { state in
            if !state.hasRung { state.continuation = continuation }
            return !state.hasRung
        }
        if !isWaiting { continuation.resume() }
        return isWaiting
    }

    func ring() {
        let continuation = state.withLock { state in
            defer { state.continuation = nil }
            state.hasRung = true
            return state.continuation
        }
        continuation?.resume()
    }

    func action(_ action: ScheduledAction) { self.action = action }

    func cancel() { action?.cancel() }
}
