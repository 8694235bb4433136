/// A point on an event loop's own time line.
///
/// Protocol code is told the time and never asks for it. Whether a second here takes a second is the loop's affair.
package struct Instant: InstantProtocol, Hashable, Sendable {
    /// How long ago the loop started.
    package var sinceStart: Duration

    package init(sinceStart: Duration = .zero) {
        self.sinceStart = sinceStart
    }

    package func advanced(by duration: Duration) -> Instant { Instant(sinceStart: sinceStart + duration) }
    package func duration(to other: Instant) -> Duration { other.sinceStart - sinceStart }
    package static func < (left: Instant, right: Instant) -> Bool { left.sinceStart < right.sinceStart }
}

extension Duration {
    // The library's own operators are generic and not specialised, which costs several times as much.

    package static func microseconds(_ count: Int) -> Duration {
        Duration(attoseconds: Int128(count) * 1_000_000_000_000)
    }

    package static func * (duration: Duration, count: Int) -> Duration {
        Duration(attoseconds: duration.attoseconds * Int128(count))
    }

    package static func / (duration: Duration, count: Int) -> Duration {
        Duration(attoseconds: duration.attoseconds / Int128(count))
    }
}
