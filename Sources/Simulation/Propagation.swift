import Glibc
import LinkLayer

/// A place in the world, in metres.
package struct Position: Hashable, Sendable {
    package var x: Double
    package var y: Double
    package var z: Double

    package init(x: Double = 0, y: Double = 0, z: Double = 0) {
        self.x = x
        self.y = y
        self.z = z
    }

    func distance(to other: Position) -> Double {
        let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
        return (dx * dx + dy * dy + dz * dz).squareRoot()
    }
}

/// How packets fare on their way: the world's physics and its faults.
package struct RadioEnvironment: Sendable {
    /// The loss on the first metre in dB: 20 log10(4π f / c) at 2.44 GHz, free space (ITU-R P.525).
    package var lossAtOneMetre = 40.2
    /// How fast the loss grows: 2 in free space, 2.8...3.3 in buildings (ITU-R P.1238, N / 10).
    package var pathLossExponent = 2.0
    /// The power at which one bit in a thousand is wrong, in dBm: what radios on the market state for LE 1M; the
    /// specification asks for -70 (Core 6.0, Vol 6, Part A, 4.1).
    package var sensitivity = -95.0
    /// By how many dB a packet on LE 1M must be stronger than another on its channel (Core 6.0, Vol 6, Part A, 4.2).
    package var coChannelRejection = 21.0
    /// Fading moves the strength of each reception by at most so many dB, up or down.
    package var fading = 3.0
    /// The fault "packet loss": how likely it is that a receiver misses a packet for no other reason, 0...1.
    package var packetLoss = 0.0

    package init() {}

    /// The same on any PHY. Twice the bandwidth lets in twice the noise, 3 dB; of the coded PHY with S=8 Nordic states
    /// 8 dB more for its nRF52840 (-103 and -95 dBm), of which S=2 gets half.
    func sensitivity(_ mode: RadioMode) -> Double {
        switch mode {
        case .le1M: sensitivity
        case .le2M: sensitivity + 3
        case .codedS2: sensitivity - 4
        case .codedS8: sensitivity - 8
        }
    }

    /// The same on any PHY: Core 6.0, Vol 6, Part A, 4.2, tables of C/I.
    func coChannelRejection(_ mode: RadioMode) -> Double {
        switch mode {
        case .le1M, .le2M: coChannelRejection
        case .codedS2: coChannelRejection - 4
        case .codedS8: coChannelRejection - 9
        }
    }

    /// In dB, over a distance in metres; nearer than 10 cm the model makes no sense, and is not followed.
    func pathLoss(_ distance: Double) -> Double {
        lossAtOneMetre + 10 * pathLossExponent * log10(max(distance, 0.1))
    }

    /// How likely it is that one of `bits` is wrong at a strength of so many dB above the sensitivity.
    ///
    /// The bit error rate of binary FSK without a phase reference is exp(-E/2N)/2 (Proakis, Digital Communications);
    /// the sensitivity is defined by a rate of 0.001, at which E/N is 2 ln 500.
    func packetErrorRate(margin: Double, bits: Int) -> Double {
        let energy = 2 * log(500.0) * pow(10, margin / 10)
        let bitErrorRate = exp(-energy / 2) / 2
        return 1 - pow(1 - bitErrorRate, Double(bits))
    }

    /// Above this margin in dB no packet is lost to noise: the longest one fails once in a million.
    static let safeMargin = 6.0
    /// Below this margin in dB a receiver does not notice that a packet begins.
    static let noticeableMargin = -6.0
}
