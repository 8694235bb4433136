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
        /// Room for those that come while others are handed over.
        var room: [HostEvent] = []
        /// Whether somebody is on the way to the queue, or there, and will take what waits.
        var isUnderWay = false
        /// So many times from now on by a hop.
        var hops = 0
    }

    private let executor: any CallbackExecutor
    private let deliver: @Sendable (HostEvent) -> Void
    private let isOpenToThreads: Bool
    private let state = Mutex(State())
    private static let hopsOfTheSlow = 64

    init(_ executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void) {
        self.executor = executor
        self.deliver = deliver
        isOpenToThreads = executor.isOpenToThreads
    }

    /// - Parameter loop: the one on which this is called.
    func pass(_ event: HostEvent, on loop: any AdapterLoop) {
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

    func run() {
        var goesOn = true
        while goesOn { executor.runHere { goesOn = handOver() } }
    }

    func tookTooLong() { state.withLock { $0.hops = Self.hopsOfTheSlow } }

    /// Hands over what waits. On the queue.
    ///
    /// - Returns: whether more has come meanwhile.
    private func handOver() -> Bool {
        var events = state.withLock { state in
            let events = state.waiting
            state.waiting = state.room
            state.room = []
            return events
        }
        for event in events { deliver(event) }
        events.removeAll(keepingCapacity: events.count <= 64)
        return state.withLock { state in
            state.room = events
            state.isUnderWay = !state.waiting.isEmpty
            return state.isUnderWay
        }
    }
}
