import EventLoop
import Simulation

/// What a run says of itself.
final class Log {
    private let world: World
    private let trace: ((String) -> Void)?
    private(set) var violations: [String] = []
    /// Whether a peer damages what it sends, so that nothing can be said of its values.
    let isMeddling: Bool

    init(world: World, isMeddling: Bool, trace: ((String) -> Void)?) {
        self.world = world
        self.isMeddling = isMeddling
        self.trace = trace
    }

    func note(_ who: String, _ what: @autoclosure () -> String) {
        guard let trace else { return }
        trace("\(time)  \(who): \(what())")
    }

    func violation(_ who: String, _ what: String) {
        let line = "\(time)  \(who): \(what)"
        violations.append(line)
        trace?("\(line)   <-- must not be")
    }

    private var time: String {
        let milliseconds = world.now.sinceStart / .milliseconds(1)
        return "\(Int(milliseconds)) ms"
    }
}
