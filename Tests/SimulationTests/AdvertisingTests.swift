import BluetoothTypes
import EventLoop
import HCI
import LinkLayer
import Simulation
import Testing

/// Section numbers are those of Core 6.0, Vol 6, Part B.
@Suite("Advertising and scanning")
struct AdvertisingTests {
    @Test("4.4.2.2.1: events are the interval and 0 to 10 ms apart, on channels 37, 38, 39")
    func interval() {
        let world = World(seed: 3)
        let advertiser = Station(world, "advertiser", 0xA1)
        var packets: [AirPacket] = []
        world.airTap = { packets.append($0) }
        advertiser.advertise(interval: 0x00A0)
        world.run(for: .seconds(60))
        #expect(packets.prefix(6).map(\.channel) == [37, 38, 39, 37, 38, 39])
        let starts = packets.filter { $0.channel == 37 }.map(\.start)
        let gaps = zip(starts, starts.dropFirst()).map { $0.duration(to: $1) }
        #expect(gaps.allSatisfy { $0 >= .milliseconds(100) && $0 <= .milliseconds(110) })
        let mean = gaps.reduce(.zero, +) / gaps.count
        #expect(mean > .milliseconds(104) && mean < .milliseconds(106))
        #expect(Set(gaps).count > 100)
    }

    @Test("4.4.3.1: a passive scanner hears every event of a near advertiser, and says nothing")
    func passiveScan() throws {
        let world = World(seed: 4)
        let advertiser = Station(world, "advertiser", 0xA1)
        let scanner = Station(world, "scanner", 0xB1, at: Position(x: 2))
        var senders: Set<Int> = []
        world.airTap = { senders.insert($0.sender) }
        advertiser.advertise(interval: 0x00A0, data: [2, 1, 6, 3, 9, 0x48, 0x69])
        scanner.scan()
        world.run(for: .seconds(10))
        let reports = scanner.reports.map(\.report)
        #expect((90...100).contains(reports.count))
        let first = try #require(reports.first)
        #expect(first.eventType == .connectable)
        #expect(first.address == DeviceAddress(0xA1))
        #expect(Array(first.data) == [2, 1, 6, 3, 9, 0x48, 0x69])
        #expect(senders == [0])
    }

    @Test("4.4.3.2: an active scanner gets the scan response; duplicates can be filtered")
    func activeScan() {
        let world = World(seed: 5)
        let advertiser = Station(world, "advertiser", 0xA1)
        let scanner = Station(world, "scanner", 0xB1)
        advertiser.advertise(scanResponse: [3, 9, 0x48, 0x69])
        scanner.scan(active: true, filtersDuplicates: true)
        world.run(for: .seconds(2))
        #expect(scanner.reports.map(\.report.eventType) == [.connectable, .scanResponse])
        #expect(scanner.reports.last.map { Array($0.report.data) } == [3, 9, 0x48, 0x69])
        let delay = scanner.reports[0].at.duration(to: scanner.reports[1].at)
        // T_IFS, SCAN_REQ of 12 octets, T_IFS, SCAN_RSP of 10.
        #expect(delay == .microseconds(150 + 176 + 150 + 160))
    }

    @Test("What is said can change while it is being said")
    func newData() {
        let world = World(seed: 5)
        let advertiser = Station(world, "advertiser", 0xA1)
        let scanner = Station(world, "scanner", 0xB1)
        advertiser.advertise(data: [2, 1, 6])
        scanner.scan()
        world.run(for: .seconds(1))
        advertiser.command(LESetAdvertisingData(data: [2, 1, 4]))
        scanner.host.forgetEvents()
        world.run(for: .seconds(1))
        #expect(scanner.reports.count > 20)
        #expect(scanner.reports.allSatisfy { Array($0.report.data) == [2, 1, 4] })
    }

    @Test("RSSI falls by 6 dB when the distance doubles in free space", arguments: [1.0, 2.0, 4.0, 16.0])
    func rssi(distance: Double) {
        let world = World(seed: 6)
        let advertiser = Station(world, "advertiser", 0xA1)
        let scanner = Station(world, "scanner", 0xB1, at: Position(x: distance))
        advertiser.advertise()
        scanner.scan()
        world.run(for: .seconds(10))
        let all = scanner.reports.map { Double($0.report.rssi) }
        let mean = all.reduce(0, +) / Double(all.count)
        let expected: [Double: Double] = [1: -40.2, 2: -46.2, 4: -52.2, 16: -64.3]
        #expect(abs(mean - expected[distance]!) < 0.5)
        // 3 dB of fading, 2 of the receiver's error, and the rounding.
        #expect(all.allSatisfy { abs($0 - mean) <= 5.6 })
        #expect(Set(all).count > 1)
    }

    /// At -95 dBm, by definition one bit in a thousand is wrong; these packets have 152 bits (Vol 6, Part A, 4.1).
    @Test("Packets get lost near the edge of the range, and all of them beyond it")
    func edge() {
        func heard(at distance: Double) -> Int {
            let world = World(seed: 7)
            let advertiser = Station(world, "advertiser", 0xA1)
            let scanner = Station(world, "scanner", 0xB1, at: Position(x: distance))
            advertiser.advertise()
            scanner.scan()
            world.run(for: .seconds(10))
            return scanner.reports.count
        }
        let near = heard(at: 1)
        let edge = heard(at: 560)
        #expect(edge > near / 2 && edge < near)
        #expect(heard(at: 3000) == 0)
    }

    @Test("4.4.2.4.3: high duty cycle advertising ends after 1.28 s with Advertising Timeout")
    func directed() throws {
        let world = World(seed: 8)
        let advertiser = Station(world, "advertiser", 0xA1)
        var parameters = LESetAdvertisingParameters()
        parameters.type = .directedHighDuty
        parameters.peer = DeviceAddress(0xB1)
        advertiser.command(parameters)
        let start = world.now
        advertiser.command(LESetAdvertisingEnable(true))
        world.run(for: .seconds(2))
        let end = try #require(advertiser.host.events.last)
        #expect(end.at == start.advanced(by: .milliseconds(1280)))
        #expect(advertiser.connections.last?.status == .advertisingTimeout)
    }

    @Test("Two packets at once on a channel destroy each other, unless one is 21 dB stronger (Part A, 4.2)")
    func collision() {
        func heard(distanceOfSecond: Double) -> Set<UInt64> {
            let world = World(seed: 9)
            let first = Station(world, "first", 0xA1, at: Position(x: 1))
            let second = Station(world, "second", 0xA2, at: Position(x: distanceOfSecond))
            let scanner = Station(world, "scanner", 0xB1)
            scanner.scan()
            // Both begin at the same instant and so collide on all three channels.
            first.advertise(interval: 0x4000)
            second.advertise(interval: 0x4000)
            world.run(for: .milliseconds(10))
            return Set(scanner.reports.map(\.report.address.value))
        }
        #expect(heard(distanceOfSecond: 1) == [])
        #expect(heard(distanceOfSecond: 100) == [0xA1])
    }
}
