import LinkLayer

/// How packets fare on their way: the world's physics and its faults. All constants of the model are here.
package struct RadioEnvironment: Equatable, Sendable {
    /// The loss on the first metre in dB: 20 log10(4π f / c) at 2.44 GHz, free space (ITU-R P.525).
    package var lossAtOneMetre = 40.2
    /// How fast the loss grows: 2 in free space, 2.8...3.3 in buildings (ITU-R P.1238, N / 10).
    package var pathLossExponent = 2.0
    /// The standard deviation of what walls and furniture add or take, link by link and place by place, in dB.
    package var shadowing = 0.0
    /// Over how many metres of movement that changes: its correlation falls to 1/e.
    package var shadowingDistance = 6.0
    /// Fading moves the strength of each reception by at most so many dB, up or down.
    package var fading = 3.0
    /// The power at which one bit in a thousand is wrong, in dBm: what radios on the market state for LE 1M; the
    /// specification asks for -70 (Core 6.0, Vol 6, Part A, 4.1).
    package var sensitivity = -95.0
    /// By how many dB a packet on LE 1M must be stronger than all others on its channel (Core 6.0, Vol 6, Part A, 4.2).
    package var coChannelRejection = 21.0
    /// How far a receiver's measure of strength is off, at most, in dB: nRF52840 Product Specification 1.1, 6.20.15.8,
    /// `RSSI_ACC`.
    package var rssiError = 2.0
    /// How likely it is that a receiver has no measure of a packet's strength, and says 127, 0...1.
    package var rssiLoss = 0.0
    /// The fault "packet loss": how likely it is that a receiver misses a packet for no other reason, 0...1.
    package var packetLoss = 0.0

    package init() {}

    /// In the open: the loss of free space, and nothing in the way.
    package static let openAir = RadioEnvironment()

    /// A home: N = 28 (ITU-R P.1238, table 2, residential, 1.8...2.4 GHz), with shadowing as in ``office``.
    package static let home = office(exponent: 2.8)

    /// An office with walls: N = 30 (ITU-R P.1238, table 2, office, 2.4 GHz), a standard deviation of 8.03 dB that
    /// changes over 6 m (3GPP TR 38.901, tables 7.4.1-1 and 7.5-6, indoor office without line of sight).
    package static let office = office(exponent: 3.0)

    private static func office(exponent: Double) -> RadioEnvironment {
        var environment = RadioEnvironment()
        environment.pathLossExponent = exponent
        environment.shadowing = 8.03
        environment.shadowingDistance = 6
        return environment
    }

    // MARK: By PHY

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

    /// How much of a wide band a receiver lets in, in MHz: Core 6.0, Vol 6, Part A, 1 and 3.1, the symbol rate.
    static func bandwidth(_ mode: RadioMode) -> Double { mode == .le2M ? 2 : 1 }

    // MARK: Loss

    /// In dB, over a distance in metres; nearer than 10 cm the model makes no sense, and is not followed.
    package func pathLoss(_ distance: Double) -> Double {
        lossAtOneMetre + pathLossExponent * Decibels.from(ratio: max(distance, 0.1))
    }

    /// The distance in metres over which so much is lost, or at which the model begins.
    package func distance(atLoss loss: Double) -> Double {
        max(0.1, Decibels.ratio((loss - lossAtOneMetre) / pathLossExponent))
    }

    // MARK: Errors

    /// At the sensitivity: the energy of a bit over the density of the noise, 2 ln 500; see ``bitErrorRate(margin:)``.
    private static let energyAtSensitivity = 12.429_216_196_844_383

    /// How likely it is that a bit is wrong at a strength of so many dB above the sensitivity.
    ///
    /// Of binary FSK without a phase reference it is exp(-E/2N)/2 (Proakis, Digital Communications); the sensitivity is
    /// defined by a rate of 0.001, at which E/N is 2 ln 500.
    package func bitErrorRate(margin: Double) -> Double {
        Decibels.exp(-Self.energyAtSensitivity * Decibels.ratio(margin) / 2) / 2
    }

    /// How likely it is that one of `bits` is wrong.
    package func packetErrorRate(margin: Double, bits: Int) -> Double {
        1 - Decibels.exp(Double(bits) * Decibels.ln(1 - bitErrorRate(margin: margin)))
    }

    /// How many bits of a packet must be right: all but the preamble, Core 6.0, Vol 6, Part B, 2.1.
    package static func bits(payloadCount: Int) -> Int { (4 + 2 + payloadCount + 3) * 8 }

    /// The noise in a receiver, in dBm: what leaves E/N as it is at the sensitivity.
    func noise(_ mode: RadioMode) -> Double {
        sensitivity(mode) - Decibels.from(ratio: Self.energyAtSensitivity)
    }

    /// Below this power in dBm another packet is no interference: a tenth of the receiver's own noise.
    func interferenceFloor(_ mode: RadioMode) -> Double { noise(mode) - 10 }

    /// By how many dB a noise from outside makes the receiver deafer.
    func desensitization(_ mode: RadioMode, by power: Double) -> Double {
        Decibels.from(ratio: 1 + Decibels.ratio(power - noise(mode)))
    }

    /// Above this margin in dB no packet is lost to noise: the longest one fails once in a million.
    static let safeMargin = 6.0
    /// Below this margin in dB a receiver does not notice that a packet begins.
    package static let noticeableMargin = -6.0
}
