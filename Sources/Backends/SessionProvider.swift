import Dispatch
import Foundation
package import HostInterface
import Synchronization

/// A place where managers get their sessions: one host, or one phone of a simulated world.
package protocol SessionFactory: AnyObject, Sendable {
    func makeSession() -> any HostSession

    /// The run of the program whose managers these are, and what it keeps. Each manager keeps to the one that was
    /// there when it was made.
    var program: ProgramRun { get }

    /// Whether the system lets this program use the radio. From any thread.
    var permission: RadioPermission { get }

    /// Takes one line of diagnosis, such as a misuse of the API.
    func report(_ line: String)

    /// The time of this place: seconds since 2001-01-01 00:00:00 UTC.
    var secondsSince2001: Double { get }

    /// Runs `work` once `delay` has passed on the clock of this place, on a thread of its choice.
    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void)
}

/// An ordinary process: real time, and diagnosis to standard error. Nothing is kept.
extension SessionFactory {
    package var program: ProgramRun { ProgramRun() }

    package var permission: RadioPermission { .allowed }

    package func report(_ line: String) { writeToStandardError(line) }

    package var secondsSince2001: Double { Date.timeIntervalSinceReferenceDate }

    package func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + delay / .seconds(1), execute: work)
    }
}

/// Which host do the managers that are made here talk to?
package enum SessionProvider {
    @TaskLocal private static var override: (any SessionFactory)?

    /// What a program's managers use that runs in no `with`; opened when the first of them asks.
    private static let processDefault = Mutex(ProcessDefault())

    private struct ProcessDefault {
        var make: @Sendable () -> any SessionFactory = { DefaultRadio.open() }
        var opened: (any SessionFactory)?
    }

    /// The factory of the innermost `with` on this thread or task, else the process default.
    package static var current: any SessionFactory {
        if let override { return override }
        return processDefault.withLock { state in
            if let opened = state.opened { return opened }
            let factory = state.make()
            state.opened = factory
            return factory
        }
    }

    package static func makeSession() -> any HostSession { current.makeSession() }

    /// Runs `body` with `factory` for the managers made in it, and in the tasks that it starts.
    package static func with<Result>(_ factory: any SessionFactory, _ body: () throws -> Result) rethrows -> Result {
        if override === factory { return try body() }
        return try $override.withValue(factory, operation: body)
    }

    /// Says how to open the process default. A default that is open already is dropped; its sessions go on.
    package static func setProcessDefault(_ make: @escaping @Sendable () -> any SessionFactory) {
        processDefault.withLock { $0 = ProcessDefault(make: make) }
    }
}
