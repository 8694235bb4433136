package import EventLoop

/// A place in the world, or a direction, in metres.
package struct Position: Hashable, Sendable {
    package var x: Double
    package var y: Double
    package var z: Double

    package init(x: Double = 0, y: Double = 0, z: Double = 0) {
        self.x = x
        self.y = y
        self.z = z
    }

    package func distance(to other: Position) -> Double { squaredDistance(to: other).squareRoot() }

    func squaredDistance(to other: Position) -> Double {
        let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
        return dx * dx + dy * dy + dz * dz
    }

    /// The cosine of the angle between two directions; 0 if one of them has no length.
    func cosine(with other: Position) -> Double {
        let lengths = (squaredDistance(to: Position()) * other.squaredDistance(to: Position())).squareRoot()
        return lengths > 0 ? (x * other.x + y * other.y + z * other.z) / lengths : 0
    }

    package var isFinite: Bool { x.isFinite && y.isFinite && z.isFinite }
}

/// Where something that moves will be, and when.
package struct Waypoint: Hashable, Sendable {
    package var position: Position
    package var arrival: Instant

    package init(_ position: Position, arrival: Instant) {
        self.position = position
        self.arrival = arrival
    }
}

/// A way through the world: straight and at a constant speed from one waypoint to the next.
struct Movement {
    private var waypoints: [Waypoint]
    /// The leg that was asked for last; time does not go back.
    private var leg = 1

    /// - Parameter waypoints: two at least, in the order of time.
    init(_ waypoints: [Waypoint]) { self.waypoints = waypoints }

    var end: Waypoint { waypoints[waypoints.count - 1] }

    mutating func position(at now: Instant) -> Position {
        while leg < waypoints.count - 1, waypoints[leg].arrival <= now { leg += 1 }
        let (from, to) = (waypoints[leg - 1], waypoints[leg])
        guard now < to.arrival else { return to.position }
        let share = from.arrival.duration(to: now) / from.arrival.duration(to: to.arrival)
        return Position(
            x: from.position.x + (to.position.x - from.position.x) * share,
            y: from.position.y + (to.position.y - from.position.y) * share,
            z: from.position.z + (to.position.z - from.position.z) * share)
    }
}
