import Synchronization

/// Ctrl-C, or an output that fails, for commands that have something to put in order before they end.
package final class Interruption: Sendable {
    private let handler = Mutex<(@Sendable () -> Void)?>(nil)

    package init() {}

    /// From any thread.
    ///
    /// - Returns: whether a command deals with it, and will end the program.
    package func interrupt() -> Bool {
        let handler = handler.withLock { $0 }
        handler?()
        return handler != nil
    }

    /// From here on an interruption is this command's business; the handler runs on a thread of its own.
    func handle(_ handler: @escaping @Sendable () -> Void) { self.handler.withLock { $0 = handler } }
}
