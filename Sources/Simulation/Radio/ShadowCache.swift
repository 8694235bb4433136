/// The shadowing of links whose ends stand still, so that it is computed once.
struct ShadowCache {
    private struct Link: Hashable {
        var first: Int
        var second: Int
    }

    private struct Entry {
        var firstMoves: Int
        var secondMoves: Int
        var value: Double
    }

    private var entries: [Link: Entry] = [:]
    /// Some 64 MiB; a world of many devices forgets and computes anew.
    private static let limit = 1 << 20

    mutating func removeAll() { entries.removeAll() }

    mutating func value(between first: Device, _ second: Device, compute: () -> Double) -> Double {
        if first.isMoving || second.isMoving { return compute() }
        let link = Link(first: first.number, second: second.number)
        if let entry = entries[link], entry.firstMoves == first.moves, entry.secondMoves == second.moves {
            return entry.value
        }
        let value = compute()
        if entries.count >= Self.limit { entries.removeAll() }
        entries[link] = Entry(firstMoves: first.moves, secondMoves: second.moves, value: value)
        return value
    }
}
