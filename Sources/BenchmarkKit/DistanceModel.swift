import EventLoop
import HCI
package import Simulation

/// What the model says of a distance: formulas, worked out apart from the medium.
package struct DistanceModel {
    package let environment: RadioEnvironment
    /// In metres.
    package let distance: Double

    package init(_ environment: RadioEnvironment, distance: Double) {
        self.environment = environment
        self.distance = distance
    }

    /// The mean strength of 0 dBm there, in dBm.
    package var strength: Double { -environment.pathLoss(distance) }

    /// How likely it is that a packet of LE 1M is noticed, and that it arrives whole: the mean over the fading, whose
    /// density is a triangle.
    package func reception(payloadCount: Int) -> (noticed: Double, intact: Double) {
        let bits = RadioEnvironment.bits(payloadCount: payloadCount)
        let steps = 2000
        var (noticed, intact) = (0.0, 0.0)
        for step in 0..<steps {
            let fading = (Double(step) + 0.5) / Double(steps) * 2 - 1
            let density = (1 - abs(fading)) * 2 / Double(steps)
            let margin = strength + fading * environment.fading - environment.sensitivity
            guard margin >= RadioEnvironment.noticeableMargin else { continue }
            noticed += density
            intact += density * (1 - environment.packetErrorRate(margin: margin, bits: bits))
        }
        return (noticed, intact)
    }

    /// How long a central that listens all the time needs to connect, in ms, to an advertiser with an interval of 20 ms
    /// and a random delay of 0...10 ms, connections having an interval of 7.5 ms.
    ///
    /// A connection needs an ADV_IND that the central reads and a CONNECT_IND that the peripheral reads. If only the
    /// latter is lost, the central notices after six intervals (Core 6.0, Vol 6, Part B, 4.5.2), 45 ms; the first
    /// event behind these comes 53.1 ms after the last: two spacings, or three with a probability of 1/8.
    package var timeToConnect: Double {
        let spacing = 25.0
        // The mean of what is left of a spacing at any time: E[S²] / 2 E[S].
        let first = (spacing * spacing + 100.0 / 12) / (2 * spacing)
        let heard = reception(payloadCount: Self.advertisementLength).intact
        let answered = reception(payloadCount: 34).intact
        let misses = spacing * (1 / heard - 1)
        return first + misses + (1 / answered - 1) * (2 * spacing + spacing / 8 + misses)
    }

    /// AdvA and the data.
    package static let advertisementLength = 6 + 3

    /// Who hears something whole in a connection event without data: how likely it is that both do, or one alone.
    ///
    /// The central's packet is answered if it is noticed, even if it cannot be read. Whoever could not read asks once
    /// more, and the other is there if it could not read either; two unreadable packets in a row end the event. Core
    /// 6.0, Vol 6, Part B, 4.5.6 and 4.5.9.
    private var event: (both: Double, peripheral: Double, central: Double) {
        let (noticed, intact) = reception(payloadCount: 0)
        let unreadable = noticed - intact
        let twice = unreadable * unreadable * intact
        return (
            both: intact * intact + unreadable * intact * intact + twice * intact,
            peripheral: intact * (1 - intact) + twice * (1 - intact),
            central: unreadable * intact * (1 - intact)
        )
    }

    /// How long an idle link lives, in ms, until the central's supervision ends it: the mean time of the Markov chain
    /// whose states are in how many events in a row each side has heard nothing. A peripheral that has given up is
    /// silent.
    ///
    /// - Parameters:
    ///   - interval: in ms.
    ///   - timeout: the supervision timeout in ms, no multiple of the interval.
    package func lifetime(interval: Double, timeout: Double) -> Double {
        let (both, peripheral, central) = event
        let neither = 1 - both - peripheral - central
        let run = Int(timeout / interval)
        // The events to come, by the silence of the peripheral and that of the central.
        var toCome = Array(repeating: Array(repeating: 0.0, count: run + 1), count: run + 1)
        var change = 1.0
        while change > 1e-6 {
            change = 0
            for silent in (0...run).reversed() {
                for deaf in (0..<run).reversed() {
                    var events = Double(run - deaf)
                    if silent < run {
                        events = 1 + both * toCome[0][0] + peripheral * toCome[0][deaf + 1]
                        events += central * toCome[silent + 1][0] + neither * toCome[silent + 1][deaf + 1]
                    }
                    change = max(change, abs(events - toCome[silent][deaf]))
                    toCome[silent][deaf] = events
                }
            }
        }
        return toCome[0][0] * interval + timeout - Double(run) * interval
    }
}

/// What happens at a distance in our worlds, over many seeds.
package struct DistanceExperiment {
    package let environment: RadioEnvironment
    package let distance: Double

    package init(_ environment: RadioEnvironment, distance: Double) {
        self.environment = environment
        self.distance = distance
    }

    /// An interval of the scanner's that is longer than an experiment: it stays on channel 37.
    private static let longScan: UInt16 = 0x4000
    private static let slowest: Duration = .seconds(10)

    /// The share of advertisements that do not arrive whole, and the mean strength of those that are noticed.
    package func advertisements(seed: UInt64) -> (sent: Int, intact: Int, strength: Double) {
        let world = World(seed: seed, environment: environment)
        let advertiser = EventHost.add(to: world, 0xA1, at: Position(x: distance))
        let scanner = EventHost.add(to: world, 0xC1, at: Position())
        var (sent, intact, noticed, strength) = (0, 0, 0, 0.0)
        scanner.scan(interval: Self.longScan)
        world.run(for: .milliseconds(1))
        world.airTap = { packet in
            sent += 1
            guard let reception = packet.receptions.first else { return }
            noticed += 1
            strength += Double(reception.rssi)
            if reception.isIntact { intact += 1 }
        }
        advertiser.advertise(.nonconnectable, interval: 0x20, channels: 0b1)
        world.run(for: .seconds(1))
        return (sent, intact, noticed == 0 ? 0 : strength / Double(noticed))
    }

    /// How long a central needs to connect, in ms; `nil` if it is given up after ten minutes.
    package func timeToConnect(seed: UInt64) -> Double? {
        let world = World(seed: seed, environment: environment)
        let peripheral = EventHost.add(to: world, 0xA1, at: Position(x: distance))
        let central = EventHost.add(to: world, 0xC1, at: Position())
        peripheral.advertise(interval: 0x20)
        // Anywhere between two advertisements.
        world.run(for: .milliseconds(500) + .microseconds(Int(seed % 97) * 270))
        let begin = world.now
        var end: Instant?
        let address = peripheral.device.address
        let connect = { central.connect(to: address, scanInterval: Self.longScan, interval: 6, timeout: 100) }
        central.onEvent = { event, _ in if case .disconnectionComplete(_) = event { connect() } }
        peripheral.onEvent = { event, now in
            if case .connectionComplete(let complete) = event, complete.status == .success { end = end ?? now }
        }
        connect()
        for _ in 0..<6000 where end == nil { world.run(for: .milliseconds(100)) }
        return end.map { begin.duration(to: $0) / .milliseconds(1) }
    }

    /// How long an idle link with an interval of 11.25 ms and a supervision timeout of 100 ms lives once its peripheral
    /// is at the distance, in ms; `nil` if it lives for ten minutes.
    package func lifetime(seed: UInt64) -> Double? {
        let world = World(seed: seed, environment: environment)
        let peripheral = EventHost.add(to: world, 0xA1, at: Position(x: 1))
        let central = EventHost.add(to: world, 0xC1, at: Position())
        peripheral.advertise(interval: 0x20)
        central.connect(to: peripheral.device.address, scanInterval: Self.longScan, interval: 9, timeout: 10)
        world.run(for: .milliseconds(500))
        var (last, end): (Instant?, Instant?)
        world.airTap = { packet in if packet.sender == 1 { last = packet.start } }
        central.onEvent = { event, now in if case .disconnectionComplete(_) = event { end = end ?? now } }
        // Away right behind an event.
        for _ in 0..<200 where last == nil { world.run(for: .microseconds(100)) }
        world.run(for: .milliseconds(1))
        world.airTap = nil
        guard let begin = last else { return nil }
        peripheral.device.move(to: Position(x: distance))
        for _ in 0..<6000 where end == nil { world.run(for: .milliseconds(100)) }
        return end.map { begin.duration(to: $0) / .milliseconds(1) }
    }
}
