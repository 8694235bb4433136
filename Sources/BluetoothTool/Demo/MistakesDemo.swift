import Foundation
import Mistakes

/// Rows C3 and C4: what becomes of mistakes that no compiler finds.
struct MistakesDemo {
    let stage: any Stage

    func play() -> [Check] {
        // The other side's mistakes are part of the story.
        guard let stage = stage as? SimulatedStage else { return [] }
        stage.addPhone("phone")
        stage.addPhone("tablet", at: (2, 1))
        let peripheral = CarelessPeripheral(say: stage.voice(of: "tablet"))
        let central = HastyCentral(
            clock: { [unowned stage] in stage.now / .seconds(1) }, say: stage.voice(of: "phone"))
        stage.asUser(of: "tablet") { peripheral.start() }
        stage.asUser(of: "phone") { central.start() }
        stage.run(for: .seconds(60)) { central.isFinished }
        // The log of the peripheral comes when its own 30 seconds are over.
        stage.run(for: .seconds(2)) { false }
        peripheral.stop()
        func log(of actor: String, _ part: String) -> String? {
            stage.timeline.entries.first { $0.actor == actor && $0.kind == .log && $0.what.contains(part) }?.what
        }
        func logged(_ row: String, _ promise: String, by actor: String, _ part: String) -> Check {
            let line = log(of: actor, part)
            return Check(row, promise, line != nil, line ?? "nothing was said")
        }
        return [
            Check(
                "C3", "a service that cannot be is refused in didAdd, with the reason", peripheral.refusal != nil,
                peripheral.refusal ?? "it was taken"),
            logged(
                "C3", "a property without its permission is warned about", by: "tablet",
                "the property read but no permission readable"),
            Check(
                "C3", "reading it is refused", central.refusal != nil, central.refusal ?? "it was read"),
            logged(
                "C3", "a write that the properties do not allow is not lost without a word", by: "phone",
                "ignoring response-less write"),
            Check(
                "C4", "a request that nobody answers ends after 30 s",
                central.problem != nil && (29.9...30.1).contains(central.silence ?? 0),
                "after \(Int((central.silence ?? 0).rounded())) s: \(central.problem ?? "no error")"),
            logged("C4", "the peripheral is told what it forgot", by: "tablet", "has not been answered for 30 seconds"),
        ]
    }
}
