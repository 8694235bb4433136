import BluetoothTypes
import EventLoop
import HCI
import Simulation
import Testing
import VirtualController

/// Several links and roles on one radio: Documentation/Decisions/0061-who-has-the-radio.md.
@Suite("Scheduling")
struct SchedulingTests {
    /// A central with links to so many peripherals.
    static func crowd(
        _ count: Int, interval: UInt16, timeout: UInt16 = 200, seed: UInt64 = 3
    ) -> (world: World, central: Station, peripherals: [Station]) {
        let world = World(seed: seed)
        let central = Station(world, "central", 0xC1)
        let peripherals = (0..<count).map { Station(world, "peripheral \($0)", 0xA0 + UInt64($0)) }
        for peripheral in peripherals {
            peripheral.advertise()
            central.connect(to: peripheral, interval: interval, timeout: timeout)
            world.run(for: .milliseconds(800))
        }
        return (world, central, peripherals)
    }

    static func create(_ peer: Station, interval: UInt16) -> LECreateConnection {
        var create = LECreateConnection()
        create.scanInterval = 0x10
        create.scanWindow = 0x10
        create.peer = peer.device.address
        create.parameters = ConnectionParameterRange(
            intervalMin: interval, intervalMax: interval, latency: 0, supervisionTimeout: 200)
        return create
    }

    @Test("Core 6.0, Vol 1, Part F, 2.9: there are as many links as the controller holds, and no more")
    func limit() {
        let (world, central, _) = Self.crowd(8, interval: 24)
        #expect(central.connections.count == 8)
        let other = Station(world, "other", 0xB1)
        other.advertise()
        #expect(central.command(Self.create(other, interval: 24)) == .connectionLimitExceeded)
        #expect(central.command(LESetAdvertisingEnable(true)) == .connectionLimitExceeded)
        world.run(for: .seconds(20))
        #expect(central.disconnections.isEmpty)
    }

    @Test("Connectable advertising pauses while there is no room for another link, and goes on when there is")
    func pause() throws {
        let (world, central, _) = Self.crowd(7, interval: 24)
        let listener = Station(world, "listener", 0xB1)
        let other = Station(world, "other", 0xB2)
        central.advertise()
        listener.scan()
        func isHeard() -> Bool {
            listener.host.forgetEvents()
            world.run(for: .seconds(1))
            return listener.reports.contains { $0.report.address == central.device.address }
        }
        #expect(isHeard())
        // The place is kept for whom the host wants, and then taken.
        other.advertise()
        #expect(central.command(Self.create(other, interval: 24)) == .success)
        world.run(for: .seconds(1))
        #expect(central.connections.count == 8)
        #expect(!isHeard())
        central.command(Disconnect(handle: try #require(central.connections.first).handle))
        world.run(for: .milliseconds(200))
        #expect(isHeard())
    }

    @Test("Core 6.0, Vol 1, Part F, 2.13: a link for which there is no time is refused")
    func airtime() throws {
        let (world, central, _) = Self.crowd(6, interval: 6)
        #expect(central.connections.count == 6)
        let other = Station(world, "other", 0xB1)
        other.advertise()
        for interval: UInt16 in [6, 24] {
            #expect(central.command(Self.create(other, interval: interval)) == .limitedResources)
        }
        world.run(for: .seconds(20))
        #expect(central.disconnections.isEmpty)
        // A link that asks for less makes room.
        var update = LEConnectionUpdate()
        update.handle = try #require(central.connections.first).handle
        update.parameters = ConnectionParameterRange(
            intervalMin: 24, intervalMax: 24, latency: 0, supervisionTimeout: 200)
        #expect(central.command(update) == .success)
        world.run(for: .seconds(1))
        #expect(central.command(Self.create(other, interval: 24)) == .success)
        world.run(for: .seconds(2))
        #expect(central.connections.count == 7)
        update.parameters.intervalMin = 6
        update.parameters.intervalMax = 6
        #expect(central.command(update) == .limitedResources)
        #expect(central.disconnections.isEmpty)
    }

    /// Peripherals do not choose when they are called: the clocks of four centrals drift through each other.
    @Test("Links that drift over each other all live, and share the time", arguments: [6, 12] as [UInt16])
    func drift(interval: UInt16) throws {
        let world = World(seed: 5)
        let peripheral = Station(world, "peripheral", 0xA1)
        let centrals = (0..<4).map { number in
            var configuration = ControllerConfiguration(address: DeviceAddress(0))
            configuration.clockError = number * 30 - 45
            return Station(world, "central \(number)", 0xC0 + UInt64(number), configuration: configuration)
        }
        for central in centrals {
            peripheral.advertise()
            central.connect(to: peripheral, interval: interval, timeout: 100)
            world.run(for: .seconds(1))
            let handle = try #require(central.connections.first).handle
            central.host.keepsData = false
            central.host.supply(handle, buffers: 20) { ConnectionTests.numbered(0) }
        }
        peripheral.host.keepsData = true
        world.run(for: .seconds(60))
        for station in centrals + [peripheral] { #expect(station.disconnections.isEmpty) }
        let shares = peripheral.connections.map { connection in
            peripheral.host.data.count { $0.header.handle == connection.handle }
        }
        #expect(shares.count == 4)
        #expect(shares.min()! * 4 > shares.reduce(0, +) / 4)
    }

    @Test("Advertising has its place at the end of a busy link's events, and costs it a few packets of a hundred")
    func place() throws {
        func received(whileAdvertising isAdvertising: Bool) throws -> (packets: Int, reports: Int) {
            let (world, central, peripherals) = Self.crowd(1, interval: 12)
            let listener = Station(world, "listener", 0xB1)
            listener.scan()
            if isAdvertising { peripherals[0].advertise(interval: 0xA0) }
            let handle = try #require(central.connections.first).handle
            peripherals[0].host.keepsData = true
            central.host.supply(handle, buffers: 40) { ConnectionTests.numbered(0) }
            world.run(for: .seconds(10))
            let reports = listener.reports.count { $0.report.address == peripherals[0].device.address }
            return (peripherals[0].host.data.count, reports)
        }
        let (alone, shared) = (try received(whileAdvertising: false), try received(whileAdvertising: true))
        #expect(shared.packets * 100 > alone.packets * 96, "\(shared.packets) of \(alone.packets)")
        // Every 100 ms, 0 to 10 ms and the wait for the end of an event.
        #expect(shared.reports > 80, "\(shared.reports)")
    }

    @Test("A connection request that comes near the end of an advertising event is heard out", arguments: 1...6)
    func requests(seed: UInt64) {
        let world = World(seed: seed)
        let peripheral = Station(world, "peripheral", 0xA1)
        let centrals = (0..<4).map { Station(world, "central \($0)", 0xC0 + UInt64($0)) }
        for central in centrals {
            peripheral.advertise()
            central.connect(to: peripheral, interval: 6, timeout: 100)
            world.run(for: .milliseconds(500))
            guard let handle = central.connections.first?.handle else {
                Issue.record("There is no link.")
                return
            }
            central.host.keepsData = false
            central.host.supply(handle, buffers: 20) { ConnectionTests.numbered(0) }
        }
        for station in centrals + [peripheral] { #expect(station.disconnections.isEmpty) }
    }

    @Test("Beside five busy links a device still advertises, scans and connects")
    func background() throws {
        let (world, central, peripherals) = Self.crowd(5, interval: 6)
        for peripheral in peripherals {
            let handle = try #require(peripheral.connections.first).handle
            peripheral.host.supply(handle, buffers: 20) { ConnectionTests.numbered(0) }
        }
        central.host.keepsData = false
        let stranger = Station(world, "stranger", 0xB1)
        stranger.scan()
        stranger.advertise(interval: 0xA0)
        central.advertise(interval: 0xA0)
        central.scan()
        world.run(for: .seconds(10))
        #expect(stranger.reports.count { $0.report.address == central.device.address } > 40)
        #expect(central.reports.count { $0.report.address == stranger.device.address } > 10)
        #expect(central.command(Self.create(stranger, interval: 24)) == .success)
        world.run(for: .seconds(5))
        #expect(central.connections.count == 6)
        #expect(central.disconnections.isEmpty)
        for peripheral in peripherals { #expect(peripheral.disconnections.isEmpty) }
    }
}
