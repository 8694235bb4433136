import Glibc

/// Wakes the one thread that waits for it, after a time that another has set: timerfd_create(2). To set it wakes
/// nobody, and so costs next to nothing.
final class AlarmClock: Sendable {
    private typealias Make = @convention(c) (Int32, Int32) -> Int32
    private typealias Set = @convention(c) (Int32, Int32, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Int32

    private static let make: Make = unsafe unsafeBitCast(systemFunction("timerfd_create"), to: Make.self)
    private static let set: Set = unsafe unsafeBitCast(systemFunction("timerfd_settime"), to: Set.self)

    private let descriptor: Int32

    init() {
        // TFD_CLOEXEC is O_CLOEXEC.
        descriptor = Self.make(CLOCK_MONOTONIC, O_CLOEXEC)
        precondition(descriptor >= 0, "The system has no descriptor left for an event loop.")
    }

    deinit { close(descriptor) }

    /// - Parameter delay: more than nothing, and less than a second. What was set before is forgotten.
    func set(after delay: Duration) {
        var time = itimerspec()
        time.it_value.tv_nsec = Int(delay / .nanoseconds(1))
        _ = unsafe Self.set(descriptor, 0, &time, nil)
    }

    /// Returns when the time has come.
    func wait() {
        var count: UInt64 = 0
        while unsafe read(descriptor, &count, 8) != 8 && errno == EINTR {}
    }
}
