package import EventLoop
import Glibc
import Synchronization

/// Somebody who lives on a ``RealTimeLoop`` and is asked by it, in every turn, what there is to do.
package protocol LoopParticipant: AnyObject {
    /// When ``wake(at:)`` must be called; `nil` while nothing waits for time.
    var deadline: Instant? { get }
    func wake(at now: Instant)
    /// The turn ends: what it brought together can leave.
    func endTurn()
}

/// The loop of an adapter that is really there: one thread that sleeps until a descriptor is ready, a deadline has
/// come, or somebody has put work into its inbox.
///
/// One turn: ready descriptors, then the inbox, then who is due, then everybody's ``LoopParticipant/endTurn()``.
///
/// The inbox and its flag are guarded by a mutex, and any thread may use them. Everything else (descriptors,
/// participants, and all that lives on the loop, such as a host and its transport) belongs to the loop's thread;
/// ``checkIsolated()`` holds callers to it. Before ``start()``, they belong to the thread that made the loop.
package final class RealTimeLoop: AdapterLoop, @unchecked Sendable {
    // `@unchecked`: see above. The thread's own state is written by that thread alone.

    package struct Interest: OptionSet, Sendable {
        package let rawValue: Int16
        package init(rawValue: Int16) { self.rawValue = rawValue }
        package static let readable = Interest(rawValue: Int16(POLLIN))
        package static let writable = Interest(rawValue: Int16(POLLOUT))
    }

    private struct Watcher {
        var descriptor: Int32
        var interest: Interest
        var handler: (Interest) -> Void
    }

    private struct Inbox {
        var works: [@Sendable (Instant) -> Void] = []
        var isStopping = false
        /// Whether the thread waits, or is about to, and must be rung for.
        var isAsleep = false
    }

    private let inbox = Mutex(Inbox())
    /// A pipe: its end to read becomes readable when something is put into an empty inbox.
    private let bell: (read: Int32, write: Int32)
    private let origin: Instant
    private var thread: pthread_t?
    private var watchers: [Watcher] = []
    private var participants: [any LoopParticipant] = []

    package init() {
        var ends: [Int32] = [-1, -1]
        precondition(unsafe pipe(&ends) == 0, "The system has no descriptor left for an event loop.")
        for end in ends { makeNonblocking(end) }
        bell = (ends[0], ends[1])
        origin = monotonicTime()
    }

    deinit {
        close(bell.read)
        close(bell.write)
    }

    /// Now, since the loop was made. From any thread.
    package var now: Instant { Instant(sinceStart: origin.duration(to: monotonicTime())) }

    /// Work that comes after ``stop()`` is dropped.
    package func enqueue(_ work: @escaping @Sendable (Instant) -> Void) {
        let mustRing = inbox.withLock { inbox in
            guard !inbox.isStopping else { return false }
            inbox.works.append(work)
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if mustRing { ring() }
    }

    package func beforeTimeMoves(_ settle: @escaping @Sendable () -> Bool) {}

    package func checkIsolated() {
        guard let thread else { return }
        precondition(pthread_equal(thread, pthread_self()) != 0, "This belongs to the loop's own thread.")
    }
}

// MARK: - Participants and descriptors, on the loop

extension RealTimeLoop {
    /// Adds a participant, which the loop keeps alive.
    package func add(_ participant: any LoopParticipant) {
        checkIsolated()
        participants.append(participant)
    }

    package func remove(_ participant: any LoopParticipant) {
        checkIsolated()
        participants.removeAll { $0 === participant }
    }

    /// Calls `handler` whenever the descriptor is ready for what it is watched for. An error or a hang-up counts as
    /// ready for everything: the next read or write tells.
    package func watch(_ descriptor: Int32, for interest: Interest, _ handler: @escaping (Interest) -> Void) {
        checkIsolated()
        precondition(!watchers.contains { $0.descriptor == descriptor }, "Descriptor \(descriptor) is watched already.")
        watchers.append(Watcher(descriptor: descriptor, interest: interest, handler: handler))
    }

    package func change(_ descriptor: Int32, to interest: Interest) {
        checkIsolated()
        guard let index = watchers.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        watchers[index].interest = interest
    }

    package func unwatch(_ descriptor: Int32) {
        checkIsolated()
        watchers.removeAll { $0.descriptor == descriptor }
    }
}

// MARK: - The thread

extension RealTimeLoop {
    /// Starts the thread, which keeps the loop alive until it is stopped.
    package func start() {
        precondition(thread == nil, "A loop starts once.")
        var identifier = pthread_t()
        let this = unsafe Unmanaged.passRetained(self).toOpaque()
        // The new thread takes the lock before anything else, and so waits until `thread` is set.
        let error = inbox.withLock { _ in
            let error = unsafe pthread_create(&identifier, nil, loopMain, this)
            if error == 0 { thread = identifier }
            return error
        }
        precondition(error == 0, "The system has no thread left for an event loop.")
    }

    /// Ends the loop when it has done what lies in its inbox, and, from another thread, waits for that.
    package func stop() {
        inbox.withLock {
            $0.isStopping = true
            $0.isAsleep = false
        }
        ring()
        guard let thread, pthread_equal(thread, pthread_self()) == 0 else { return }
        _ = pthread_join(thread, nil)
    }

    /// Runs the loop on the calling thread, which must own it, until `isDone` says so at the end of a turn, or until it
    /// is stopped. For programs with nothing else to do, and for tests.
    package func run(until isDone: () -> Bool) {
        checkIsolated()
        while turn(), !isDone() { sleep() }
    }

    fileprivate func runToTheEnd() {
        inbox.withLock { _ in }
        run(until: { false })
        watchers = []
        participants = []
    }

    /// - Returns: whether the loop goes on.
    private func turn() -> Bool {
        let (works, isStopping) = inbox.withLock { inbox in
            defer { inbox.works = [] }
            return (inbox.works, inbox.isStopping)
        }
        for work in works { work(now) }
        let now = now
        for participant in participants {
            if let deadline = participant.deadline, deadline <= now { participant.wake(at: now) }
        }
        for participant in participants { participant.endTurn() }
        return !isStopping
    }

    private func sleep() {
        var entries = watchers.map { pollfd(fd: $0.descriptor, events: $0.interest.rawValue, revents: 0) }
        entries.append(pollfd(fd: bell.read, events: Int16(POLLIN), revents: 0))
        let limit = timeout()
        // What was put in since the turn is not to wait.
        let hasWork = inbox.withLock { inbox in
            inbox.isAsleep = inbox.works.isEmpty && !inbox.isStopping
            return !inbox.isAsleep
        }
        _ = unsafe poll(&entries, nfds_t(entries.count), hasWork ? 0 : limit)
        inbox.withLock { $0.isAsleep = false }
        if entries.removeLast().revents != 0 { hush() }
        let troubles = Int16(POLLERR | POLLHUP | POLLNVAL)
        for entry in entries where entry.revents != 0 {
            // A handler before this one may have ended the watch.
            guard let watcher = watchers.first(where: { $0.descriptor == entry.fd }) else { continue }
            watcher.handler(
                entry.revents & troubles != 0 ? [.readable, .writable] : Interest(rawValue: entry.revents))
        }
    }

    /// How long to sleep in milliseconds, rounded up so as not to wake before the time; -1 for as long as it takes.
    private func timeout() -> Int32 {
        guard let deadline = participants.compactMap(\.deadline).min() else { return -1 }
        let milliseconds = (now.duration(to: deadline) / .milliseconds(1)).rounded(.up)
        return Int32(min(max(milliseconds, 0), 1_000_000))
    }

    private func ring() {
        var note: UInt8 = 1
        _ = unsafe write(bell.write, &note, 1)
    }

    private func hush() {
        var notes = [UInt8](repeating: 0, count: 64)
        while unsafe read(bell.read, &notes, notes.count) == notes.count {}
    }
}

private func loopMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<RealTimeLoop>.fromOpaque(context).takeRetainedValue().runToTheEnd()
    return nil
}

private func monotonicTime() -> Instant {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(sinceStart: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
}
