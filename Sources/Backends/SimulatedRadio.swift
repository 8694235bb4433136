import EventLoop
package import HostInterface
import LocalSession
package import Simulation

/// The radio of one device of a simulated world.
package final class SimulatedRadio: SessionFactory {
    /// When simulated worlds begin: 2026-01-01 00:00:00 UTC, in seconds since 2001, so that each run is like the other.
    private static let beginning = 788_918_400.0

    private let device: HostedDevice
    private let defaultExecutor: (any CallbackExecutor)?
    private let onReport: @Sendable (String) -> Void

    /// - Parameters:
    ///   - runsOnTheWorldsLoop: whether callbacks of managers without a queue run on the world's loop, as in a test
    ///     that runs the world; otherwise they run on the main queue, as in any program.
    ///   - onReport: takes lines of diagnosis; by default they go to standard error.
    package init(
        device: HostedDevice, runsOnTheWorldsLoop: Bool,
        onReport: (@Sendable (String) -> Void)? = nil
    ) {
        self.device = device
        self.onReport = onReport ?? writeToStandardError
        defaultExecutor = runsOnTheWorldsLoop ? LoopExecutor(loop: device.loop) : nil
    }

    package func makeSession() -> any HostSession { LocalSession(owner: device, defaultExecutor: defaultExecutor) }

    package var permission: RadioPermission { device.policy.permission }

    package var run: Int { device.run }

    package func report(_ line: String) { onReport(line) }

    package var secondsSince2001: Double {
        Self.beginning + device.world.timeForAnyThread.sinceStart / .seconds(1)
    }

    package func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        device.world.enqueue { [world = device.world] _ in world.schedule(after: delay, work) }
    }
}
