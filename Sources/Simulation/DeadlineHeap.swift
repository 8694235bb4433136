import EventLoop

/// The deadlines of all participants of a world, each with its number; the earliest is at hand.
///
/// Of participants with the same deadline, the one with the lowest number comes first. Each entry has four below it,
/// which lie side by side in memory: half as many levels as with two, and a large world's heap is not in the cache.
struct DeadlineHeap {
    /// A world looks at little else as often as at these, so they are two plain numbers: four fit a line of the cache.
    private struct Entry {
        /// The deadline, in 2^26 attoseconds; enough for some 19 years.
        private let high: Int64
        /// The deadline's lowest 26 bits, and then the participant.
        private let low: UInt64

        init(_ participant: Int, _ deadline: Instant) {
            let attoseconds = deadline.sinceStart.attoseconds
            high = Int64(clamping: attoseconds >> 26)
            low = UInt64(truncatingIfNeeded: attoseconds & 0x3FF_FFFF) << 32 | UInt64(participant)
        }

        var participant: Int { Int(low & 0xFFFF_FFFF) }
        var deadline: Instant { Instant(sinceStart: Duration(attoseconds: Int128(high) << 26 | Int128(low >> 32))) }

        static func < (left: Entry, right: Entry) -> Bool {
            left.high == right.high ? left.low < right.low : left.high < right.high
        }
    }

    private static let width = 4
    private var heap: [Entry] = []
    /// Where in `heap` a participant stands; -1 if it waits for nothing.
    private var places: [Int] = []

    /// The participant that is due first.
    var first: (participant: Int, deadline: Instant)? {
        guard let entry = heap.first else { return nil }
        return (entry.participant, entry.deadline)
    }

    /// Adds a participant, which waits for nothing yet. Participants are numbered from 0.
    mutating func addParticipant() -> Int {
        places.append(-1)
        return places.count - 1
    }

    mutating func set(_ participant: Int, to deadline: Instant?) {
        let place = places[participant]
        guard let deadline else {
            if place >= 0 { remove(at: place) }
            return
        }
        let entry = Entry(participant, deadline)
        if place < 0 {
            heap.append(entry)
            siftUp(entry, from: heap.count - 1)
        } else if entry < heap[place] {
            siftUp(entry, from: place)
        } else if heap[place] < entry {
            siftDown(entry, from: place)
        }
    }

    private mutating func remove(at place: Int) {
        places[heap[place].participant] = -1
        let last = heap.removeLast()
        guard place < heap.count else { return }
        if place > 0, last < heap[(place - 1) / Self.width] {
            siftUp(last, from: place)
        } else {
            siftDown(last, from: place)
        }
    }

    /// Puts the entry at `place` or nearer to the root.
    private mutating func siftUp(_ entry: Entry, from start: Int) {
        var place = start
        while place > 0 {
            let parent = heap[(place - 1) / Self.width]
            guard entry < parent else { break }
            heap[place] = parent
            places[parent.participant] = place
            place = (place - 1) / Self.width
        }
        heap[place] = entry
        places[entry.participant] = place
    }

    /// Puts the entry at `place` or farther from the root.
    private mutating func siftDown(_ entry: Entry, from start: Int) {
        var place = start
        let count = heap.count
        while Self.width * place + 1 < count {
            var childPlace = Self.width * place + 1
            var child = heap[childPlace]
            let end = min(childPlace + Self.width, count)
            for siblingPlace in childPlace + 1..<end where heap[siblingPlace] < child {
                childPlace = siblingPlace
                child = heap[siblingPlace]
            }
            guard child < entry else { break }
            heap[place] = child
            places[child.participant] = place
            place = childPlace
        }
        heap[place] = entry
        places[entry.participant] = place
    }
}
