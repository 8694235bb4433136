import EventLoop

/// Something that is no Bluetooth and is loud in bursts, such as a busy Wi-Fi.
///
/// When it is loud is computed from the world's seed and the number of the burst: one burst a period, somewhere in it.
package struct Interferer: Equatable, Sendable {
    package var position: Position
    /// Over all of its band, in dBm.
    package var power: Double
    /// In MHz.
    package var centre: Double
    /// In MHz. Outside of its band it is not heard.
    package var bandwidth: Double
    /// The share of the time in which it is loud, 0...1.
    package var dutyCycle: Double
    /// From burst to burst, 1 µs at least.
    package var period: Duration

    package init(
        position: Position, power: Double, centre: Double, bandwidth: Double, dutyCycle: Double,
        period: Duration = .milliseconds(5)
    ) {
        self.position = position
        self.power = power
        self.centre = centre
        self.bandwidth = bandwidth
        self.dutyCycle = dutyCycle
        self.period = period
    }

    /// An access point or its client at 20 dBm, what ETSI EN 300 328, 4.3.2.2 allows.
    ///
    /// The channels' centres and the width of 20 MHz: IEEE 802.11-2020, 17.3.8 and 19.3.15. A burst with its
    /// acknowledgement takes up to some 5.5 ms there (aPPDUMaxTime, 19.4.4), hence the period of 5 ms.
    ///
    /// - Parameter channel: 1...13.
    package static func wiFi(channel: Int, at position: Position, dutyCycle: Double, power: Double = 20) -> Interferer {
        precondition((1...13).contains(channel), "Wi-Fi has the channels 1 to 13 here.")
        return Interferer(
            position: position, power: power, centre: 2407 + 5 * Double(channel), bandwidth: 20, dutyCycle: dutyCycle)
    }

    /// Whether it is heard on a channel of LE, 0...39.
    func covers(_ channel: UInt8) -> Bool { abs(Self.frequency(of: channel) - centre) <= bandwidth / 2 }

    /// The centre of a channel in MHz: Core 6.0, Vol 6, Part B, 1.4.1.
    static func frequency(of channel: UInt8) -> Double {
        switch channel {
        case 37: 2402
        case 38: 2426
        case 39: 2480
        case 0...10: 2404 + 2 * Double(channel)
        default: 2406 + 2 * Double(channel)
        }
    }

    /// For how long between two instants it is loud, in nanoseconds.
    ///
    /// - Parameter seed: its own.
    func loudness(from start: Int64, to end: Int64, seed: UInt64) -> Int64 {
        let period = max(1000, Int64(self.period / .nanoseconds(1)))
        let burst = Int64(Double(period) * max(0, min(1, dutyCycle)))
        var sum: Int64 = 0
        for number in start / period...end / period {
            let free = Double(period - burst)
            let offset = Int64(free * Chance.fraction(Chance.mix(seed, UInt64(bitPattern: number))))
            let begin = number * period + offset
            sum += max(0, min(end, begin + burst) - max(start, begin))
        }
        return sum
    }
}
