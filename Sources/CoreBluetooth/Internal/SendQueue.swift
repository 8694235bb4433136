/// How much of what needs no answer is on its way to the controller, and when there is room again.
///
/// It is full at 20 and has room again at 10, so that the sender is woken once for many and meanwhile the radio does
/// not run dry.
struct SendQueue {
    private static let depth = 20
    private var open = 0
    /// From the moment it is full until there is room again.
    private(set) var isFull = false

    /// Takes a place; false if there is none.
    mutating func enter() -> Bool {
        guard open < Self.depth else { return false }
        open += 1
        isFull = isFull || open == Self.depth
        return true
    }

    /// Gives a place back; true if now there is room again.
    mutating func leave() -> Bool {
        open -= 1
        guard isFull, open <= Self.depth / 2 else { return false }
        isFull = false
        return true
    }
}
