package import EventLoop
import HostInterface

/// Runs callbacks on the adapter's own loop: the executor of a world that a test runs.
package final class LoopExecutor: CallbackExecutor {
    private let loop: any AdapterLoop

    package init(loop: any AdapterLoop) { self.loop = loop }

    package func run(_ work: @escaping @Sendable () -> Void) { loop.enqueue { _ in work() } }

    /// Nothing to wait for: the loop runs what it was given before its time moves.
    package func settle() {}
}
