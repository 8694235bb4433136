package import EventLoop

/// Makes whoever guesses wait: each pairing that fails doubles the time until the next may start, and each such time
/// without a failure halves it again. The owner keeps one for each peer, over its links.
///
/// Source: Core 6.0, Vol 3, Part H, 2.3.6.
package struct AttemptLimiter: Equatable, Sendable {
    package static let shortest = Duration.seconds(1)
    package static let longest = Duration.seconds(64)

    private var interval = Duration.zero
    private var lastFailure = Instant()

    package init() {}

    /// When the next pairing may start; `nil` if nothing has failed of late.
    package func waits(at now: Instant) -> Instant? {
        let end = lastFailure.advanced(by: interval)
        return interval > .zero && now < end ? end : nil
    }

    package mutating func recordFailure(at now: Instant) {
        // The interval has halved for each of its lengths that went by in peace.
        var peace = lastFailure.duration(to: now) - interval
        while interval > .zero, peace >= interval {
            peace -= interval
            interval = interval > Self.shortest ? interval / 2 : .zero
        }
        interval = interval == .zero ? Self.shortest : min(interval * 2, Self.longest)
        lastFailure = now
    }

    package mutating func recordSuccess() { self = AttemptLimiter() }
}
