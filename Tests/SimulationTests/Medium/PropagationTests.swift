import BluetoothTypes
import EventLoop
import Foundation
import HCI
import Simulation
import Testing

/// Strength against distance, and what changes it.
@Suite("Propagation")
struct PropagationTests {
    /// The strengths that a scanner reports of an advertiser, once each of its events of 20 ms.
    struct Hearing {
        let world: World
        let advertiser: Station
        let scanner: Station

        init(seed: UInt64 = 1, distance: Double = 10, _ adjust: (inout RadioEnvironment) -> Void = { _ in }) {
            var environment = RadioEnvironment()
            environment.fading = 0
            environment.rssiError = 0
            adjust(&environment)
            world = World(seed: seed, environment: environment)
            advertiser = Station(world, "advertiser", 0xA1, at: Position(x: distance))
            scanner = Station(world, "scanner", 0xC1)
            advertiser.advertise()
            scanner.scan()
        }

        func strengths(for duration: Duration = .seconds(1)) -> [Double] {
            scanner.host.forgetEvents()
            world.run(for: duration)
            return scanner.reports.map { Double($0.report.rssi) }
        }
    }

    static func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(values.count) }
    static func deviation(_ values: [Double]) -> Double {
        let mean = mean(values)
        return (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)).squareRoot()
    }

    /// 20 log10(4π d f / c) at 2.44 GHz (ITU-R P.525).
    @Test("Free space", arguments: [1.0, 2, 5, 10, 50, 100])
    func freeSpace(distance: Double) {
        let loss = 20 * log10(4 * Double.pi * distance * 2.44e9 / 299_792_458)
        let strengths = Hearing(distance: distance).strengths()
        #expect(strengths.count > 20)
        for strength in strengths { #expect(abs(strength + loss) <= 0.55) }
    }

    @Test("In buildings the loss grows faster", arguments: [2.8, 3.0, 3.3])
    func exponent(exponent: Double) {
        let near = Hearing(distance: 1) { $0.pathLossExponent = exponent }.strengths()
        let far = Hearing(distance: 10) { $0.pathLossExponent = exponent }.strengths()
        #expect(abs(Self.mean(near) - Self.mean(far) - 10 * exponent) <= 1)
    }

    @Test("Fading and the receiver's error stay within their limits, and centre on the truth")
    func noise() {
        let strengths = Hearing(distance: 10) {
            $0.fading = 3
            $0.rssiError = 2
        }.strengths(for: .seconds(60))
        #expect(strengths.allSatisfy { abs($0 + 60.2) <= 5.5 })
        #expect(abs(Self.mean(strengths) + 60.2) < 0.3)
        // Two triangles of variance a² / 6, and the rounding to whole dBm.
        let expected = (9.0 / 6 + 4.0 / 6 + 1.0 / 12).squareRoot()
        #expect(abs(Self.deviation(strengths) - expected) < 0.15)
    }

    @Test("Core 6.0, Vol 4, Part E, 7.5.4: a receiver without a measure says 127")
    func noMeasure() {
        let strengths = Hearing(distance: 10) { $0.rssiLoss = 0.25 }.strengths(for: .seconds(60))
        let missing = Double(strengths.count { $0 == 127 }) / Double(strengths.count)
        #expect(abs(missing - 0.25) < 0.03)
        #expect(strengths.allSatisfy { $0 == 127 || $0 == -60 })
    }

    // MARK: Shadowing

    @Test("Over all links shadowing is normally distributed, and one link's stays as it is")
    func shadowing() {
        var values: [Double] = []
        for seed in 1...300 {
            let strengths = Hearing(seed: UInt64(seed), distance: 10) { $0.shadowing = 6 }
                .strengths(for: .milliseconds(120))
            #expect(Set(strengths).count == 1)
            values.append(strengths[0] + 60.2)
        }
        #expect(abs(Self.mean(values)) < 1)
        #expect(abs(Self.deviation(values) - 6) < 0.6)
        let within = Double(values.count { abs($0) < 6 }) / Double(values.count)
        #expect(abs(within - 0.683) < 0.08)
    }

    @Test("Both directions of a link have the same loss, and each pair of devices its own")
    func reciprocity() throws {
        var environment = RadioEnvironment.office
        environment.fading = 0
        environment.rssiError = 0
        let world = World(seed: 4, environment: environment)
        let stations = (0..<3).map { Station(world, "\($0)", 0xA0 + UInt64($0), at: Position(x: 5)) }
        stations[1].device.move(to: Position())
        stations[2].device.move(to: Position())
        var strengths: [[Int]: Set<Int8>] = [:]
        world.airTap = { packet in
            for reception in packet.receptions {
                strengths[[packet.sender, reception.device], default: []].insert(reception.rssi)
            }
        }
        for station in stations {
            station.advertise()
            station.scan()
        }
        world.run(for: .seconds(5))
        // A packet that meets another is measured with it, and so is stronger.
        let there = try #require(strengths[[0, 1]]?.min())
        #expect(there == strengths[[1, 0]]?.min())
        #expect(there != strengths[[0, 2]]?.min())
    }

    /// Gudmundson, Correlation model for shadow fading in mobile radio systems (1991): 1/e over the distance.
    @Test("Shadowing changes as a device moves: 1/e of it is left over the correlation distance")
    func correlation() {
        var (near, half, far) = ([Double](), [Double](), [Double]())
        for seed in 1...400 {
            let hearing = Hearing(seed: UInt64(seed), distance: 20) {
                $0.shadowing = 6
                $0.shadowingDistance = 4
            }
            func shadow() -> Double {
                let place = hearing.advertiser.device.position
                return hearing.strengths(for: .milliseconds(120))[0] + 40.2 + 20 * log10(place.distance(to: Position()))
            }
            let first = shadow()
            // Sideways and upwards, any direction will do.
            hearing.advertiser.device.move(to: Position(x: 20, y: 1, z: 0.2))
            near.append(first * shadow())
            hearing.advertiser.device.move(to: Position(x: 21, y: 3.5, z: 1.6))
            half.append(first * shadow())
            hearing.advertiser.device.move(to: Position(x: 20, y: 16))
            far.append(first * shadow())
        }
        #expect(Self.mean(near) / 36 > 0.75)
        #expect(abs(Self.mean(half) / 36 - 0.368) < 0.17)
        #expect(abs(Self.mean(far) / 36) < 0.17)
    }

    // MARK: Antennas

    @Test("An antenna's gain counts on both ways, and a body only where it stands")
    func antennas() {
        let hearing = Hearing(distance: 10)
        func strength() -> Double { Self.mean(hearing.strengths()) }
        #expect(strength() == -60)
        hearing.advertiser.device.antenna.gain = -4
        #expect(strength() == -64)
        hearing.scanner.device.antenna.gain = 2
        #expect(strength() == -62)
        // In a pocket.
        hearing.advertiser.device.antenna.bodyLoss = 15
        #expect(strength() == -77)
        // In front of its bearer, who faces the scanner; then with the back to it; then sideways.
        hearing.advertiser.device.antenna.bodyDirection = Position(x: 1)
        #expect(strength() == -62)
        hearing.advertiser.device.antenna.bodyDirection = Position(x: -1)
        #expect(strength() == -77)
        hearing.advertiser.device.antenna.bodyDirection = Position(y: 1)
        #expect(strength() == -62)
    }

    @Test("A strong antenna far away is heard although others at that distance are not")
    func strongAntenna() {
        let hearing = Hearing(distance: 2000)
        #expect(hearing.strengths().isEmpty)
        hearing.advertiser.device.antenna.gain = 20
        #expect(!hearing.strengths().isEmpty)
    }

    // MARK: Movement

    @Test("A device on its way is where its waypoints say")
    func movement() {
        let hearing = Hearing(distance: 1)
        let device = hearing.advertiser.device
        device.move(along: [
            Waypoint(Position(x: 11), arrival: Instant(sinceStart: .seconds(10))),
            Waypoint(Position(x: 11, y: 4), arrival: Instant(sinceStart: .seconds(12))),
        ])
        for (seconds, place) in [
            (0, Position(x: 1)), (5, Position(x: 6)), (10, Position(x: 11)), (11, Position(x: 11, y: 2)),
            (12, Position(x: 11, y: 4)), (20, Position(x: 11, y: 4)),
        ] {
            hearing.world.run(until: Instant(sinceStart: .seconds(seconds)))
            #expect(device.position.distance(to: place) < 1e-9)
        }
        let arrival = device.move(to: Position(x: 14, y: 8), speed: 2)
        #expect(arrival == Instant(sinceStart: .milliseconds(22_500)))
        hearing.world.run(for: .seconds(1))
        #expect(device.position.distance(to: Position(x: 12.2, y: 5.6)) < 1e-9)
        device.move(to: Position())
        hearing.world.run(for: .seconds(1))
        #expect(device.position == Position())
    }

    @Test("The strength follows a device that walks away, until nothing is heard, and back")
    func walk() {
        let hearing = Hearing(distance: 1)
        hearing.advertiser.device.move(along: [
            Waypoint(Position(x: 2001), arrival: Instant(sinceStart: .seconds(200))),
            Waypoint(Position(x: 1), arrival: Instant(sinceStart: .seconds(400))),
        ])
        hearing.world.run(for: .seconds(400))
        for (at, report) in hearing.scanner.reports {
            let seconds = at.sinceStart / .seconds(1)
            let distance = 1 + 10 * (seconds < 200 ? seconds : 400 - seconds)
            #expect(abs(Double(report.rssi) + 40.2 + 20 * log10(max(0.1, distance))) < 0.7)
        }
        let times = hearing.scanner.reports.map { $0.at.sinceStart / .seconds(1) }
        // 0 dBm reach -95 dBm over 550 m.
        #expect(times.contains { $0 > 50 && $0 < 55 })
        #expect(!times.contains { $0 > 120 && $0 < 280 })
        #expect(times.contains { $0 > 395 })
    }

    // MARK: Who is in the world

    @Test("What happens on a link does not change with who else is far away")
    func independence() {
        func log(others: Int) -> [String] {
            let world = World(seed: 9)
            let advertiser = Station(world, "advertiser", 0xA1, at: Position(x: 400))
            let scanner = Station(world, "scanner", 0xC1)
            advertiser.advertise()
            scanner.scan()
            for number in 0..<others {
                let place = Position(x: 100_000 + Double(number), y: 5000)
                Station(world, "\(number)", 0xB000 + UInt64(number), at: place).advertise()
            }
            world.run(for: .seconds(3))
            return scanner.reports.map { "\($0.at.sinceStart) \($0.report.rssi)" }
        }
        let alone = log(others: 0)
        #expect(alone.count > 10)
        #expect(alone == log(others: 20))
    }
}
