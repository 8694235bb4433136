import BluetoothSimulation
import BluetoothToolkit
import EventLoop
import Foundation
import Simulation
import Testing

/// A call of the toolkit that is cancelled after each step of its life, again and again in one world, so that whatever
/// a cancelled call leaves behind is in the way of those that follow.
final class Life {
    let world: BluetoothWorld
    /// Where the call runs.
    let device: SimulatedDevice
    /// What is done to the device before each call.
    var reset: () -> Void = {}
    /// What is done on it then, without being cancelled.
    var before: @Sendable () async throws -> Void = {}
    let call: @Sendable () async throws -> Void
    /// What must work afterwards.
    let next: @Sendable () async throws -> Void
    /// What the Bluetooth of the device may be busy with when a cancelled call has left it in peace.
    var rest: Set<String> = []
    /// How long a call may last that does not end by itself.
    var span = Duration.seconds(10)
    /// From step to step. `EVERY_STEP=1` in the environment makes it 1 for all.
    var pace = 1 {
        didSet { if ProcessInfo.processInfo.environment["EVERY_STEP"] == "1" { pace = 1 } }
    }
    /// Keeps what the world needs.
    var owner: AnyObject?
    /// After how many cancelled calls the next one is made to its end.
    var stride = 1

    init(
        _ world: BluetoothWorld, on device: SimulatedDevice, call: @escaping @Sendable () async throws -> Void,
        next: @escaping @Sendable () async throws -> Void
    ) {
        self.world = world
        self.device = device
        self.call = call
        self.next = next
    }

    /// - Returns: how many steps the life of a call has that nobody cancels.
    func cancelAfterEachStep() throws -> Int {
        var step = 0
        var cancelled = 0
        while true {
            reset()
            try toItsEnd(before)
            guard let outcome = start(cancelledAfter: step) else { break }
            #expect(outcome.isFinished, "cancelled after step \(step), it does not return")
            // One that had succeeded keeps what it was asked for.
            if case .failure = outcome.result { try expectRest(after: step) }
            cancelled += 1
            step += pace
            if cancelled.isMultiple(of: stride) {
                #expect(throws: Never.self, "cancelled after step \(step - pace)") {
                    reset()
                    try toItsEnd(before)
                    try toItsEnd(next)
                }
            }
            try #require(step < 5000, "the call has no end")
        }
        reset()
        try toItsEnd(before)
        try toItsEnd(next)
        return step
    }

    private func toItsEnd(_ body: @escaping @Sendable () async throws -> Void) throws {
        try world.output(of: device.start(body), within: .seconds(60))
    }

    /// - Returns: what has become of the call in the instant of its cancellation; `nil` if it has fewer steps.
    private func start(cancelledAfter step: Int) -> SimulatedProgram<Void>? {
        let program = device.start(call)
        let end = world.now + span
        var count = 0
        var isCancelled = step == 0
        if isCancelled { program.cancel() }
        world.world.stepTap = {
            count += 1
            guard count == step, !program.isFinished else { return }
            isCancelled = true
            program.cancel()
        }
        defer { world.world.stepTap = nil }
        world.run(for: .zero)
        while !isCancelled, !program.isFinished, let next = world.world.nextDeadline, next.sinceStart <= end {
            world.world.run(until: next)
        }
        guard !isCancelled else { return program }
        program.cancel()
        world.run(for: .zero)
        return nil
    }

    private func expectRest(after step: Int) throws {
        let isAtRest = world.run(until: { [self] in rest.isSuperset(of: device.business) }, within: .seconds(5))
        #expect(isAtRest, "cancelled after step \(step), the radio goes on: \(device.business)")
    }
}
