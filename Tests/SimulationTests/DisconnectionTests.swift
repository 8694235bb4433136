import EventLoop
import HCI
import Simulation
import Testing

/// Section numbers are those of Core 6.0, Vol 6, Part B.
@Suite("Ends of connections")
struct DisconnectionTests {
    @Test("5.1.6: either side ends the link, and both are told who did", arguments: [true, false])
    func terminate(byCentral: Bool) throws {
        let pair = try Pair()
        let (first, second) = byCentral ? (pair.central, pair.peripheral) : (pair.peripheral, pair.central)
        let handle = byCentral ? pair.centralHandle : pair.peripheralHandle
        #expect(first.command(Disconnect(handle: handle)) == .success)
        let asked = pair.world.now
        pair.world.run(for: .seconds(1))
        #expect(first.disconnections.map(\.event.reason) == [.localHostTerminated])
        #expect(second.disconnections.map(\.event.reason) == [.remoteUserTerminated])
        #expect(asked.duration(to: try #require(first.disconnections.first).at) < .milliseconds(30))
        // The handle is free again, and the advertiser can be found again.
        #expect(first.command(Disconnect(handle: handle)) == .unknownConnection)
        pair.peripheral.advertise()
        pair.central.connect(to: pair.peripheral)
        pair.world.run(for: .milliseconds(500))
        #expect(pair.central.connections.count == 2)
    }

    @Test("5.1.6: the word gets through although 30 % of the packets are lost", arguments: 1...10)
    func terminateWithLoss(seed: UInt64) throws {
        let pair = try Pair(seed: seed, timeout: 400)
        pair.world.environment.packetLoss = 0.3
        pair.central.command(Disconnect(handle: pair.centralHandle))
        pair.world.run(for: .seconds(5))
        #expect(pair.central.disconnections.map(\.event.reason) == [.localHostTerminated])
        let reason = try #require(pair.peripheral.disconnections.first).event.reason
        #expect(reason == .remoteUserTerminated)
    }

    @Test("4.5.2: a link is given up exactly one supervision timeout after the last packet", arguments: [true, false])
    func supervision(batteryOut: Bool) throws {
        let pair = try Pair(timeout: 72)
        var lastHeard = Instant()
        pair.world.airTap = { packet in
            if packet.receptions.contains(where: { $0.device == 0 && $0.isIntact }) {
                lastHeard = packet.start.advanced(by: packet.duration)
            }
        }
        pair.world.run(for: .seconds(1))
        if batteryOut {
            pair.peripheral.device.removeFromAir()
        } else {
            pair.peripheral.device.move(to: Position(x: 1e6))
        }
        pair.world.run(for: .seconds(3))
        let end = try #require(pair.central.disconnections.first)
        #expect(end.event.reason == .connectionTimeout)
        #expect(end.at == lastHeard.advanced(by: .milliseconds(720)))
        #expect(pair.peripheral.disconnections.count == (batteryOut ? 0 : 1))
    }

    @Test("4.5.2: a link on which nothing is ever heard is given up after six intervals, with 0x3E")
    func notEstablished() throws {
        let world = World(seed: 1)
        let central = Station(world, "central", 0xC1)
        let peripheral = Station(world, "peripheral", 0xA1)
        peripheral.advertise()
        central.connect(to: peripheral, interval: 40, timeout: 400)
        var created: Instant?
        world.airTap = { packet in
            // CONNECT_IND is on the air: the advertiser leaves before the first event.
            guard packet.sender == 0, created == nil else { return }
            created = packet.start.advanced(by: packet.duration)
            peripheral.device.move(to: Position(x: 1e6))
        }
        world.run(for: .seconds(2))
        #expect(central.connections.map(\.status) == [.success])
        for station in [central, peripheral] {
            let end = try #require(station.disconnections.first)
            #expect(end.event.reason == .connectionFailedToBeEstablished)
            #expect(end.at == created?.advanced(by: .milliseconds(6 * 50)))
        }
    }

    @Test("A device whose battery comes back has a blank controller and a new host")
    func powerCycle() throws {
        let pair = try Pair()
        let before = pair.peripheral.host
        var changes: [Bool] = []
        pair.peripheral.device.onPowerChange = { changes.append($0) }
        pair.peripheral.device.removeFromAir()
        pair.world.run(for: .seconds(5))
        pair.peripheral.device.returnToAir()
        #expect(changes == [false, true])
        #expect(pair.peripheral.host !== before)
        pair.peripheral.advertise()
        pair.central.scan()
        pair.world.run(for: .seconds(1))
        #expect(!pair.central.reports.isEmpty)
    }

    @Test("LE Create Connection can be cancelled, and then made again")
    func cancel() throws {
        let world = World(seed: 2)
        let central = Station(world, "central", 0xC1)
        let peripheral = Station(world, "peripheral", 0xA1)
        central.connect(to: peripheral)
        world.run(for: .seconds(5))
        #expect(central.connections.isEmpty)
        #expect(central.command(LECreateConnectionCancel()) == .success)
        #expect(central.connections.map(\.status) == [.unknownConnection])
        peripheral.advertise()
        world.run(for: .seconds(1))
        #expect(peripheral.connections.isEmpty)
        central.connect(to: peripheral)
        world.run(for: .seconds(1))
        #expect(central.connections.map(\.status) == [.unknownConnection, .success])
    }
}
