import BenchmarkKit
import Testing

/// Some of the worlds of Documentation/RadioModel.md. The tolerances are three standard deviations of a mean of so
/// many.
@Suite("Distance")
struct DistanceTests {
    @Test("The mean strength falls as the model says")
    func strength() {
        for row in ModelPage.strengths(seeds: 60) {
            #expect(abs(row.measured - row.expected) < 0.2, "\(row)")
        }
    }

    @Test("Advertisements are lost as the model says")
    func loss() {
        for row in ModelPage.losses(seeds: 80, distances: [400, 500, 600, 800, 1200]) {
            // Some 3,200 packets: the standard deviation is 0.9 % at most.
            #expect(abs(row.measured - row.expected) < 2.7, "\(row)")
        }
    }

    @Test("Connecting takes as long as the model says")
    func connecting() {
        for row in ModelPage.connecting(seeds: 150, distances: [1, 600, 700]) {
            #expect(abs(row.measured / row.expected - 1) < 0.22, "\(row)")
        }
    }

    @Test("Links break as the model says")
    func lifetime() {
        for row in ModelPage.lifetimes(seeds: 150, distances: [850, 900, 2000]) {
            #expect(abs(row.measured / row.expected - 1) < 0.22, "\(row)")
        }
    }
}
