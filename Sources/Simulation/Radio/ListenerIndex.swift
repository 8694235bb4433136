/// The receivers that are tuned to one channel, by where they are: only those near a transmitter are looked at.
///
/// The plan of the world is a torus of squares, each as wide as a packet can reach at all; those that share a square
/// though they are far apart cost a look, and no more.
struct ListenerIndex {
    static let side = 16
    private var squares: [[Device]] = Array(repeating: [], count: side * side)
    /// How many are in each, near to one another in memory, for most have none.
    private var counts: [Int32] = Array(repeating: 0, count: side * side)

    /// The square of a place.
    ///
    /// - Parameter reach: in metres.
    static func square(of place: Position, reach: Double) -> (column: Int, row: Int) {
        func coordinate(_ value: Double) -> Int {
            Int(max(-1e15, min(1e15, (value / reach).rounded(.down)))) & (side - 1)
        }
        return (coordinate(place.x), coordinate(place.y))
    }

    mutating func insert(_ device: Device, at square: (column: Int, row: Int)) {
        let index = square.row * Self.side + square.column
        device.listenerSquare = index
        device.listenerPlace = squares[index].count
        squares[index].append(device)
        counts[index] += 1
    }

    mutating func remove(_ device: Device) {
        let index = device.listenerSquare
        let last = squares[index].removeLast()
        counts[index] -= 1
        if last !== device {
            squares[index][device.listenerPlace] = last
            last.listenerPlace = device.listenerPlace
        }
    }

    var all: [Device] { squares.flatMap(\.self) }

    /// Calls `body` with all in the square and in those around it.
    func forEach(around square: (column: Int, row: Int), _ body: (Device) -> Void) {
        for row in square.row - 1...square.row + 1 {
            for column in square.column - 1...square.column + 1 {
                let index = (row & (Self.side - 1)) * Self.side + (column & (Self.side - 1))
                guard counts[index] > 0 else { continue }
                for device in squares[index] { body(device) }
            }
        }
    }
}
