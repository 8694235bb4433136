package import Backends
package import Foundation

/// The air around us: a real radio, real time, the main queue.
package final class RealStage: Stage {
    package let timeline: Timeline
    private let start = ContinuousClock.now
    private let radio: any SessionFactory
    private var narrators: [Narrator] = []

    /// Why the radio cannot be used, once that is known.
    package var whyUnusable: String? { narrators.lazy.compactMap(\.whyUnusable).first }

    /// Whether the radio was ever on for one of the users.
    package var wasPoweredOn: Bool { narrators.contains(where: \.wasPoweredOn) }

    private let limit: Duration

    /// - Parameter limit: how long one program may take, whatever it asks for.
    package init(radio: any SessionFactory, timeline: Timeline, limit: Duration) {
        self.timeline = timeline
        self.limit = limit
        self.radio = radio
    }

    package var now: Duration { start.duration(to: .now) }

    package func after(_ seconds: TimeInterval, _ action: @escaping () -> Void) {
        _ = Timer.scheduledTimer(withTimeInterval: seconds, repeats: false, block: MainThreadBlock(action).run)
    }

    package func asUser(of actor: String, _ body: () -> Void) {
        let narrator = Narrator(
            actor: actor, timeline: timeline, now: { [start] in start.duration(to: .now) }, name: { _ in nil })
        narrators.append(narrator)
        SessionProvider.with(NarratedRadio(radio, narrator), body)
    }

    package func run(for limit: Duration, until isDone: () -> Bool) {
        let end = ContinuousClock.now + min(limit, self.limit)
        while !isDone(), ContinuousClock.now < end {
            // The main run loop serves the main queue too.
            _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.05))
        }
    }
}

/// A block that stays on the main thread, where it was made.
private struct MainThreadBlock: @unchecked Sendable {
    // `@unchecked`: a timer's block has to be `@Sendable`, but fires on the run loop that it was scheduled on: the main
    // thread's, for stages are set there.
    let action: () -> Void
    init(_ action: @escaping () -> Void) { self.action = action }
    func run(_ timer: Timer) { action() }
}
