/// Where a stream calls its delegate.
protocol StreamEventTarget: AnyObject {
    /// Has the stream deliver, there and later. From any thread.
    func signal()
    func stop()
    func isRunLoop(_ runLoop: RunLoop, _ mode: RunLoop.Mode) -> Bool
    var isQueue: Bool { get }
}

/// A run loop in one of its modes. It has a source, as with Foundation's own streams: it stays alive for it, and
/// `run(mode:before:)` returns when an event has been delivered.
// `@unchecked`: constants; timers and sources may be signalled from any thread.
final class RunLoopEventTarget: StreamEventTarget, @unchecked Sendable {
    private final class Source: RunLoop._Source {
        let deliver: () -> Void

        init(_ deliver: @escaping () -> Void) {
            self.deliver = deliver
            super.init(order: 0)
        }

        override func perform() { deliver() }
    }

    private let runLoop: RunLoop
    private let mode: RunLoop.Mode
    private let source: Source
    /// A source of Foundation on Linux cannot wake its run loop; a timer can.
    private let alarm: Timer

    init(_ runLoop: RunLoop, _ mode: RunLoop.Mode, _ deliver: @escaping () -> Void) {
        self.runLoop = runLoop
        self.mode = mode
        let source = Source(deliver)
        self.source = source
        alarm = RunLoopEventTarget.timer { source.signal() }
        runLoop._add(source, forMode: mode)
        runLoop.add(alarm, forMode: mode)
    }

    private static func timer(_ ring: @escaping () -> Void) -> Timer {
        let year = 365.0 * 86400
        // It runs on the run loop's thread, as the source does.
        nonisolated(unsafe) let ring = ring
        return Timer(fire: .distantFuture, interval: year, repeats: true) { timer in
            timer.fireDate = .distantFuture
            unsafe ring()
        }
    }

    func signal() { alarm.fireDate = .distantPast }

    func stop() {
        alarm.invalidate()
        source.invalidate()
    }

    func isRunLoop(_ runLoop: RunLoop, _ mode: RunLoop.Mode) -> Bool {
        self.runLoop === runLoop && self.mode == mode
    }

    var isQueue: Bool { false }
}

/// A dispatch queue.
final class QueueEventTarget: StreamEventTarget, Sendable {
    private let queue: DispatchQueue
    private let deliver: @Sendable () -> Void

    init(_ queue: DispatchQueue, _ deliver: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.deliver = deliver
    }

    func signal() { queue.async(execute: deliver) }
    func stop() {}
    func isRunLoop(_ runLoop: RunLoop, _ mode: RunLoop.Mode) -> Bool { false }
    var isQueue: Bool { true }
}
