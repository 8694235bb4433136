import HostInterface
import Synchronization

/// Carries events to a client's queue. Those that come before the queue gets to them travel together, in order: a hop
/// from thread to thread costs more than most events do.
final class EventLine: Sendable {
    private let executor: any CallbackExecutor
    private let deliver: @Sendable (HostEvent) -> Void
    private let waiting = Mutex<[HostEvent]>([])

    init(_ executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void) {
        self.executor = executor
        self.deliver = deliver
    }

    func pass(_ event: HostEvent) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(event)
            return waiting.count == 1
        }
        if isFirst { executor.run { [self] in handOver() } }
    }

    private func handOver() {
        let events = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for event in events { deliver(event) }
    }
}
