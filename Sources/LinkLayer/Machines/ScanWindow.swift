import EventLoop

/// When a scanner or an initiator listens, and on which channel: one window an interval, one channel a window.
///
/// Source: Core 6.0, Vol 6, Part B, 4.4.3, 4.4.4.
struct ScanWindow: Sendable {
    private let interval: Duration
    private let window: Duration
    private(set) var channel: UInt8 = 37
    /// When the window begins, or has begun.
    private(set) var start: Instant
    var end: Instant { start.advanced(by: window) }

    init(interval: Duration, window: Duration, at now: Instant) {
        self.interval = interval
        self.window = window
        start = now
    }

    /// Steps to the window that is open at `now`, or else to the next one.
    mutating func advance(to now: Instant) {
        guard end <= now else { return }
        // Whoever was kept from the radio for long has slept through whole rounds of channels.
        let missed = Int(start.duration(to: now) / interval)
        if missed > 1 { step(missed - 1) }
        while end <= now { step(1) }
    }

    private mutating func step(_ windows: Int) {
        start = start.advanced(by: interval * windows)
        channel = 37 + UInt8((Int(channel) - 37 + windows) % 3)
    }

    func listen() -> RadioOrder {
        .listen(channel: channel, accessAddress: advertisingAccessAddress, until: end)
    }
}
