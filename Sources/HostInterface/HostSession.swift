/// One client's line to a host.
///
/// Contract, checked for every backend by one suite: each submitted request is answered exactly once; events reach
/// `deliver` one at a time, in the order in which they happened, on the executor given to `open`, never from inside
/// a call to the session.
package protocol HostSession: AnyObject, Sendable {
    /// The executor on which callbacks run when the client names none; `nil` if this backend has none of its own.
    ///
    /// A simulated world that a test runs has one: its own loop.
    var defaultExecutor: (any CallbackExecutor)? { get }

    /// Starts delivery. Called once, first.
    func open(on executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void)

    /// Asks for something. From any thread.
    func submit(_ request: HostRequest, number: RequestNumber)

    /// Ends the session: its links, scan, services and advertising go; open requests are not answered any more.
    func close()
}

/// Where a client's callbacks run: its queue.
package protocol CallbackExecutor: AnyObject, Sendable {
    /// Runs `work` later, one after the other, in order.
    func run(_ work: @escaping @Sendable () -> Void)

    /// Returns when all that was given to `run` so far has run. A simulated world calls it, on its own thread,
    /// before time moves.
    func settle()

    /// Whether a thread from elsewhere can do what `run` is for, by ``runHere(_:)``. The main queue is run by its own
    /// thread only.
    var isOpenToThreads: Bool { get }

    /// Runs `work` in its turn behind what came before, on the calling thread, which waits until then. Only if
    /// ``isOpenToThreads``.
    func runHere(_ work: () -> Void)
}

extension CallbackExecutor {
    package var isOpenToThreads: Bool { false }
    package func runHere(_ work: () -> Void) { preconditionFailure("This queue has a thread of its own.") }
}
