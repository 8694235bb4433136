import CoreBluetooth
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
    /// How often the peer is asked whether it still knows of the link: its program may have been started again, which
    /// not every peer tells. `nil` never asks.
    public var checkInterval: Duration? = .seconds(10)

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
        _ body: @escaping @Sendable (any MessageLink, ProgressMark) async throws -> Output
    ) async throws -> Output {
        var failures = 0
        var hasHadService = false
        while true {
            let mark = ProgressMark()
            do {
                news(.connecting(attempt: failures + 1))
                try await connect(within: persistence.attemptLimit)
                let link = try await persistence.carrier.open(to: self)
                hasHadService = true
                let output = try await checking(link, every: persistence.checkInterval) { try await body(link, mark) }
                try? await disconnect(within: .seconds(5))
                return output
            } catch  where Self.concernsLinkOnly(error, hasHadService) {
                let cause = (error as? ToolkitError)?.cause ?? .notEstablished
                failures = mark.hasProgress ? 1 : failures + 1
                // A link on which nothing moves any more is of no use.
                if isConnected { try? await disconnect(within: .seconds(5)) }
                if cause.isFinal || failures >= persistence.maximumFailures ?? .max { throw cause }
                let pause = persistence.backoff.pause(afterFailures: failures, chance: .random(in: 0...1))
                news(.interrupted(cause, pause: pause))
                if case .radioUnavailable = cause { try await central.waitUntilOn(within: nil) }
                try await time.sleep(for: pause)
            } catch {
                try? await disconnect(within: .seconds(5))
                throw error
            }
        }
    }
}

extension RemotePeripheral {
    /// Whether the next link may do better: this one has ended, or its attributes are not those that were found. A
    /// service that has been there may come again.
    private static func concernsLinkOnly(_ error: any Error, _ hasHadService: Bool) -> Bool {
        switch error {
        case ToolkitError.notFound: hasHadService
        case let error as ToolkitError: error.cause != nil
        // Database Out Of Sync, which Apple has no name for (Core 6.0, Vol 3, Part F, 3.4.1.1).
        case let error as CBATTError:
            [CBATTError.invalidHandle.rawValue, CBATTError.attributeNotFound.rawValue, 0x12]
                .contains(error.code.rawValue)
        default: false
        }
    }

    /// Does something over a link, and asks the peer from time to time whether it still knows of the link.
    private func checking<Output: Sendable>(
        _ link: any MessageLink, every interval: Duration?, _ body: @escaping @Sendable () async throws -> Output
    ) async throws -> Output {
        guard let interval else { return try await body() }
        return try await withThrowingTaskGroup(of: Output.self) { [time] group in
            defer { group.cancelAll() }
            group.addTask { try await body() }
            group.addTask {
                while true {
                    try await time.sleep(for: interval)
                    try await link.check()
                }
            }
            guard let output = try await group.next() else { throw CancellationError() }
            return output
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
