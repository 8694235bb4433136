import Backends
import HostInterface

/// Delivers callbacks on an app's queue.
final class DispatchCallbackExecutor: CallbackExecutor {
    // Callbacks go through a serial queue of our own on top of the app's, so that they come one after the other even
    // if the app's queue is a concurrent one. It bears the same label, for that is what a log shows.
    private let queue: DispatchQueue
    private let isMain: Bool
    private static let mainMark = DispatchSpecificKey<Bool>()
    private let key = DispatchSpecificKey<Bool>()
    /// To which what the callbacks make belongs.
    private let place: any SessionFactory

    init(_ queue: DispatchQueue?, place: any SessionFactory) {
        self.place = place
        // On Linux each mention of the main queue makes a new object: it is recognised by a mark.
        DispatchQueue.main.setSpecific(key: Self.mainMark, value: true)
        isMain = queue == nil || queue?.getSpecific(key: Self.mainMark) == true
        if let queue, !isMain {
            self.queue = DispatchQueue(label: queue.label, target: queue)
        } else {
            self.queue = .main
        }
        self.queue.setSpecific(key: key, value: true)
    }

    /// Whether the caller runs on the queue.
    var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    func run(_ work: @escaping @Sendable () -> Void) {
        queue.async { [place] in SessionProvider.with(place, work) }
    }

    var isOpenToThreads: Bool { !isMain }

    func runHere(_ work: () -> Void) {
        queue.sync { SessionProvider.with(place, work) }
    }

    func settle() {
        // Twice, for a callback often puts its work behind itself on the same queue.
        for _ in 0..<2 {
            if isMain && Thread.isMainThread {
                pumpMainQueue()
            } else if !isCurrent {
                queue.sync(flags: .barrier) {}
            }
        }
    }

    /// Lets the main thread, which is here, run what waits on the main queue.
    private func pumpMainQueue() {
        let marker = Marker()
        queue.async { marker.isReached = true }
        // The main queue is not re-entrant: called from one of its own blocks, the marker cannot be reached.
        var attempts = 0
        while !marker.isReached && attempts < 64 {
            attempts += 1
            _ = RunLoop.main.run(mode: .default, before: Date())
        }
    }

    /// `@unchecked`: touched on the main thread only.
    private final class Marker: @unchecked Sendable {
        var isReached = false
    }
}
