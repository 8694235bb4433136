import BluetoothTypes
import EventLoop
import Foundation
import HCI
import LinkLayer
import Simulation
import Testing

@Suite("Interference")
struct InterferenceTests {
    /// What the model says of one reception: the strongest that other packets add up to must be 21 dB weaker (Core 6.0,
    /// Vol 6, Part A, 4.2).
    static func isIntact(
        _ packet: AirPacket, at receiver: Position, among all: [AirPacket], _ places: [Position]
    ) -> Bool {
        func strength(_ packet: AirPacket) -> Double {
            -40.2 - 20 * log10(max(0.1, places[packet.sender].distance(to: receiver)))
        }
        func end(_ packet: AirPacket) -> Instant { packet.start.advanced(by: packet.duration) }
        let others = all.filter {
            $0.channel == packet.channel && $0.sender != packet.sender && $0.start < end(packet)
                && packet.start < end($0)
        }
        let instants = [packet.start] + others.map(\.start).filter { $0 > packet.start }
        let peak = instants.map { instant in
            others.filter { $0.start <= instant && instant < end($0) }.reduce(0) { $0 + pow(10, strength($1) / 10) }
        }.max()!
        return peak == 0 || strength(packet) - 10 * log10(peak) >= 21
    }

    @Test("Links on the same two channels lose exactly the packets that the model says", arguments: [1, 2, 3])
    func sameChannels(seed: UInt64) throws {
        var environment = RadioEnvironment()
        environment.fading = 0
        let world = World(seed: seed, environment: environment)
        // Three pairs, near enough to each other to matter and far enough that it depends on who speaks.
        let places = [
            Position(), Position(x: 2), Position(x: 30), Position(x: 33), Position(x: 5, y: 8), Position(x: 5, y: 50),
        ]
        let stations = places.enumerated().map { Station(world, "\($0)", 0xA0 + UInt64($0), at: $1) }
        for pair in 0..<3 {
            let (central, peripheral) = (stations[2 * pair], stations[2 * pair + 1])
            var channels = LESetHostChannelClassification()
            channels.channelMap = ChannelMap(rawValue: 0b11)
            #expect(central.command(channels) == .success)
            peripheral.advertise()
            central.connect(to: peripheral, interval: UInt16(8 + pair), timeout: 3200)
            world.run(for: .seconds(1))
            let handle = try #require(peripheral.connections.first).handle
            peripheral.host.keepsData = false
            central.host.keepsData = false
            peripheral.host.supply(handle, buffers: 20) { ConnectionTests.numbered(0) }
        }
        var packets: [AirPacket] = []
        world.airTap = { packets.append($0) }
        world.run(for: .seconds(2))
        var (lost, whole) = (0, 0)
        // The last are left out, for what came behind them is not known.
        for (index, packet) in packets.dropLast(20).enumerated() {
            let near = Array(packets[max(0, index - 20)...min(packets.count - 1, index + 20)])
            for reception in packet.receptions {
                let expected = Self.isIntact(packet, at: places[reception.device], among: near, places)
                #expect(reception.isIntact == expected)
                if expected { whole += 1 } else { lost += 1 }
            }
        }
        #expect(lost > 200)
        #expect(whole > 200)
    }

    @Test("Two weaker packets at once add up to what destroys a third")
    func sum() {
        // Each alone is 22 dB weaker than what the listener hears, and both at once 19 dB.
        var environment = RadioEnvironment()
        environment.fading = 0
        let (near, far) = (1.0, pow(10, 22.0 / 20))
        func losses(interferers: Int) -> Int {
            let world = World(seed: 1, environment: environment)
            let places = [Position(), Position(x: near), Position(x: -far), Position(y: far)]
            let stations = (0..<2 + interferers).map {
                Station(world, "\($0)", 0xA0 + UInt64($0), at: places[$0])
            }
            var lost = 0
            world.airTap = { packet in
                if packet.sender == 1 { lost += packet.receptions.count { $0.device == 0 && !$0.isIntact } }
            }
            stations[0].scan()
            for station in stations.dropFirst() {
                var parameters = LESetAdvertisingParameters()
                parameters.intervalMin = 0x20
                parameters.intervalMax = 0x20
                parameters.type = .nonconnectable
                #expect(station.command(parameters) == .success)
                station.command(LESetAdvertisingData(data: [30] + Array(repeating: 0xFF, count: 30)))
                station.command(LESetAdvertisingEnable(true))
            }
            world.run(for: .seconds(120))
            return lost
        }
        #expect(losses(interferers: 1) == 0)
        #expect(losses(interferers: 2) > 0)
    }

    @Test("A reading has all the power on the channel in it")
    func reading() {
        var environment = RadioEnvironment()
        environment.fading = 0
        environment.rssiError = 0
        let world = World(seed: 1, environment: environment)
        let scanner = Station(world, "scanner", 0xC0)
        for number in 1...4 { Station(world, "\(number)", 0xA0 + UInt64(number), at: Position(x: 10)).advertise() }
        var readings: [Bool: Set<Int8>] = [:]
        world.airTap = { packet in
            for reception in packet.receptions where reception.device == 0 {
                readings[reception.isIntact, default: []].insert(reception.rssi)
            }
        }
        scanner.scan()
        world.run(for: .seconds(20))
        #expect(readings[true] == [-60])
        // Two of the same strength: 3 dB more.
        #expect(readings[false]?.contains(-57) == true)
        #expect(readings[false]?.isSubset(of: [-57, -55]) == true)
    }

    // MARK: Wi-Fi

    /// A link of packets with so many octets, beside a Wi-Fi; the share of the packets that a Wi-Fi has destroyed, by
    /// channel.
    static func losses(_ interferer: Interferer?, seconds: Int = 15) throws -> [UInt8: (lost: Int, all: Int)] {
        let pair = try Pair(interval: 6, timeout: 3200)
        pair.world.environment.fading = 0
        if let interferer { pair.world.addInterferer(interferer) }
        pair.peripheral.host.keepsData = false
        pair.central.host.keepsData = false
        pair.peripheral.host.supply(pair.peripheralHandle, buffers: 20) { ConnectionTests.numbered(0) }
        var counts: [UInt8: (lost: Int, all: Int)] = [:]
        pair.world.airTap = { packet in
            guard packet.octets.count == 29, let reception = packet.receptions.first else { return }
            counts[packet.channel, default: (0, 0)].all += 1
            if !reception.isIntact { counts[packet.channel, default: (0, 0)].lost += 1 }
        }
        pair.world.run(for: .seconds(seconds))
        return counts
    }

    @Test("A near Wi-Fi destroys what meets its bursts, on its channels alone")
    func wiFi() throws {
        let counts = try Self.losses(.wiFi(channel: 6, at: Position(x: 2), dutyCycle: 0.3))
        var (lost, all) = (0, 0)
        for (channel, count) in counts {
            // Within 10 MHz of 2437 MHz: 2428 is channel 11, 2446 is 20.
            if (11...20).contains(channel) {
                (lost, all) = (lost + count.lost, all + count.all)
            } else {
                #expect(count.lost == 0, "channel \(channel)")
            }
        }
        // A burst of 1.5 ms in each 5 ms meets a packet of 296 µs in this share of the cases, whose last bit or two
        // may survive.
        #expect(abs(Double(lost) / Double(all) - (1.5 + 0.296) / 5) < 0.03)
    }

    @Test("A far or silent Wi-Fi destroys nothing")
    func farWiFi() throws {
        for interferer in [
            Interferer.wiFi(channel: 6, at: Position(x: 100_000), dutyCycle: 0.9),
            .wiFi(channel: 6, at: Position(x: 1), dutyCycle: 0),
        ] {
            #expect(try Self.losses(interferer, seconds: 5).values.allSatisfy { $0.lost == 0 })
        }
    }

    @Test("Connections come through a Wi-Fi, and what is taken away is silent")
    func removal() throws {
        let world = World(seed: 1)
        let number = world.addInterferer(
            Interferer(position: Position(), power: 20, centre: 2440, bandwidth: 100, dutyCycle: 1))
        let central = Station(world, "central", 0xC1)
        let peripheral = Station(world, "peripheral", 0xA1, at: Position(x: 3))
        peripheral.advertise()
        central.connect(to: peripheral)
        world.run(for: .seconds(2))
        #expect(central.connections.isEmpty)
        world.removeInterferer(number)
        world.run(for: .seconds(1))
        #expect(central.connections.count == 1)
    }
}
