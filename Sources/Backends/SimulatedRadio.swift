package import HostInterface
import LocalSession
package import Simulation

/// The radio of one device of a simulated world.
package final class SimulatedRadio: SessionFactory {
    private let device: HostedDevice
    private let defaultExecutor: (any CallbackExecutor)?

    /// - Parameter runsOnTheWorldsLoop: whether callbacks of managers without a queue run on the world's loop, as in a
    ///   test that runs the world; otherwise they run on the main queue, as in any program.
    package init(device: HostedDevice, runsOnTheWorldsLoop: Bool) {
        self.device = device
        defaultExecutor = runsOnTheWorldsLoop ? LoopExecutor(loop: device.loop) : nil
    }

    package func makeSession() -> any HostSession { LocalSession(owner: device, defaultExecutor: defaultExecutor) }
}
