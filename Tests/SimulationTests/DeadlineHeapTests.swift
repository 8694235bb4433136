import EventLoop
import Testing

@testable import Simulation

@Suite("Heap of deadlines")
struct DeadlineHeapTests {
    @Test("The earliest deadline is first, of equal ones the lowest number", arguments: 0..<10 as Range<UInt64>)
    func order(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var heap = DeadlineHeap()
        var deadlines: [Instant?] = Array(repeating: nil, count: 50)
        for number in deadlines.indices { #expect(heap.addParticipant() == number) }
        for _ in 0..<2000 {
            let participant = Int.random(in: deadlines.indices, using: &generator)
            let isOut = Int.random(in: 0..<4, using: &generator) == 0
            let deadline =
                isOut ? nil : Instant(sinceStart: .microseconds(Int.random(in: 0..<60, using: &generator)))
            deadlines[participant] = deadline
            heap.set(participant, to: deadline)
            let expected = deadlines.indices.filter { deadlines[$0] != nil }.min {
                (deadlines[$0]!, $0) < (deadlines[$1]!, $1)
            }
            guard heap.first?.participant == expected, heap.first?.deadline == expected.flatMap({ deadlines[$0] })
            else {
                Issue.record("\(String(describing: heap.first)), expected \(String(describing: expected))")
                return
            }
        }
    }
}
