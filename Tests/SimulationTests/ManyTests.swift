import BluetoothTypes
import EventLoop
import HCI
import LinkLayer
import Simulation
import Testing

@Suite("Many at once")
struct ManyTests {
    @Test("Three links on one central carry data both ways, and none starves")
    func threeLinks() throws {
        let world = World(seed: 11)
        let central = Station(world, "central", 0xC1)
        let peripherals = (0..<3).map { Station(world, "peripheral \($0)", 0xA0 + UInt64($0)) }
        for peripheral in peripherals {
            peripheral.advertise()
            central.connect(to: peripheral, interval: 12)
            world.run(for: .milliseconds(500))
            peripheral.host.keepsData = false
            peripheral.host.supply(try #require(peripheral.connections.first).handle, buffers: 20) {
                ConnectionTests.numbered(0)
            }
        }
        #expect(central.connections.count == 3)
        #expect(Set(central.connections.map(\.handle)).count == 3)
        world.run(for: .milliseconds(500))
        let before = central.host.data.count
        world.run(for: .seconds(2))
        let all = central.host.data[before...]
        for connection in central.connections {
            let share = all.count { $0.header.handle == connection.handle }
            // The smallest gap between two anchors is 3.75 ms: 5 exchanges an event, 667 in two seconds.
            #expect(share > 650, "\(connection.handle)")
        }
        #expect(central.disconnections.isEmpty)
    }

    @Test(
        "A central with a busy link still connects to another peripheral within a second",
        arguments: 1...5 as ClosedRange<UInt64>)
    func connectBesideBusyLink(seed: UInt64) throws {
        let pair = try Pair(seed: seed)
        pair.peripheral.host.supply(pair.peripheralHandle, buffers: 20) { ConnectionTests.numbered(0) }
        let other = Station(pair.world, "other", 0xA9)
        other.advertise()
        pair.central.scan()
        pair.central.connect(to: other, interval: 24, timeout: 200)
        pair.world.run(for: .seconds(1))
        #expect(pair.central.connections.count == 2)
        #expect(pair.central.disconnections.isEmpty)
    }

    @Test("Both roles at once, scanning and advertising beside two busy links")
    func allRoles() throws {
        let world = World(seed: 12)
        let middle = Station(world, "middle", 0xC1)
        let peripheral = Station(world, "peripheral", 0xA1)
        let central = Station(world, "central", 0xB1)
        let stranger = Station(world, "stranger", 0xD1)
        peripheral.advertise()
        middle.connect(to: peripheral)
        world.run(for: .milliseconds(500))
        middle.advertise()
        central.connect(to: middle)
        world.run(for: .milliseconds(500))
        #expect(middle.connections.map(\.role) == [.central, .peripheral])
        middle.host.supply(middle.connections[0].handle, buffers: 20) { ConnectionTests.numbered(0) }
        middle.advertise()
        middle.scan()
        stranger.advertise()
        stranger.scan()
        let before = stranger.reports.count
        world.run(for: .seconds(10))
        #expect(middle.reports.count { $0.report.address.value == 0xD1 } > 10)
        #expect(stranger.reports[before...].count { $0.report.address.value == 0xC1 } > 50)
        for station in [middle, peripheral, central] { #expect(station.disconnections.isEmpty) }
    }

    @Test("The same seed gives the same bytes at the same times, another one gives others")
    func determinism() throws {
        func log(seed: UInt64) throws -> (hci: [String], air: [AirPacket]) {
            let world = World(seed: seed)
            var hci: [String] = []
            var air: [AirPacket] = []
            world.hciTap = { hci.append("\($0.sinceStart) \($1.number) \($2) \($3)") }
            world.airTap = { air.append($0) }
            let central = Station(world, "central", 0xC1)
            let peripherals = (0..<3).map { number in
                Station(world, "peripheral \(number)", 0xA0 + UInt64(number), at: Position(x: Double(number)))
            }
            central.scan(active: true)
            for peripheral in peripherals {
                peripheral.advertise()
                central.connect(to: peripheral, interval: 12, timeout: 400)
                world.run(for: .seconds(2))
                let handle = try #require(peripheral.connections.first).handle
                peripheral.host.supply(handle, buffers: 20) { ConnectionTests.numbered(0) }
            }
            world.environment.packetLoss = 0.1
            world.run(for: .seconds(2))
            return (hci, air)
        }
        let (first, second, other) = (try log(seed: 21), try log(seed: 21), try log(seed: 22))
        #expect(first.air.count > 1000)
        #expect(first.hci == second.hci)
        #expect(first.air == second.air)
        #expect(first.air != other.air)
    }

    @Test("A thousand advertisers and one scanner")
    func thousand() {
        let world = World(seed: 13)
        let scanner = Station(world, "scanner", 0xC1)
        for number in 0..<1000 {
            let angle = Double(number)
            let place = Position(
                x: Double(number % 40) - 20, y: Double(number / 40) - 12, z: angle.truncatingRemainder(dividingBy: 3))
            let advertiser = Station(world, "\(number)", 0xA000 + UInt64(number), at: place)
            world.schedule(after: .microseconds(number * 1009)) {
                var parameters = LESetAdvertisingParameters()
                parameters.intervalMin = 0x0640
                parameters.intervalMax = 0x0640
                advertiser.host.send(parameters.packet)
                advertiser.host.send(LESetAdvertisingEnable(true).packet)
            }
        }
        scanner.scan()
        world.run(for: .seconds(10))
        let seen = Set(scanner.reports.map(\.report.address.value))
        #expect(seen.count > 950)
    }
}
