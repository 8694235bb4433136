import EventLoop
package import HostInterface
import LocalSession
package import Simulation
package import Storage
import Synchronization

/// The radio of one device of a simulated world.
package final class SimulatedRadio: SessionFactory {
    /// When simulated worlds begin: 2026-01-01 00:00:00 UTC, in seconds since 2001, so that each run is like the other.
    private static let beginning = 788_918_400.0

    private let device: HostedDevice
    private let defaultExecutor: (any CallbackExecutor)?
    private let onReport: @Sendable (String) -> Void
    private let programName: String
    private let state: Mutex<StateDirectory>
    private let run: Mutex<ProgramRun>
    private let kept = Mutex<PlayedWorld?>(nil)

    /// - Parameters:
    ///   - runsOnTheWorldsLoop: whether callbacks of managers without a queue run on the world's loop, as in a test
    ///     that runs the world; otherwise they run on the main queue, as in any program.
    ///   - program: the name of its program, by which its state is found again; the device's own by default.
    ///   - state: what outlives a run of the device's program.
    ///   - onReport: takes lines of diagnosis; by default they go to standard error.
    package init(
        device: HostedDevice, runsOnTheWorldsLoop: Bool, program: String? = nil,
        state: StateDirectory = .inMemory(), onReport: (@Sendable (String) -> Void)? = nil
    ) {
        self.device = device
        self.onReport = onReport ?? writeToStandardError
        self.state = Mutex(state)
        programName = program ?? device.device.name
        run = Mutex(ProgramRun(of: programName, state: state, report: self.onReport))
        defaultExecutor = runsOnTheWorldsLoop ? LoopExecutor(loop: device.loop) : nil
    }

    package func makeSession() -> any HostSession { LocalSession(owner: device, defaultExecutor: defaultExecutor) }

    package var permission: RadioPermission { device.policy.permission }

    package var program: ProgramRun { run.withLock { $0 } }

    /// Keeps what outlives a run in another place, from now on. Managers that are there already go on with the old one.
    package func keepState(in directory: StateDirectory) {
        state.withLock { $0 = directory }
        run.withLock { $0 = ProgramRun(of: programName, state: directory, report: onReport) }
    }

    /// Ends the device's program, as a kill does: its managers are told nothing any more. The next managers belong
    /// to the next run.
    package func endProgram() {
        let directory = state.withLock { $0 }
        let next = ProgramRun(of: programName, state: directory, report: onReport)
        let ended = run.withLock { run in
            defer { run = next }
            return run
        }
        ended.end()
    }

    /// Holds on to the world that its device is in.
    func keep(_ world: PlayedWorld) { kept.withLock { $0 = world } }

    package func report(_ line: String) { onReport(line) }

    package var secondsSince2001: Double {
        Self.beginning + device.world.timeForAnyThread.sinceStart / .seconds(1)
    }

    package func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        device.world.enqueue { [world = device.world] _ in world.schedule(after: delay, work) }
    }
}
