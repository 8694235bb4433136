import EventLoop
import HostInterface
import Synchronization

/// Carries events to a client's queue. Those that come before the queue gets to them travel together, in order: a hop
/// from thread to thread costs more than most events do.
///
/// Where it can, the loop's own thread goes to the queue with them, and there is no hop at all. A client whose
/// callbacks take long gets its events by a hop for a while, so that the loop does not change threads each time.
final class EventLine: LoopErrand {
    private struct State {
        var waiting: [HostEvent] = []
        /// Those of which some have been handed over, up to `next`; they are with whoever does that.
        var leaving: [HostEvent] = []
        var next = 0
        /// Whether somebody is on the way to the queue, or there, and will take what waits.
        var isUnderWay = false
        /// So many times from now on by a hop.
        var hops = 0
        /// So many times by a hop when the queue is slow again.
        var penalty = 1
    }

    private let executor: any CallbackExecutor
    /// On which ``pass(_:)`` is called.
    private unowned let loop: any AdapterLoop
    private let deliver: @Sendable (HostEvent) -> Void
    private let isOpenToThreads: Bool
    private let state = Mutex(State())
    private static let longestPenalty = 64
    /// So many events go together, so that neither the loop nor others on the queue wait for long.
    private static let mostAtOnce = 64

    init(
        _ executor: any CallbackExecutor, of loop: any AdapterLoop,
        _ deliver: @escaping @Sendable (HostEvent) -> Void
    ) {
        self.executor = executor
        self.loop = loop
        self.deliver = deliver
        isOpenToThreads = executor.isOpenToThreads
    }

    /// On the loop.
    func pass(_ event: HostEvent) {
        let (mustStart, hops) = state.withLock { state in
            state.waiting.append(event)
            if state.isUnderWay { return (false, false) }
            state.isUnderWay = true
            guard isOpenToThreads else { return (true, true) }
            defer { state.hops = max(0, state.hops - 1) }
            return (true, state.hops > 0)
        }
        guard mustStart else { return }
        if hops || !loop.send(on: self) { hop() }
    }

    private func hop() {
        executor.run { [self] in
            if handOver() { hop() }
        }
    }

    func run() -> Bool {
        var goesOn = true
        executor.runHere { goesOn = handOver() }
        return goesOn
    }

    /// Once is nothing: a program's first callback may be slow because it is the first. A queue that is slow again
    /// and again is left alone for longer and longer.
    func ended(inTime: Bool) {
        state.withLock { state in
            state.hops = inTime ? 0 : state.penalty
            state.penalty = inTime ? 1 : min(2 * state.penalty, Self.longestPenalty)
        }
    }

    /// Hands over some of what waits. On the queue.
    ///
    /// - Returns: whether there is more.
    private func handOver() -> Bool {
        var (events, next) = state.withLock { state in
            if state.next == state.leaving.count {
                swap(&state.leaving, &state.waiting)
                state.next = 0
            }
            defer { state.leaving = [] }
            return (state.leaving, state.next)
        }
        let end = min(next + Self.mostAtOnce, events.count)
        while next < end {
            deliver(events[next])
            next += 1
        }
        if next == events.count {
            events.removeAll(keepingCapacity: events.count <= Self.mostAtOnce)
            next = 0
        }
        return state.withLock { state in
            state.leaving = events
            state.next = next
            state.isUnderWay = next < events.count || !state.waiting.isEmpty
            return state.isUnderWay
        }
    }
}
