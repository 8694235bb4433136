import Backends
package import Foundation
import HostInterface

/// Where a demo plays: a simulated world, or the air around us.
package protocol Stage: AnyObject {
    var timeline: Timeline { get }
    /// Since the stage was set.
    var now: Duration { get }
    /// Runs something later, where the programs' callbacks run.
    func after(_ seconds: TimeInterval, _ action: @escaping () -> Void)
    /// Runs `body` so that the managers made in it belong to `actor`'s radio.
    func asUser(of actor: String, _ body: () -> Void)
    /// Lets time pass until `isDone`, for `limit` at most.
    func run(for limit: Duration, until isDone: () -> Bool)
}

extension Stage {
    /// What a program prints, as `actor`'s line on the timeline.
    package func voice(of actor: String) -> (String) -> Void {
        { [weak self] text in
            // A program may still talk when its stage has been cleared.
            guard let self else { return }
            timeline.add(TimelineEntry(time: now, kind: .said, actor: actor, what: text))
        }
    }

    /// Something that the story does.
    package func scene(_ actor: String, _ what: String) {
        timeline.add(TimelineEntry(time: now, kind: .scene, actor: actor, what: what))
    }
}

/// A radio whose sessions are overheard.
final class NarratedRadio: SessionFactory {
    private let radio: any SessionFactory
    private let narrator: Narrator

    init(_ radio: any SessionFactory, _ narrator: Narrator) {
        self.radio = radio
        self.narrator = narrator
    }

    func makeSession() -> any HostSession { narrator.overhear(radio.makeSession()) }
    var program: ProgramRun { radio.program }
    var permission: RadioPermission { radio.permission }
    func report(_ line: String) { narrator.logged(line) }
    var secondsSince2001: Double { radio.secondsSince2001 }
    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        radio.schedule(after: delay, work)
    }
}
