import EventLoop

/// When a scanner or an initiator listens, and on which channel: one window an interval, one channel a window.
///
/// Source: Core 6.0, Vol 6, Part B, 4.4.3, 4.4.4.
struct ScanWindow: Sendable {
    let phy: RadioPHY
    private let interval: Duration
    private let window: Duration
    private(set) var channel: UInt8 = 37
    /// When the window begins, or has begun.
    private(set) var start: Instant
    var end: Instant { start.advanced(by: window) }

    init(phy: RadioPHY = .le1M, interval: Duration, window: Duration, at now: Instant) {
        self.phy = phy
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
        .listen(channel: channel, phy: phy, accessAddress: advertisingAccessAddress, until: end)
    }
}

/// The windows of whoever listens on one PHY or two, in turns.
struct ScanWindows: Sendable {
    private var windows: [ScanWindow]
    private var index = 0

    /// - Parameter windows: at least one.
    init(_ windows: [ScanWindow]) { self.windows = windows }

    /// The one that is open, or was last.
    var current: ScanWindow { windows[index] }

    var start: Instant { windows.dropFirst().reduce(windows[0].start) { min($0, $1.start) } }

    /// Steps past the windows that are over.
    mutating func advance(to now: Instant) {
        for place in windows.indices { windows[place].advance(to: now) }
    }

    /// Steps to a window that is open at `now`; `nil` if none is.
    mutating func open(at now: Instant) -> ScanWindow? {
        advance(to: now)
        // Of two that are open, the one whose turn it is: it has waited for longer, or was not the last.
        let candidates = windows.indices.filter { windows[$0].start <= now }
        guard
            let chosen = candidates.min(by: {
                (windows[$0].start, $0 == index ? 1 : 0) < (windows[$1].start, $1 == index ? 1 : 0)
            })
        else { return nil }
        index = chosen
        return windows[index]
    }
}
