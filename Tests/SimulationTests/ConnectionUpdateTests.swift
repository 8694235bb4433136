import EventLoop
import HCI
import LinkLayer
import Simulation
import Testing

/// Section numbers are those of Core 6.0, Vol 6, Part B.
@Suite("Connection updates")
struct ConnectionUpdateTests {
    static let range = HCI.ConnectionParameterRange(
        intervalMin: 80, intervalMax: 80, latency: 0, supervisionTimeout: 300)

    static func updates(_ station: Station) -> [(at: Instant, event: LEConnectionUpdateComplete)] {
        station.host.events.compactMap { at, event in
            if case .connectionUpdateComplete(let event) = event { (at, event) } else { nil }
        }
    }

    @Test("5.1.1: the central's new interval begins on both sides at the instant, and no packet is lost")
    func byCentral() throws {
        let pair = try Pair(interval: 24)
        var starts: [Instant] = []
        var announced: Int?
        pair.world.airTap = { packet in
            guard packet.sender == 0 else { return }
            if packet.octets.count == 14, packet.octets[2] == 0x00, announced == nil { announced = starts.count }
            starts.append(packet.start)
        }
        var update = LEConnectionUpdate()
        update.handle = pair.centralHandle
        update.parameters = Self.range
        #expect(pair.central.command(update) == .success)
        pair.world.run(for: .seconds(2))
        let first = try #require(announced)
        let gaps = zip(starts, starts.dropFirst()).map { $0.duration(to: $1) }
        // Announced for six events later; from that one on 100 ms lie between two.
        #expect(gaps[..<(first + 6)].allSatisfy { $0 == .milliseconds(30) })
        #expect(gaps[(first + 6)...].allSatisfy { $0 == .milliseconds(100) })
        for station in [pair.central, pair.peripheral] {
            let all = Self.updates(station)
            #expect(all.map(\.event.interval) == [80])
            #expect(all.map(\.event.supervisionTimeout) == [300])
            let distance = all[0].at.duration(to: starts[first + 6])
            #expect(distance >= .microseconds(-1) && distance < .milliseconds(3))
        }
        #expect(pair.central.disconnections.isEmpty && pair.peripheral.disconnections.isEmpty)
    }

    @Test("5.1.7: the peripheral asks, the central's host agrees")
    func byPeripheral() throws {
        let pair = try Pair(interval: 24)
        var update = LEConnectionUpdate()
        update.handle = pair.peripheralHandle
        update.parameters = Self.range
        #expect(pair.peripheral.command(update) == .success)
        pair.world.run(for: .milliseconds(200))
        let asked = pair.central.host.events.compactMap { _, event -> LERemoteConnectionParameterRequest? in
            if case .remoteConnectionParameterRequest(let event) = event { event } else { nil }
        }
        #expect(asked.map(\.parameters) == [Self.range])
        var reply = LERemoteConnectionParameterRequestReply()
        reply.handle = pair.centralHandle
        reply.parameters = Self.range
        #expect(pair.central.command(reply) == .success)
        pair.world.run(for: .seconds(1))
        #expect(Self.updates(pair.peripheral).map(\.event.interval) == [80])
        #expect(Self.updates(pair.peripheral).map(\.event.status) == [.success])
        #expect(Self.updates(pair.central).map(\.event.interval) == [80])
    }

    @Test("5.1.7: the central's host refuses, or does not want to be asked", arguments: [true, false])
    func refused(isAsked: Bool) throws {
        let world = World(seed: 1)
        let central = Station(world, "central", 0xC1)
        let peripheral = Station(world, "peripheral", 0xA1)
        if !isAsked { central.command(LESetEventMask(mask: 0x1F)) }
        peripheral.advertise()
        central.connect(to: peripheral)
        world.run(for: .milliseconds(500))
        var update = LEConnectionUpdate()
        update.handle = try #require(peripheral.connections.first).handle
        update.parameters = Self.range
        peripheral.command(update)
        world.run(for: .milliseconds(200))
        if isAsked {
            let handle = try #require(central.connections.first).handle
            central.command(LERemoteConnectionParameterRequestNegativeReply(handle: handle))
        }
        world.run(for: .seconds(1))
        let expected: HCIErrorCode = isAsked ? .unacceptableConnectionParameters : .unsupportedRemoteFeature
        #expect(Self.updates(peripheral).map(\.event.status) == [expected])
        #expect(Self.updates(peripheral).map(\.event.interval) == [6])
        #expect(peripheral.disconnections.isEmpty)
    }

    @Test("5.2: a peer that never answers a procedure loses the link after 40 s")
    func responseTimeout() throws {
        let pair = try Pair(interval: 24)
        var update = LEConnectionUpdate()
        update.handle = pair.peripheralHandle
        update.parameters = Self.range
        pair.peripheral.command(update)
        let asked = pair.world.now
        pair.world.run(for: .seconds(60))
        let end = try #require(pair.peripheral.disconnections.first)
        #expect(end.event.reason == .linkLayerResponseTimeout)
        #expect(end.at == asked.advanced(by: .seconds(40)))
    }

    @Test("5.1.2: a new channel map is in use from its instant on")
    func channelMap() throws {
        let pair = try Pair()
        var command = LESetHostChannelClassification()
        command.channelMap = ChannelMap(rawValue: 0b1111_0000)
        #expect(pair.central.command(command) == .success)
        pair.world.run(for: .milliseconds(200))
        var channels: Set<UInt8> = []
        pair.world.airTap = { channels.insert($0.channel) }
        pair.world.run(for: .seconds(2))
        #expect(channels == [4, 5, 6, 7])
        for (station, handle) in [
            (pair.central, pair.centralHandle), (pair.peripheral, pair.peripheralHandle),
        ] {
            var question = LEReadChannelMap()
            question.handle = handle
            #expect(try station.ask(question).channelMap.rawValue == 0b1111_0000)
            #expect(station.disconnections.isEmpty)
        }
    }
}
