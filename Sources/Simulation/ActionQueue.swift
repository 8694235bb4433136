import EventLoop

/// Something that a world will do at an instant, unless it is cancelled before.
package final class ScheduledAction {
    let deadline: Instant
    private var action: (() -> Void)?

    init(deadline: Instant, action: @escaping () -> Void) {
        self.deadline = deadline
        self.action = action
    }

    /// Calls it off; without effect once it has been done. On the world's thread.
    package func cancel() { action = nil }

    func run() {
        let once = action
        action = nil
        once?()
    }
}

/// The actions of a world in the order of their deadlines; of two with the same one, the first given goes first.
struct ActionQueue {
    /// The next one last.
    private var actions: [ScheduledAction] = []

    var nextDeadline: Instant? { actions.last?.deadline }

    mutating func insert(_ action: ScheduledAction) {
        var low = 0
        var high = actions.count
        while low < high {
            let middle = (low + high) / 2
            if actions[middle].deadline > action.deadline { low = middle + 1 } else { high = middle }
        }
        actions.insert(action, at: low)
    }

    mutating func removeNext() -> ScheduledAction { actions.removeLast() }
}
