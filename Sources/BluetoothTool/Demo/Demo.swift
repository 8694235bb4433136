/// A demo: which rows of the tutorials it plays, and how.
package struct Demo: Sendable {
    package var name: String
    package var title: String
    package var rows: String
    /// Whether it plays in a simulated world of its own, and on no other radio.
    package var needsOwnWorld = false
    /// Plays it, and tells what became of each promise.
    package var play: @Sendable (any Stage) -> [Check]

    package static let all = [
        Demo(
            name: "lock", title: "The smart lock", rows: "A1-A8", play: { LockDemo(stage: $0).play() }),
        Demo(
            name: "roles", title: "The two roles, step by step", rows: "B1-B5", play: { RolesDemo(stage: $0).play() }),
        Demo(
            name: "smallest", title: "The smallest central and the smallest peripheral", rows: "C1, C2, C5, C9",
            play: { SmallestDemo(stage: $0).play() }),
        Demo(
            name: "which", title: "Which of the many locks?", rows: "D1-D3", play: { WhichDemo(stage: $0).play() }),
        Demo(
            name: "rules", title: "The phone's rules", rows: "B2, C6, C7, C11", needsOwnWorld: true,
            play: { RulesDemo(stage: $0).play() }),
        Demo(
            name: "mistakes", title: "Mistakes that no compiler finds", rows: "C3, C4", needsOwnWorld: true,
            play: { MistakesDemo(stage: $0).play() }),
        Demo(
            name: "resume", title: "A transfer whose programs are killed", rows: "C8", needsOwnWorld: true,
            play: { ResumeDemo(stage: $0).play() }),
        Demo(
            name: "queue", title: "A queue of one's own", rows: "C16", play: { QueueDemo(stage: $0).play() }),
    ]
}
