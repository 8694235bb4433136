/// How long to wait before the next attempt: longer after each failure, and never quite the same, so that many devices
/// that lost the same peer do not come back in step.
public struct Backoff: Sendable, Equatable {
    public var first: Duration
    public var factor: Double
    public var limit: Duration
    /// By which part of itself a pause may be shorter or longer, 0...1.
    public var jitter: Double

    public init(
        first: Duration = .milliseconds(500), factor: Double = 2, limit: Duration = .seconds(60), jitter: Double = 0.25
    ) {
        precondition(first >= .zero && factor >= 1 && (0...1).contains(jitter), "A pause grows, and stays one.")
        self.first = first
        self.factor = factor
        self.limit = limit
        self.jitter = jitter
    }

    /// The pause before attempt number `failures`, counted from 1.
    ///
    /// - Parameters:
    ///   - failures: how many attempts in a row have failed.
    ///   - chance: 0...1; the middle leaves the pause as it is.
    public func pause(afterFailures failures: Int, chance: Double) -> Duration {
        var pause = first
        // Doubling ends at the limit: no number of failures makes it overflow.
        for _ in 1..<max(1, failures) where pause < limit { pause = pause * factor }
        return min(pause, limit) * (1 + jitter * (2 * chance - 1))
    }
}
