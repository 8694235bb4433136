/// How near a device seems, by its signal strength. It is no distance: walls, bodies and antennas move it as much as
/// metres do.
public enum Proximity: Sendable, Equatable {
    /// Too few readings yet.
    case unknown
    case near
    case between
    case far
}

/// Makes levels of a device's signal strength: of the last ten readings the highest and the lowest are dropped, the
/// rest averaged, and a level is left only when its threshold is passed by a margin.
public struct ProximityMeter: Sendable {
    public struct Settings: Sendable, Equatable {
        /// Above it a device is near, in dBm.
        public var near: Double
        /// Below it a device is far, in dBm.
        public var far: Double
        /// By how many dB the average must pass a threshold back before a level is left.
        public var hysteresis: Double
        /// How many readings count, at least 3.
        public var window: Int

        public init(near: Double = -60, far: Double = -80, hysteresis: Double = 3, window: Int = 10) {
            precondition(far < near && hysteresis >= 0 && window >= 3, "Far lies below near, and three readings count.")
            self.near = near
            self.far = far
            self.hysteresis = hysteresis
            self.window = window
        }
    }

    public let settings: Settings
    private var readings: [Int] = []
    public private(set) var level = Proximity.unknown

    public init(_ settings: Settings = Settings()) { self.settings = settings }

    /// The average of the readings that count, in dBm; `nil` until the window is full.
    public var average: Double? {
        guard readings.count == settings.window else { return nil }
        let counted = readings.sorted().dropFirst().dropLast()
        return Double(counted.reduce(0, +)) / Double(counted.count)
    }

    /// Takes a reading, in dBm; 127 and other values above 20 are none.
    ///
    /// - Returns: the level with it.
    @discardableResult
    public mutating func add(_ rssi: Int) -> Proximity {
        guard (-127...20).contains(rssi) else { return level }
        readings.append(rssi)
        if readings.count > settings.window { readings.removeFirst() }
        if let average { level = next(average) }
        return level
    }

    /// Forgets all readings.
    public mutating func reset() {
        readings.removeAll()
        level = .unknown
    }

    private func next(_ average: Double) -> Proximity {
        let (near, far, margin) = (settings.near, settings.far, settings.hysteresis)
        return switch level {
        case .near where average > near - margin: .near
        case .far where average < far + margin: .far
        case .unknown, .near, .between, .far: average > near ? .near : average < far ? .far : .between
        }
    }
}
