import BluetoothTypes
import EventLoop
import HCI
import LinkLayer
import Simulation
import Testing
import VirtualController

/// Section numbers are those of Core 6.0, Vol 6, Part B, unless they say otherwise.
@Suite("Connections")
struct ConnectionTests {
    /// A packet of 27 octets that begins with its number.
    static func numbered(_ number: Int) -> [UInt8] {
        [23, 0, 4, 0, UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
            + Array(repeating: 0xEE, count: 21)
    }

    @Test("4.4.4, 4.5: both sides learn of the connection, and of each other")
    func connect() throws {
        let pair = try Pair(interval: 24, timeout: 200)
        let central = try #require(pair.central.connections.last)
        let peripheral = try #require(pair.peripheral.connections.last)
        #expect(central.status == .success && peripheral.status == .success)
        #expect(central.role == .central && peripheral.role == .peripheral)
        #expect(central.peer == pair.peripheral.device.address)
        #expect(peripheral.peer == pair.central.device.address)
        for event in [central, peripheral] {
            #expect(event.interval == 24 && event.latency == 0 && event.supervisionTimeout == 200)
        }
        let algorithms = [pair.central, pair.peripheral].map { station in
            station.host.events.compactMap { _, event -> UInt8? in
                if case .channelSelectionAlgorithm(let event) = event { event.algorithm } else { nil }
            }
        }
        #expect(algorithms == [[1], [1]])
        // Advertising is over.
        pair.central.scan()
        pair.world.run(for: .seconds(1))
        #expect(pair.central.reports.isEmpty)
    }

    @Test("4.5.1: one exchange in each interval on an idle link")
    func anchors() throws {
        let pair = try Pair(interval: 24)
        var packets: [AirPacket] = []
        pair.world.airTap = { packets.append($0) }
        pair.world.run(for: .seconds(3))
        let starts = packets.filter { $0.sender == 0 }.map(\.start)
        #expect(starts.count == 100)
        #expect(zip(starts, starts.dropFirst()).allSatisfy { $0.duration(to: $1) == .milliseconds(30) })
        #expect(packets.filter { $0.sender == 1 }.count == 100)
        #expect(Set(packets.map(\.channel)).count > 25)
    }

    @Test("4.5.9: all data arrives in order and exactly once, both ways, although 30 % of the packets are lost")
    func retransmission() throws {
        let pair = try Pair(timeout: 1000)
        pair.world.environment.packetLoss = 0.3
        let count = 500
        for (station, handle) in [
            (pair.central, pair.centralHandle), (pair.peripheral, pair.peripheralHandle),
        ] {
            var next = 0
            station.host.supply(handle, buffers: 20) {
                guard next < count else { return nil }
                next += 1
                return Self.numbered(next - 1)
            }
        }
        pair.world.run(for: .seconds(30))
        for station in [pair.central, pair.peripheral] {
            #expect(station.disconnections.isEmpty)
            #expect(station.host.data.map(\.payload) == (0..<count).map(Self.numbered))
            #expect(station.host.data.allSatisfy { $0.header.boundary == .firstFlushable })
        }
    }

    @Test("4.5.10: packets longer than a PDU travel in fragments")
    func fragments() throws {
        var configuration = ControllerConfiguration(address: .init(0))
        configuration.aclLength = 251
        let pair = try Pair(configuration: configuration)
        let payload = (0..<100).map { UInt8($0) }
        pair.central.host.send(
            aclPacket(handle: pair.centralHandle, boundary: .firstNonFlushable, payload: payload))
        pair.world.run(for: .seconds(1))
        let data = pair.peripheral.host.data
        #expect(data.map(\.payload.count) == [27, 27, 27, 19])
        #expect(data.map(\.header.boundary) == [.firstFlushable, .continuation, .continuation, .continuation])
        #expect(data.flatMap(\.payload) == payload)
        let completed = pair.central.host.events.compactMap { _, event -> [NumberOfCompletedPackets.Entry]? in
            if case .numberOfCompletedPackets(let event) = event { event.entries } else { nil }
        }
        #expect(completed == [[.init(handle: pair.centralHandle, count: 1)]])
    }

    @Test("5.1.9: after a length update one PDU carries 251 octets, and both hosts know")
    func dataLength() throws {
        var configuration = ControllerConfiguration(address: .init(0))
        configuration.aclLength = 251
        let pair = try Pair(configuration: configuration)
        #expect(
            pair.central.command(LESetDataLength(handle: pair.centralHandle, txOctets: 251, txTime: 2120)) == .success)
        pair.world.run(for: .seconds(1))
        for (station, transmit, receive) in [(pair.central, 251, 27), (pair.peripheral, 27, 251)] {
            let changes = station.host.events.compactMap { _, event -> LEDataLengthChange? in
                if case .dataLengthChange(let event) = event { event } else { nil }
            }
            #expect(changes.map(\.txOctets) == [UInt16(transmit)])
            #expect(changes.map(\.rxOctets) == [UInt16(receive)])
        }
        let payload = (0..<251).map { UInt8($0) }
        pair.central.host.send(
            aclPacket(handle: pair.centralHandle, boundary: .firstNonFlushable, payload: payload))
        pair.world.run(for: .seconds(1))
        #expect(pair.peripheral.host.data.map(\.payload) == [payload])
    }

    @Test("Vol 4, Part E, 4.1: what overruns the buffers is dropped, with Data Buffer Overflow")
    func overflow() throws {
        let pair = try Pair()
        for number in 0..<25 {
            pair.central.host.send(
                aclPacket(handle: pair.centralHandle, boundary: .firstNonFlushable, payload: Self.numbered(number)))
        }
        pair.world.run(for: .seconds(1))
        #expect(pair.peripheral.host.data.map(\.payload) == (0..<20).map(Self.numbered))
        let overflows = pair.central.host.events.count {
            if case .dataBufferOverflow = $0.event { true } else { false }
        }
        #expect(overflows == 5)
        let completed = pair.central.host.events.reduce(0) { sum, entry in
            guard case .numberOfCompletedPackets(let event) = entry.event else { return sum }
            return sum + event.entries.reduce(0) { $0 + Int($1.count) }
        }
        #expect(completed == 20)
    }

    @Test("4.5.1: a peripheral with latency stays away while it has nothing to say, and comes when it has")
    func latency() throws {
        let pair = try Pair(interval: 24, latency: 9, timeout: 300)
        pair.world.run(for: .seconds(1))
        var packets: [AirPacket] = []
        pair.world.airTap = { packets.append($0) }
        pair.world.run(for: .seconds(30))
        #expect(packets.count { $0.sender == 0 } == 1000)
        #expect((99...101).contains(packets.count { $0.sender == 1 }))
        #expect(pair.central.disconnections.isEmpty)
        pair.peripheral.host.send(
            aclPacket(
                handle: pair.peripheralHandle, boundary: .firstNonFlushable, payload: Self.numbered(1)))
        let asked = pair.world.now
        pair.world.run(for: .seconds(1))
        let arrived = try #require(pair.central.host.data.first)
        #expect(asked.duration(to: arrived.at) <= .milliseconds(32))
    }

    @Test("RSSI of a link follows the devices (Vol 4, Part E, 7.5.4)")
    func rssi() throws {
        let pair = try Pair(distance: 1)
        var answer = try pair.central.ask(ReadRSSI(handle: pair.centralHandle))
        #expect(abs(Double(answer.rssi) + 40) <= 4)
        pair.peripheral.device.move(to: Position(x: 32))
        pair.world.run(for: .seconds(1))
        answer = try pair.central.ask(ReadRSSI(handle: pair.centralHandle))
        #expect(abs(Double(answer.rssi) + 70) <= 4)
    }

    @Test("5.1.4, 5.1.5: features and versions are exchanged from either side")
    func exchanges() throws {
        let pair = try Pair()
        for (station, handle) in [
            (pair.central, pair.centralHandle), (pair.peripheral, pair.peripheralHandle),
        ] {
            #expect(station.command(LEReadRemoteFeatures(handle: handle)) == .success)
            #expect(station.command(ReadRemoteVersion(handle: handle)) == .success)
            pair.world.run(for: .seconds(1))
            let features = station.host.events.compactMap { _, event -> LEFeatures? in
                if case .readRemoteFeaturesComplete(let event) = event { event.features } else { nil }
            }
            #expect(features.count == 1)
            #expect(features[0].contains([.connectionParametersRequest, .channelSelectionAlgorithm2]))
            let versions = station.host.events.compactMap { _, event -> UInt8? in
                if case .readRemoteVersionComplete(let event) = event { event.version } else { nil }
            }
            #expect(versions == [0x0E])
        }
    }
}
