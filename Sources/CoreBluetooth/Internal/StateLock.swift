/// The lock of a manager and all its objects; a thread that holds it may take it again.
///
/// It knows whether what it guards has changed in a way that is to be kept, and has it kept just before it is let go
/// of: so no delegate, which is called with the lock free, is told of a change that a kill could undo, and changes
/// that belong together are kept together.
// `@unchecked`: the variables are touched by who holds the lock.
final class StateLock: NSLocking, @unchecked Sendable {
    private let inner = NSRecursiveLock()
    private var depth = 0
    private var hasChanged = false
    /// Keeps the state. Set once, before other threads know the lock.
    var keep: (() -> Void)?

    /// Notes that something has changed. Called with the lock held.
    func markChanged() { hasChanged = keep != nil }

    // Foundation's own is not compiled for its caller.
    @inline(__always)
    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
        lock()
        defer { unlock() }
        return try body()
    }

    func lock() {
        inner.lock()
        depth += 1
    }

    func unlock() {
        while depth == 1, hasChanged {
            hasChanged = false
            keep?()
        }
        depth -= 1
        inner.unlock()
    }
}
