import Dispatch
import EventLoop
import Foundation
import Synchronization

/// Runs a world on a thread of its own, so that an ordinary program can live in it.
///
/// From ``start()`` on the world belongs to that thread; everybody else talks to it by ``World/enqueue(_:)``.
package final class WorldThread: Sendable {
    /// How simulated time relates to the program's own.
    package enum Pace: Sendable {
        /// Time jumps from one deadline to the next.
        case asFastAsPossible
        /// A second in the world takes a second of CLOCK_MONOTONIC. A world that falls behind catches up.
        case realTime
    }

    package let world: World
    package let pace: Pace
    private let isStopping = Atomic(false)
    /// Signalled by whoever puts something into the inbox.
    private let news = DispatchSemaphore(value: 0)
    private let hasEnded = DispatchSemaphore(value: 0)

    package init(_ world: World, pace: Pace) {
        self.world = world
        self.pace = pace
    }

    package func start() {
        world.onEnqueue { [news] in news.signal() }
        let thread = Thread { [self] in
            switch pace {
            case .asFastAsPossible: runFreely()
            case .realTime: runInRealTime()
            }
            hasEnded.signal()
        }
        thread.name = "Bluetooth world"
        // The settling of clients runs their code on their own queues; the world's own depth of calls is small.
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Ends the thread and returns when it has ended. Called once, from another thread.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        news.signal()
        hasEnded.wait()
    }

    private var goesOn: Bool { !isStopping.load(ordering: .acquiring) }

    private func runFreely() {
        while goesOn {
            // In steps, for a world in which somebody advertises never comes to an end.
            world.run(until: world.nextDeadline ?? world.now)
            if world.nextDeadline == nil { news.wait() }
        }
    }

    private func runInRealTime() {
        let begin = DispatchTime.now().uptimeNanoseconds
        let origin = world.now
        let reached = { @Sendable in
            origin.advanced(by: .nanoseconds(Int64(DispatchTime.now().uptimeNanoseconds - begin)))
        }
        world.pace = reached
        while goesOn {
            world.run(until: reached())
            guard let next = world.nextDeadline else {
                news.wait()
                continue
            }
            let (seconds, attoseconds) = origin.duration(to: next).components
            let offset = UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds)) / 1_000_000_000
            _ = news.wait(timeout: DispatchTime(uptimeNanoseconds: begin + offset))
        }
        world.pace = nil
    }
}
