import BluetoothTypes
import EventLoop
import HCI
import Simulation
import Testing

/// Devices that join a running world, and leave it.
@Suite("Joining and leaving")
struct RemovalTests {
    @Test("A removed device falls silent: its link times out, and its number goes to the next one")
    func removal() throws {
        let pair = try Pair(timeout: 100)
        let peripheral = pair.peripheral.device
        var packets: [AirPacket] = []
        pair.world.airTap = { packets.append($0) }
        pair.world.removeDevice(peripheral)
        let removal = pair.world.now
        pair.world.run(for: .seconds(3))
        #expect(!packets.contains { $0.sender == peripheral.number })
        let end = try #require(pair.central.disconnections.last)
        #expect(end.event.reason == .connectionTimeout)
        // Core 6.0, Vol 6, Part B, 4.5.2: from the last packet on, which was at most an interval before.
        #expect(removal.duration(to: end.at) <= .seconds(1))

        peripheral.returnToAir()
        #expect(!peripheral.isOnAir)
        let next = Station(pair.world, "next", 0xB0_0000_0000_03)
        #expect(next.device.number == peripheral.number)
        #expect(pair.world.devices.count == 2)
        next.advertise()
        pair.central.scan()
        pair.world.run(for: .seconds(1))
        #expect(pair.central.reports.contains { $0.report.address == next.device.address })
    }

    @Test("Whenever an advertiser is removed, in the middle of a packet too, nothing of it is heard any more")
    func removalAtAnyInstant() throws {
        for steps in 0..<60 {
            let world = World(seed: 1)
            let scanner = Station(world, "scanner", 0xC0_0000_0000_01)
            let advertiser = Station(world, "advertiser", 0xA0_0000_0000_02)
            scanner.scan()
            advertiser.advertise()
            for _ in 0..<steps { world.run(until: try #require(world.nextDeadline)) }
            world.removeDevice(advertiser.device)
            let next = Station(world, "next", 0xB0_0000_0000_03)
            let count = scanner.reports.count
            world.run(for: .seconds(1))
            #expect(scanner.reports.count == count, "removed after \(steps) steps")
            next.advertise()
            world.run(for: .seconds(1))
            #expect(scanner.reports.count > count)
        }
    }
}
