import Backends
import CoreBluetooth
import EventLoop
import Simulation
import Synchronization

/// Async code that runs on a device of a world, started by ``SimulatedDevice/start(_:)``.
public final class SimulatedProgram<Output: Sendable>: Sendable {
    private let state = Mutex<Result<Output, any Error>?>(nil)
    private let task = Mutex<Task<Void, Never>?>(nil)

    fileprivate init() {}

    fileprivate func run(_ body: @escaping @Sendable () async throws -> Output, on executor: WorldExecutor) {
        let running = Task(executorPreference: executor) {
            let result: Result<Output, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            self.state.withLock { $0 = result }
        }
        task.withLock { $0 = running }
    }

    /// What came of it; `nil` while it runs.
    public var result: Result<Output, any Error>? { state.withLock { $0 } }

    /// Whether it has returned or thrown.
    public var isFinished: Bool { result != nil }

    /// Cancels it; it ends when the world next runs.
    public func cancel() { task.withLock { $0 }?.cancel() }
}

/// A program that did not come to its end in the time that it was given.
public struct UnfinishedProgram: Error, CustomStringConvertible {
    /// How much simulated time it was given.
    public var limit: Duration
    public var description: String { "The program did not end within \(limit) of simulated time." }
}

extension SimulatedDevice {
    /// Starts async code on this device. It runs on the thread that runs the world, between two steps of time, and its
    /// managers use this device's radio. It must wait for nothing but the world: sleep on ``BluetoothWorld/clock``.
    public func start<Output: Sendable>(
        _ body: @escaping @Sendable () async throws -> Output
    ) -> SimulatedProgram<Output> {
        let program = SimulatedProgram<Output>()
        // The task takes the device along, for the managers that are made in it.
        run { program.run(body, on: executor) }
        programs.add { [weak program] in program?.cancel() }
        return program
    }
}

extension BluetoothWorld {
    /// The clock for async code in this world.
    public var clock: WorldClock { WorldClock(world: world) }

    /// Lets time pass until `program` has ended, and gives what came of it. If it does not end within `limit` it is
    /// cancelled, and ``UnfinishedProgram`` is thrown.
    @discardableResult
    public func output<Output: Sendable>(
        of program: SimulatedProgram<Output>, within limit: Duration
    ) throws -> Output {
        let end = now + limit
        world.run(for: .zero)
        // From deadline to deadline: an end between two of them is noticed at the second.
        while program.result == nil, let next = world.nextDeadline, next.sinceStart <= end { world.run(until: next) }
        guard let result = program.result else {
            program.cancel()
            world.run(for: .zero)
            throw UnfinishedProgram(limit: limit)
        }
        return try result.get()
    }
}

/// The programs of a world, which end with it.
final class ProgramList {
    private var cancels: [() -> Void] = []

    func add(_ cancel: @escaping () -> Void) { cancels.append(cancel) }

    func cancelAll() {
        for cancel in cancels { cancel() }
        cancels.removeAll()
    }
}

/// Runs async code as part of a world: each job goes through the world's inbox, which is empty before time moves.
final class WorldExecutor: TaskExecutor {
    private let world: World

    init(_ world: World) { self.world = world }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        world.enqueue { [self] _ in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
