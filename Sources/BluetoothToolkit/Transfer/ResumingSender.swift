import Foundation

/// Where a transfer over several links stands.
public enum SendingEvent: Sendable, Equatable {
    case connecting(attempt: Int)
    case progress(TransferProgress)
    /// The link ended; the transfer goes on after the pause.
    case interrupted(LinkEnd, pause: Duration)
}

extension TransferSender {
    /// How it goes about losses.
    public struct Persistence: Sendable {
        public var backoff = Backoff(limit: .seconds(20))
        /// How many links in a row may fail without any progress; `nil` is any number.
        public var maximumFailures: Int? = 10
        /// How long one attempt to connect may take.
        public var attemptLimit: Duration? = .seconds(30)
        public var mode = CentralMessageLink.Mode.withoutResponse

        public init() {}
    }

    /// Sends to a peripheral that runs a ``MessageServer``, over as many links as it takes: each goes on where the one
    /// before has stopped. At its end, or when it is cancelled, the link is ended too.
    ///
    /// - Parameter wrap: puts something between the transfer and its link, such as a fault.
    /// - Throws: ``TransferRefusal``; or ``LinkEnd`` that is final, or the last one of too many.
    @discardableResult
    public func send(
        to peripheral: RemotePeripheral, persistence: Persistence = Persistence(),
        wrap: @escaping @Sendable (CentralMessageLink) -> any MessageLink = { $0 },
        tell: @escaping @Sendable (SendingEvent) -> Void = { _ in }
    ) async throws -> TransferProgress {
        var failures = 0
        while true {
            let mark = ProgressMark()
            do {
                tell(.connecting(attempt: failures + 1))
                let result = try await sendOnce(to: peripheral, persistence, wrap) { progress in
                    mark.note(progress)
                    tell(.progress(progress))
                }
                try? await peripheral.disconnect(within: .seconds(5))
                return result
            } catch let error as ToolkitError {
                guard let cause = error.cause else { throw error }
                failures = mark.hasProgress ? 1 : failures + 1
                if cause.isFinal || failures >= persistence.maximumFailures ?? .max { throw cause }
                let pause = persistence.backoff.pause(afterFailures: failures, chance: .random(in: 0...1))
                tell(.interrupted(cause, pause: pause))
                // A link on which nothing moves any more is of no use.
                if peripheral.isConnected { try? await peripheral.disconnect(within: .seconds(5)) }
                if case .radioUnavailable = cause { try await peripheral.central.waitUntilOn(within: nil) }
                try await peripheral.time.sleep(for: pause)
            } catch {
                try? await peripheral.disconnect(within: .seconds(5))
                throw error
            }
        }
    }

    private func sendOnce(
        to peripheral: RemotePeripheral, _ persistence: Persistence,
        _ wrap: @Sendable (CentralMessageLink) -> any MessageLink,
        _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> TransferProgress {
        try await peripheral.connect(within: persistence.attemptLimit)
        let link = try await CentralMessageLink(to: peripheral, mode: persistence.mode)
        return try await send(over: wrap(link), by: peripheral.time, progress: progress)
    }
}

/// Whether a link has brought anything forward.
// `@unchecked`: `lock` guards the variable.
private final class ProgressMark: @unchecked Sendable {
    private let lock = NSLock()
    private var moved = false

    var hasProgress: Bool { lock.withLock { moved } }

    func note(_ progress: TransferProgress) {
        if progress.done > progress.resumedFrom { lock.withLock { moved = true } }
    }
}
