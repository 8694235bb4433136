/// Logarithms and powers of sums, products and quotients alone, which IEEE 754 rounds the same way everywhere.
///
/// The C library's differ in their last bit from version to version, and from processor to processor; a packet at the
/// edge of what a receiver hears would get through on one machine and not on another.
enum Decibels {
    /// The natural logarithm of a number above 0.
    static func ln(_ number: Double) -> Double {
        var (significand, exponent) = (number.significand, Double(number.exponent))
        if significand > 1.414 {
            significand /= 2
            exponent += 1
        }
        // 2 artanh t, where |t| < 0.172: the eleventh term is below 2^-55.
        let t = (significand - 1) / (significand + 1)
        let square = t * t
        var sum = 0.0
        var divisor = 21.0
        while divisor > 0 {
            sum = sum * square + 1 / divisor
            divisor -= 2
        }
        return 2 * t * sum + exponent * ln2
    }

    /// e to the power of a number.
    static func exp(_ number: Double) -> Double {
        guard number > -700 else { return 0 }
        guard number < 700 else { return .infinity }
        let exponent = (number / ln2).rounded()
        let rest = number - exponent * ln2
        // |rest| < 0.35: the fifteenth term is below 2^-60.
        var sum = 1.0
        var divisor = 15.0
        while divisor > 0 {
            sum = 1 + sum * rest / divisor
            divisor -= 1
        }
        return sum * Double(sign: .plus, exponent: Int(exponent), significand: 1)
    }

    /// A ratio of powers in dB.
    static func from(ratio: Double) -> Double { ln(ratio) * (10 / ln10) }
    /// The ratio of powers that so many dB are.
    static func ratio(_ decibels: Double) -> Double { exp(decibels * (ln10 / 10)) }

    private static let ln2 = 0.693_147_180_559_945_3
    private static let ln10 = 2.302_585_092_994_045_7
}

/// Chance that depends on what it is asked about, and not on what was asked before: what happens on one link does not
/// change with what else is in the world.
enum Chance {
    /// The finalizer of SplitMix64 (see ``SeededGenerator``).
    static func mix(_ seed: UInt64, _ value: UInt64) -> UInt64 {
        var mixed = seed &+ (value &+ 1) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// From 0 up to 1.
    static func fraction(_ bits: UInt64) -> Double { Double(bits >> 11) / 9_007_199_254_740_992 }

    /// From -1 to 1, small numbers likelier than large ones: of the two uniform numbers in the lowest 32 bits.
    static func triangle(_ bits: UInt64) -> Double {
        (Double(bits & 0xFFFF) + Double(bits >> 16 & 0xFFFF) - 65535) / 65535
    }

    /// Normally distributed with variance 1: the polar method of Marsaglia and Bray (1964).
    static func normal(_ seed: UInt64) -> Double {
        var bits = seed
        while true {
            bits = mix(bits, 0)
            let x = Double(bits & 0xFFFF_FFFF) / 2_147_483_648 - 1
            let y = Double(bits >> 32) / 2_147_483_648 - 1
            let square = x * x + y * y
            if square < 1, square > 0 { return x * (-2 * Decibels.ln(square) / square).squareRoot() }
        }
    }
}
