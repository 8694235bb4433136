import Foundation
import Simulation
import Testing

/// The formulas of the model, against the C library's functions.
@Suite("Error rates")
struct ErrorRateTests {
    /// exp(-E/2N)/2 where E/N is 2 ln 500 at the sensitivity (Proakis, Digital Communications, noncoherent FSK).
    static func bitErrorRate(_ margin: Double) -> Double { exp(-log(500) * pow(10, margin / 10)) / 2 }

    @Test("One bit in a thousand is wrong at the sensitivity, and fewer above")
    func bits() {
        let environment = RadioEnvironment()
        #expect(abs(environment.bitErrorRate(margin: 0) - 0.001) < 1e-12)
        for margin in stride(from: -10.0, through: 10, by: 0.25) {
            let expected = Self.bitErrorRate(margin)
            #expect(abs(environment.bitErrorRate(margin: margin) - expected) <= 1e-13 + expected * 1e-12)
        }
    }

    @Test("A packet is lost with any of its bits, whatever its length", arguments: [72, 272, 2104])
    func packets(bits: Int) {
        let environment = RadioEnvironment()
        for margin in stride(from: -6.0, through: 8, by: 0.5) {
            let expected = 1 - pow(1 - Self.bitErrorRate(margin), Double(bits))
            #expect(abs(environment.packetErrorRate(margin: margin, bits: bits) - expected) < 1e-12)
        }
        #expect(environment.packetErrorRate(margin: -200, bits: bits) > 0.999)
        #expect(environment.packetErrorRate(margin: 200, bits: bits) == 0)
    }

    @Test("Loss and distance are each other's inverse, over all magnitudes")
    func distance() {
        var environment = RadioEnvironment()
        for exponent in [1.7, 2, 3.3] {
            environment.pathLossExponent = exponent
            for distance in [0.1, 0.5, 1, 3.7, 550, 1e6] {
                let loss = environment.pathLoss(distance)
                #expect(abs(loss - (40.2 + 10 * exponent * log10(distance))) < 1e-10)
                #expect(abs(environment.distance(atLoss: loss) / distance - 1) < 1e-10)
            }
        }
        #expect(environment.pathLoss(0) == environment.pathLoss(0.1))
    }
}
