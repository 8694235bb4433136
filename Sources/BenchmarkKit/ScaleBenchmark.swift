import BluetoothTypes
import EventLoop
import Glibc
import HCI
import Simulation

/// What worlds cost: the processor's time for a time of theirs.
package struct ScaleBenchmark {
    package struct Cost {
        package var devices: Int
        /// Of simulated time.
        package var seconds: Double
        /// Of the processor's time.
        package var processor: Double
        /// On the air.
        package var packets: Int
        /// What the world had to deal with: see `World.eventCount`.
        package var events: Int
        /// What the scanner reported.
        package var reports: Int
        /// In microseconds of the processor's time.
        package var perPacket: Double { processor * 1_000_000 / Double(packets) }
        package var perEvent: Double { processor * 1_000_000 / Double(events) }
    }

    /// One link with an interval of 30 ms, and a packet of 27 octets from the host each 100 ms.
    package static func link(minutes: Int) -> Cost {
        let world = World(seed: 1)
        let peripheral = EventHost.add(to: world, 0xA1, at: Position(x: 1))
        let central = EventHost.add(to: world, 0xC1, at: Position())
        peripheral.advertise(interval: 0x20)
        central.connect(to: peripheral.device.address, scanInterval: 0x60, interval: 24, timeout: 400)
        world.run(for: .seconds(1))
        let packet = aclPacket(
            handle: 0x0040, boundary: .firstNonFlushable, payload: [23, 0, 4, 0] + Array(repeating: 7, count: 23))
        func send() {
            peripheral.send(packet: packet)
            world.schedule(after: .milliseconds(100)) { send() }
        }
        send()
        return measure(world, seconds: Double(60 * minutes), reports: { 0 })
    }

    /// Advertisers with an interval of 100 ms, and a scanner that never rests in their midst.
    ///
    /// - Parameter area: for each device in square metres; `nil` for a hall of 40 by 40 m for all of them.
    package static func advertisers(_ count: Int, area: Double?, seconds: Double) -> Cost {
        var environment = RadioEnvironment.office
        environment.shadowing = 0
        let world = World(seed: 1, environment: environment)
        let side = area.map { (Double(count) * $0).squareRoot() } ?? 40
        let columns = Int(Double(count).squareRoot().rounded(.up))
        let scanner = EventHost.add(to: world, 0xC1, at: Position())
        var reports = 0
        scanner.onEvent = { event, _ in if case .advertisingReports(let all) = event { for _ in all { reports += 1 } } }
        scanner.scan(interval: 0x60)
        for number in 0..<count {
            let (column, row) = (number % columns, number / columns)
            let place = Position(
                x: (Double(column) / Double(columns) - 0.5) * side, y: (Double(row) / Double(columns) - 0.5) * side,
                z: 1)
            let advertiser = EventHost.add(to: world, 0xA_0000 + UInt64(number), at: place)
            // They are switched on one after the other within an interval.
            world.schedule(after: .microseconds(number * 100_000 / count)) { advertiser.advertise(interval: 0xA0) }
        }
        world.run(for: .milliseconds(200))
        reports = 0
        return measure(world, seconds: seconds, reports: { reports })
    }

    private static func measure(_ world: World, seconds: Double, reports: () -> Int) -> Cost {
        let (begin, before, eventsBefore) = (Self.processor, world.packetCount, world.eventCount)
        world.run(for: .milliseconds(Int(seconds * 1000)))
        return Cost(
            devices: world.devices.count, seconds: seconds, processor: Self.processor - begin,
            packets: world.packetCount - before, events: world.eventCount - eventsBefore, reports: reports())
    }

    /// The time of the processor that this process has used, in s.
    private static var processor: Double { Double(clock()) / Double(CLOCKS_PER_SEC) }

    /// In MiB.
    package static var peakMemory: Double {
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_maxrss) / 1024
    }
}
