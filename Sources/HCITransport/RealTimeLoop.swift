import Dispatch
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
/// One turn: ready descriptors, then the inbox, then who is due, then everybody's ``LoopParticipant/endTurn()``. Then
/// the thread leaves the loop for its errands, which are other people's code: a deputy takes the loop over if one of
/// them does not end soon. See Documentation/Decisions/0075-the-loops-thread-calls-the-app.md.
///
/// `state` is guarded by a mutex, and any thread may use it. Everything else (descriptors, participants, errands, and
/// all that lives on the loop, such as a host and its transport) belongs to the thread that `state` names;
/// ``checkIsolated()`` holds callers to it. Before ``start()``, they belong to the thread that made the loop.
package final class RealTimeLoop: AdapterLoop, @unchecked Sendable {
    // `@unchecked`: see above. The loop's own state is touched by the thread alone that has the loop.

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

    private struct State {
        var works: [@Sendable (Instant) -> Void] = []
        var isStopping = false
        /// Whether the thread waits, or is about to, and must be rung for.
        var isAsleep = false
        /// Whose the loop is; `nil` before it was started.
        var thread: pthread_t?
        /// All of the loop's threads: the one that has it, the deputy, and those that a deputy has relieved.
        var threads: [pthread_t] = []
        /// The errand for which the thread has left the loop, by its number.
        var errand: UInt64?
        var lastErrand: UInt64 = 0
        /// Whether the deputy will look after the thread.
        var isWatched = false
        var hasDeputy = false
        var isOver = false
    }

    private let state = Mutex(State())
    /// A pipe: its end to read becomes readable when something is put into an empty inbox.
    private let bell: (read: Int32, write: Int32)
    private let origin: Instant
    private let watch = AlarmClock()
    /// Whoever waits for the loop's end passes it on.
    private let end = DispatchSemaphore(value: 0)
    private var watchers: [Watcher] = []
    private var entries: [pollfd] = []
    private var participants: [any LoopParticipant] = []
    private var errands: [any LoopErrand] = []

    /// How long an errand may keep the loop, at least; twice as long at most.
    private static let patience = Duration.milliseconds(2)
    /// How many errands may follow each other before descriptors are looked at again.
    private static let mostErrandsInARow = 16

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
        let mustRing = state.withLock { state in
            guard !state.isStopping else { return false }
            state.works.append(work)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if mustRing { ring() }
    }

    package func beforeTimeMoves(_ settle: @escaping @Sendable () -> Bool) {}

    package func send(on errand: any LoopErrand) -> Bool {
        guard state.withLock({ $0.thread != nil && !$0.isStopping }) else { return false }
        errands.append(errand)
        return true
    }

    package func checkIsolated() {
        let isIsolated = state.withLock { state in
            state.thread.map { pthread_equal($0, pthread_self()) != 0 && state.errand == nil } ?? true
        }
        precondition(isIsolated, "This belongs to the loop's own thread.")
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
        listEntries()
    }

    package func change(_ descriptor: Int32, to interest: Interest) {
        checkIsolated()
        guard let index = watchers.firstIndex(where: { $0.descriptor == descriptor }),
            watchers[index].interest != interest
        else { return }
        watchers[index].interest = interest
        listEntries()
    }

    package func unwatch(_ descriptor: Int32) {
        checkIsolated()
        watchers.removeAll { $0.descriptor == descriptor }
        listEntries()
    }

    /// What the system is asked to look at.
    private func listEntries() {
        entries = watchers.map { pollfd(fd: $0.descriptor, events: $0.interest.rawValue, revents: 0) }
        entries.append(pollfd(fd: bell.read, events: Int16(POLLIN), revents: 0))
    }
}

// MARK: - The thread

extension RealTimeLoop {
    /// Starts the thread, which keeps the loop alive until it is stopped.
    package func start() {
        state.withLock { state in
            precondition(state.thread == nil, "A loop starts once.")
            state.thread = beginThread(&state)
        }
    }

    /// Ends the loop when it has done what lies in its inbox, and waits for that; called from the loop itself, or from
    /// one of its errands, it does not wait.
    package func stop() {
        let mustWait = state.withLock { state in
            state.isStopping = true
            state.isAsleep = false
            return state.thread != nil && !state.threads.contains { pthread_equal($0, pthread_self()) != 0 }
        }
        ring()
        guard mustWait else { return }
        end.wait()
        end.signal()
    }

    /// Runs the loop on the calling thread, which must own it, until `isDone` says so at the end of a turn, or until it
    /// is stopped. For programs with nothing else to do, and for tests.
    package func run(until isDone: () -> Bool) {
        checkIsolated()
        if entries.isEmpty { listEntries() }
        while turn(), !isDone() { sleep() }
    }

    /// A thread of the loop's. It waits for the lock before anything else, which the caller holds.
    private func beginThread(_ state: inout State) -> pthread_t {
        var identifier = pthread_t()
        let this = unsafe Unmanaged.passRetained(self).toOpaque()
        let error = unsafe pthread_create(&identifier, nil, loopMain, this)
        precondition(error == 0, "The system has no thread left for an event loop.")
        pthread_detach(identifier)
        state.threads.append(identifier)
        return identifier
    }

    fileprivate func runThread() {
        nameThread("ble-loop")
        let hasLoop = state.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
        if hasLoop || keepWatch() { serve() }
        state.withLock { state in
            state.threads.removeAll { pthread_equal($0, pthread_self()) != 0 }
        }
    }

    /// Has the loop until it ends, or until a deputy has taken it over.
    private func serve() {
        if entries.isEmpty { listEntries() }
        var inARow = 0
        while turn() {
            if errands.isEmpty || inARow >= Self.mostErrandsInARow {
                sleep()
                inARow = 0
            } else {
                guard runErrands() else { return }
                inARow += 1
            }
        }
        watchers = []
        participants = []
        let rest = errands
        errands = []
        let hasDeputy = state.withLock { state in
            state.isOver = true
            return state.hasDeputy
        }
        if hasDeputy { watch.set(after: .nanoseconds(1)) }
        end.signal()
        for errand in rest { while errand.run() {} }
    }

    /// - Returns: whether the loop goes on.
    private func turn() -> Bool {
        let (works, isStopping) = state.withLock { state in
            defer { if !state.works.isEmpty { state.works = [] } }
            return (state.works, state.isStopping)
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
        let limit = errands.isEmpty ? timeout() : 0
        // What was put in since the turn is not to wait.
        let hasWork = state.withLock { state in
            state.isAsleep = state.works.isEmpty && !state.isStopping
            return !state.isAsleep
        }
        let count = unsafe poll(&entries, nfds_t(entries.count), hasWork ? 0 : limit)
        state.withLock { $0.isAsleep = false }
        guard count > 0 else { return }
        var ready = entries
        if let bell = ready.popLast(), bell.revents != 0 { hush() }
        let troubles = Int16(POLLERR | POLLHUP | POLLNVAL)
        for entry in ready where entry.revents != 0 {
            // A handler before this one may have ended the watch.
            guard let watcher = watchers.first(where: { $0.descriptor == entry.fd }) else { continue }
            watcher.handler(
                entry.revents & troubles != 0 ? [.readable, .writable] : Interest(rawValue: entry.revents))
        }
    }

    /// How long to sleep in milliseconds, rounded up so as not to wake before the time; -1 for as long as it takes.
    private func timeout() -> Int32 {
        var earliest: Instant?
        for participant in participants {
            guard let deadline = participant.deadline else { continue }
            earliest = min(earliest ?? deadline, deadline)
        }
        guard let earliest else { return -1 }
        let (seconds, attoseconds) = now.duration(to: earliest).components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return Int32(min(seconds, 1000) * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    private func ring() {
        var note: UInt8 = 1
        _ = unsafe write(bell.write, &note, 1)
    }

    private func hush() {
        var notes: UInt64 = 0
        while unsafe read(bell.read, &notes, 8) == 8 {}
    }
}

// MARK: - Errands

extension RealTimeLoop {
    /// Leaves the loop for each errand.
    ///
    /// - Returns: whether the thread has the loop again after that, and not a deputy.
    private func runErrands() -> Bool {
        var rest = errands.count
        while rest > 0 {
            rest -= 1
            // Who takes the loop over goes on with the others.
            let errand = errands.removeFirst()
            let (number, mustSet) = state.withLock { state in
                state.lastErrand += 1
                state.errand = state.lastErrand
                if !state.hasDeputy {
                    state.hasDeputy = true
                    _ = beginThread(&state)
                }
                defer { state.isWatched = true }
                return (state.lastErrand, !state.isWatched)
            }
            if mustSet { watch.set(after: Self.patience) }
            let goesOn = errand.run()
            let isStillMine = state.withLock { state in
                guard state.errand == number else { return false }
                state.errand = nil
                return true
            }
            errand.ended(inTime: isStillMine)
            guard isStillMine else {
                if goesOn { while errand.run() {} }
                return false
            }
            if goesOn { errands.append(errand) }
        }
        return true
    }

    /// What a deputy does: it looks, while there are errands, whether one of them keeps the loop.
    ///
    /// - Returns: whether the loop is now this thread's; if not, it is over.
    private func keepWatch() -> Bool {
        var suspect: UInt64?
        while true {
            watch.wait()
            let decision: Bool? = state.withLock { state in
                if state.isOver { return false }
                guard let errand = state.errand else {
                    state.isWatched = false
                    return nil
                }
                guard errand == suspect else {
                    suspect = errand
                    watch.set(after: Self.patience)
                    return nil
                }
                state.errand = nil
                state.isWatched = false
                state.thread = pthread_self()
                state.hasDeputy = false
                return true
            }
            if let decision { return decision }
        }
    }
}

private func loopMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<RealTimeLoop>.fromOpaque(context).takeRetainedValue().runThread()
    return nil
}

private func monotonicTime() -> Instant {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    let attoseconds = Int64(time.tv_nsec) * 1_000_000_000
    return Instant(sinceStart: Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: attoseconds))
}
