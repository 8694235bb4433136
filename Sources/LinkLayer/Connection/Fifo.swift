/// A queue whose front and back cost nothing to reach.
struct Fifo<Element: Sendable>: Sendable {
    private var storage: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == storage.count }
    var count: Int { storage.count - head }

    var first: Element? {
        get { head < storage.count ? storage[head] : nil }
        set { storage[head] = newValue }
    }

    mutating func append(_ element: Element) {
        // Half of the storage has been used up: move the rest to the front instead of growing.
        if head >= 16, head * 2 >= storage.count {
            storage.removeFirst(head)
            head = 0
        }
        storage.append(element)
    }

    mutating func removeFirst() {
        storage[head] = nil
        head += 1
        if head == storage.count {
            storage.removeAll(keepingCapacity: true)
            head = 0
        }
    }

    mutating func removeAll() {
        storage.removeAll(keepingCapacity: true)
        head = 0
    }
}
