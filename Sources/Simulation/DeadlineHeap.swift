import EventLoop

/// The deadlines of all participants of a world, each with its number; the earliest is at hand.
///
/// Of participants with the same deadline, the one with the lowest number comes first.
struct DeadlineHeap {
    private var deadlines: [Instant] = []
    /// Where in `heap` a participant stands; -1 if it waits for nothing.
    private var places: [Int] = []
    private var heap: [Int] = []

    /// The participant that is due first.
    var first: (participant: Int, deadline: Instant)? {
        guard let participant = heap.first else { return nil }
        return (participant, deadlines[participant])
    }

    /// Adds a participant, which waits for nothing yet. Participants are numbered from 0.
    mutating func addParticipant() -> Int {
        deadlines.append(Instant())
        places.append(-1)
        return places.count - 1
    }

    mutating func set(_ participant: Int, to deadline: Instant?) {
        let place = places[participant]
        guard let deadline else {
            if place >= 0 { remove(at: place) }
            return
        }
        if place < 0 {
            deadlines[participant] = deadline
            places[participant] = heap.count
            heap.append(participant)
            siftUp(from: heap.count - 1)
        } else {
            let previous = deadlines[participant]
            guard deadline != previous else { return }
            deadlines[participant] = deadline
            if deadline < previous { siftUp(from: place) } else { siftDown(from: place) }
        }
    }

    private mutating func remove(at place: Int) {
        places[heap[place]] = -1
        let last = heap.removeLast()
        guard place < heap.count else { return }
        heap[place] = last
        places[last] = place
        siftUp(from: place)
        siftDown(from: places[last])
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        let participant = heap[child]
        while child > 0 {
            let parent = (child - 1) / 2
            guard precedes(participant, heap[parent]) else { break }
            put(heap[parent], at: child)
            child = parent
        }
        put(participant, at: child)
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        let participant = heap[parent]
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, precedes(heap[child + 1], heap[child]) { child += 1 }
            guard precedes(heap[child], participant) else { break }
            put(heap[child], at: parent)
            parent = child
        }
        put(participant, at: parent)
    }

    private mutating func put(_ participant: Int, at place: Int) {
        heap[place] = participant
        places[participant] = place
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        let (first, second) = (deadlines[left], deadlines[right])
        return first == second ? left < right : first < second
    }
}
