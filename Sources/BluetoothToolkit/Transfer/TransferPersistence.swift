import Foundation

/// What carries a central's messages.
public enum MessageCarrier: Sendable, CaseIterable {
    /// As many writes without response as the link takes.
    case writes
    /// Writes of which each is confirmed by the peer before the next one goes.
    case confirmedWrites
    /// An L2CAP channel.
    case channel

    func open(to peripheral: RemotePeripheral) async throws -> any MessageLink {
        switch self {
        case .writes: try await CentralMessageLink(to: peripheral)
        case .confirmedWrites: try await CentralMessageLink(to: peripheral, mode: .withResponse)
        case .channel: try await ChannelMessageLink(to: peripheral)
        }
    }
}

/// How a transfer goes about losses of its link.
public struct TransferPersistence: Sendable {
    public var backoff = Backoff(limit: .seconds(20))
    /// How many links in a row may fail without any progress; `nil` is any number.
    public var maximumFailures: Int? = 10
    /// How long one attempt to connect may take.
    public var attemptLimit: Duration? = .seconds(30)
    public var carrier = MessageCarrier.writes

    public init() {}
}

extension RemotePeripheral {
    enum LinkNews {
        case connecting(attempt: Int)
        case interrupted(LinkEnd, pause: Duration)
    }

    /// Does something over a link of messages, and again over the next one when a link ends, until it returns. At the
    /// end, or when it is cancelled, the link is ended too.
    ///
    /// - Parameter body: gets the link and where to note that it has brought something forward.
    /// - Throws: ``LinkEnd`` that is final, or the last one of too many; what `body` throws else.
    func persist<Output: Sendable>(
        _ persistence: TransferPersistence, news: (LinkNews) -> Void,
        _ body: (any MessageLink, ProgressMark) async throws -> Output
    ) async throws -> Output {
        var failures = 0
        while true {
            let mark = ProgressMark()
            do {
                news(.connecting(attempt: failures + 1))
                try await connect(within: persistence.attemptLimit)
                let output = try await body(try await persistence.carrier.open(to: self), mark)
                try? await disconnect(within: .seconds(5))
                return output
            } catch let error as ToolkitError {
                guard let cause = error.cause else { throw error }
                failures = mark.hasProgress ? 1 : failures + 1
                if cause.isFinal || failures >= persistence.maximumFailures ?? .max { throw cause }
                let pause = persistence.backoff.pause(afterFailures: failures, chance: .random(in: 0...1))
                news(.interrupted(cause, pause: pause))
                // A link on which nothing moves any more is of no use.
                if isConnected { try? await disconnect(within: .seconds(5)) }
                if case .radioUnavailable = cause { try await central.waitUntilOn(within: nil) }
                try await time.sleep(for: pause)
            } catch {
                try? await disconnect(within: .seconds(5))
                throw error
            }
        }
    }
}

/// Whether a link has brought anything forward.
// `@unchecked`: `lock` guards the variable.
final class ProgressMark: @unchecked Sendable {
    private let lock = NSLock()
    private var moved = false

    var hasProgress: Bool { lock.withLock { moved } }
    func note() { lock.withLock { moved = true } }
}
