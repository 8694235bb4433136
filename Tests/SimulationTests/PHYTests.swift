import BluetoothTypes
import EventLoop
import Glibc
import HCI
import LinkLayer
import Simulation
import Testing
import VirtualController

/// Section numbers are those of Core 6.0, Vol 6, Part B.
@Suite("PHYs")
struct PHYTests {
    private static func command(
        _ handle: UInt16, tx: PHYPreference, rx: PHYPreference, options: UInt16 = 0
    ) -> LESetPHY {
        var command = LESetPHY()
        command.handle = handle
        command.noPreference = (tx.isEmpty ? 0b01 : 0) | (rx.isEmpty ? 0b10 : 0)
        command.tx = tx
        command.rx = rx
        command.options = options
        return command
    }

    @Test(
        "5.1.10: either side starts the change, both hosts are told, and the packets are of that PHY",
        arguments: [true, false], [PHYPreference.le2M, .leCoded])
    func change(byCentral: Bool, phy: PHYPreference) throws {
        let pair = try Pair(interval: 24, timeout: 400)
        let station = byCentral ? pair.central : pair.peripheral
        let handle = byCentral ? pair.centralHandle : pair.peripheralHandle
        #expect(station.command(Self.command(handle, tx: phy, rx: phy)) == .success)
        pair.world.run(for: .seconds(1))
        let expected: PHY = phy == .le2M ? .le2M : .leCoded
        for station in [pair.central, pair.peripheral] {
            #expect(station.phyUpdates.map(\.status) == [.success])
            #expect(station.phyUpdates.allSatisfy { $0.tx == expected && $0.rx == expected })
        }
        let answer = try pair.central.ask(LEReadPHY(handle: pair.centralHandle))
        #expect(answer.tx == expected && answer.rx == expected)
        var modes: Set<RadioMode> = []
        pair.world.airTap = { modes.insert($0.mode) }
        pair.world.run(for: .seconds(1))
        #expect(modes == [phy == .le2M ? .le2M : .codedS8])
        #expect(pair.central.disconnections.isEmpty)
    }

    @Test("5.1.10: the two directions may differ")
    func asymmetric() throws {
        let pair = try Pair(timeout: 400)
        #expect(pair.central.command(Self.command(pair.centralHandle, tx: .le2M, rx: .leCoded)) == .success)
        pair.world.run(for: .seconds(1))
        #expect(pair.central.phyUpdates.map(\.tx) == [.le2M] && pair.central.phyUpdates.map(\.rx) == [.leCoded])
        #expect(pair.peripheral.phyUpdates.map(\.tx) == [.leCoded] && pair.peripheral.phyUpdates.map(\.rx) == [.le2M])
        #expect(pair.central.disconnections.isEmpty)
    }

    @Test(
        "7.8.49: a host chooses the coding of its own packets",
        arguments: [(1, RadioMode.codedS2), (2, .codedS8)] as [(UInt16, RadioMode)])
    func coding(options: UInt16, mode: RadioMode) throws {
        let pair = try Pair(interval: 24, timeout: 400)
        let command = Self.command(pair.centralHandle, tx: .leCoded, rx: .leCoded, options: options)
        #expect(pair.central.command(command) == .success)
        pair.world.run(for: .seconds(1))
        var modes: Set<RadioMode> = []
        pair.world.airTap = { if $0.sender == 0 { modes.insert($0.mode) } }
        pair.world.run(for: .seconds(1))
        #expect(modes == [mode])
    }

    @Test("7.7.65.12: a host that asks for what is there already is told so, its peer is not")
    func noChange() throws {
        let pair = try Pair()
        #expect(pair.peripheral.command(Self.command(pair.peripheralHandle, tx: .le1M, rx: .le1M)) == .success)
        pair.world.run(for: .seconds(1))
        #expect(pair.peripheral.phyUpdates.map(\.status) == [.success])
        #expect(pair.central.phyUpdates.isEmpty)
    }

    @Test("7.8.48: what the peer does not like is not used")
    func defaults() throws {
        let world = World(seed: 1)
        let central = Station(world, "central", 0xC0_0000_0000_01)
        let peripheral = Station(world, "peripheral", 0xA0_0000_0000_02)
        var command = LESetDefaultPHY()
        command.noPreference = 0
        command.tx = .le1M
        command.rx = [.le1M, .le2M]
        #expect(peripheral.command(command) == .success)
        peripheral.advertise()
        central.connect(to: peripheral)
        world.run(for: .milliseconds(500))
        let handle = try #require(central.connections.last).handle
        #expect(central.command(Self.command(handle, tx: [.le1M, .le2M], rx: [.le1M, .le2M])) == .success)
        world.run(for: .seconds(1))
        #expect(central.phyUpdates.map(\.tx) == [.le2M])
        #expect(central.phyUpdates.map(\.rx) == [.le1M])
    }

    @Test("7.8.48, 7.8.49: no PHY at all, and one that there is not")
    func invalid() throws {
        let pair = try Pair()
        var command = LESetPHY()
        command.handle = pair.centralHandle
        command.noPreference = 0
        #expect(pair.central.command(command) == .invalidParameters)
        command.tx = PHYPreference(rawValue: 0x08)
        command.rx = .le1M
        #expect(pair.central.command(command) == .unsupportedFeature)
        command.handle = 0x0EFF
        #expect(pair.central.command(command) == .unknownConnection)
    }

    @Test("5.3: both sides ask at once, for this and for other changes, and all of it ends", arguments: 1...10)
    func collisions(seed: UInt64) throws {
        let pair = try Pair(seed: seed, timeout: 3200)
        pair.world.environment.packetLoss = 0.2
        var update = LEConnectionUpdate()
        update.parameters = ConnectionParameterRange(
            intervalMin: 12, intervalMax: 12, latency: 0, supervisionTimeout: 3200)
        for (station, handle) in [(pair.central, pair.centralHandle), (pair.peripheral, pair.peripheralHandle)] {
            #expect(station.command(Self.command(handle, tx: .le2M, rx: .le2M)) == .success)
            update.handle = handle
            #expect(station.command(update) == .success)
            #expect(station.command(Self.command(handle, tx: .leCoded, rx: .leCoded)) == .success)
        }
        pair.central.command(LESetHostChannelClassification())
        pair.world.run(for: .seconds(10))
        for station in [pair.central, pair.peripheral] {
            #expect(station.phyUpdates.count >= 2)
            #expect(station.disconnections.isEmpty)
        }
        let central = try pair.central.ask(LEReadPHY(handle: pair.centralHandle))
        let peripheral = try pair.peripheral.ask(LEReadPHY(handle: pair.peripheralHandle))
        #expect(central.tx == peripheral.rx && central.rx == peripheral.tx)
    }

    @Test("4.5.10: on the coded PHY a PDU holds what fits its time")
    func timeLimit() throws {
        let pair = try Pair(interval: 24, timeout: 400)
        #expect(
            pair.central.command(LESetDataLength(handle: pair.centralHandle, txOctets: 251, txTime: 2120)) == .success)
        pair.world.run(for: .seconds(1))
        #expect(pair.central.command(Self.command(pair.centralHandle, tx: .leCoded, rx: .leCoded)) == .success)
        pair.world.run(for: .seconds(1))
        var longest = 0
        pair.world.airTap = { longest = max(longest, $0.octets.count - 2) }
        var left = 20
        pair.central.host.supply(pair.centralHandle, buffers: 20) {
            left -= 1
            return left >= 0 ? [UInt8](repeating: 7, count: 27) : nil
        }
        pair.world.run(for: .seconds(3))
        #expect(longest == 27)
        #expect(pair.peripheral.host.receivedOctets == 20 * 27)
    }

    /// The path loss at which a PHY ends is its sensitivity; in free space 3 dB are a factor of 1.41 in distance, 8 dB
    /// one of 2.5.
    @Test("The slower the PHY, the farther it reaches", arguments: [RadioMode.le2M, .le1M, .codedS2, .codedS8])
    func range(mode: RadioMode) throws {
        let pair = try Pair(interval: 24, timeout: 400)
        pair.world.environment.fading = 0
        let phy: PHYPreference = mode == .le2M ? .le2M : mode == .le1M ? .le1M : .leCoded
        for (station, handle) in [(pair.central, pair.centralHandle), (pair.peripheral, pair.peripheralHandle)] {
            station.command(Self.command(handle, tx: phy, rx: phy, options: mode == .codedS2 ? 1 : 2))
            pair.world.run(for: .seconds(1))
        }
        // 0 dBm less 40.2 dB on the first metre.
        let sensitivity = [RadioMode.le2M: -92.0, .le1M: -95, .codedS2: -99, .codedS8: -103][mode]!
        let reach = pow(10, (-40.2 - sensitivity) / 20)
        pair.peripheral.device.move(to: Position(x: reach * pow(10, -2.0 / 20)))
        pair.world.run(for: .seconds(10))
        #expect(pair.central.disconnections.isEmpty)
        pair.peripheral.device.move(to: Position(x: reach * pow(10, 6.1 / 20)))
        pair.world.run(for: .seconds(10))
        #expect(pair.central.disconnections.count == 1)
    }
}

extension Station {
    var phyUpdates: [LEPHYUpdateComplete] {
        host.events.compactMap { if case .phyUpdateComplete(let event) = $0.event { event } else { nil } }
    }
}
