import BluetoothTypes
import HCI
import Simulation
import Testing
import VirtualController

/// Links with nothing to lose but time: how many exchanges of a data PDU and an empty one fit an event.
///
/// Source: air times and `T_IFS` of Core 6.0, Vol 6, Part B, 2.1 and 4.1.1. 27 octets take 296 + 150 + 80 + 150 =
/// 676 µs, 251 octets 2088 + 380 = 2468 µs; the last `T_IFS` of an event is the gap to the next.
@Suite("Throughput")
struct ThroughputTests {
    struct Case: CustomTestStringConvertible {
        /// In slots of 1.25 ms.
        var interval: UInt16
        var octets: UInt16
        var perEvent: Double
        var fromPeripheral = true
        var phy = PHYPreference.le1M
        /// Preferred coding: 1 for S=2, 2 for S=8.
        var options: UInt16 = 0
        var isEncrypted = false

        var testDescription: String {
            "\(interval) slots, \(octets) octets, \(fromPeripheral ? "up" : "down"), PHY \(phy.rawValue) \(options)"
                + (isEncrypted ? ", encrypted" : "")
        }
    }

    @Test(
        "A burst fills the events",
        arguments: [
            Case(interval: 6, octets: 27, perEvent: 11),
            Case(interval: 6, octets: 27, perEvent: 11, fromPeripheral: false),
            Case(interval: 12, octets: 27, perEvent: 22), Case(interval: 24, octets: 27, perEvent: 44),
            Case(interval: 80, octets: 27, perEvent: 147), Case(interval: 6, octets: 251, perEvent: 3),
            Case(interval: 6, octets: 251, perEvent: 3, fromPeripheral: false),
            Case(interval: 24, octets: 251, perEvent: 12), Case(interval: 80, octets: 251, perEvent: 40),
            // Encrypted: 4 octets more, 27 octets take 708 µs, 251 take 2500.
            Case(interval: 6, octets: 27, perEvent: 10, isEncrypted: true),
            Case(interval: 80, octets: 27, perEvent: 141, isEncrypted: true),
            Case(interval: 6, octets: 251, perEvent: 3, isEncrypted: true),
            // LE 2M: 27 octets take 496 µs, 251 take 1392, encrypted 1408.
            Case(interval: 6, octets: 27, perEvent: 15, phy: .le2M),
            Case(interval: 6, octets: 251, perEvent: 5, phy: .le2M),
            Case(interval: 6, octets: 251, perEvent: 5, fromPeripheral: false, phy: .le2M),
            Case(interval: 24, octets: 251, perEvent: 21, phy: .le2M, isEncrypted: true),
            Case(interval: 80, octets: 251, perEvent: 71, phy: .le2M, isEncrypted: true),
            // Coded, S=2: 251 octets take 5240 µs, encrypted 5304; S=8: 17,804.
            Case(interval: 6, octets: 251, perEvent: 1, phy: .leCoded, options: 1),
            Case(interval: 24, octets: 251, perEvent: 5, phy: .leCoded, options: 1, isEncrypted: true),
            Case(interval: 80, octets: 251, perEvent: 18, phy: .leCoded, options: 1, isEncrypted: true),
            Case(interval: 80, octets: 251, perEvent: 5, phy: .leCoded, options: 2),
        ])
    func fill(_ link: Case) throws {
        var configuration = ControllerConfiguration(address: DeviceAddress(0))
        configuration.aclLength = link.octets
        let pair = try Pair(interval: link.interval, timeout: 400, configuration: configuration)
        let (sender, receiver) =
            link.fromPeripheral ? (pair.peripheral, pair.central) : (pair.central, pair.peripheral)
        let handle = link.fromPeripheral ? pair.peripheralHandle : pair.centralHandle
        sender.command(LESetDataLength(handle: handle, txOctets: link.octets, txTime: 17040))
        for (station, handle) in [
            (pair.central, pair.centralHandle), (pair.peripheral, pair.peripheralHandle),
        ] where link.phy != .le1M {
            pair.world.run(for: .milliseconds(500))
            var command = LESetPHY()
            command.handle = handle
            command.noPreference = 0
            command.tx = link.phy
            command.rx = link.phy
            command.options = link.options
            #expect(station.command(command) == .success)
        }
        if link.isEncrypted {
            pair.peripheral.host.longTermKey = 1
            pair.central.command(LEEnableEncryption(handle: pair.centralHandle, longTermKey: 1))
        }
        pair.world.run(for: .seconds(2))
        receiver.host.keepsData = false
        let payload = [UInt8](repeating: 7, count: Int(link.octets))
        sender.host.supply(handle, buffers: 20) { payload }
        pair.world.run(for: .seconds(1))
        let before = receiver.host.receivedOctets
        pair.world.run(for: .seconds(3))
        let packets = Double(receiver.host.receivedOctets - before) / Double(link.octets)
        let events = 3 / (Double(link.interval) * 0.00125)
        #expect(packets / events >= 0.97 * link.perEvent)
        #expect(packets / events <= 1.01 * link.perEvent)
    }

    /// What goes out next is chosen at the end of the packet that is answered, and so is MD: of three buffers one is
    /// on the air, one is behind it, and one is with the host. A single one comes back too late for every other event.
    @Test("Three buffers are enough to fill the events, one is not", arguments: [(1, 0.5), (3, 11.0)])
    func buffers(count: Int, perEvent: Double) throws {
        var configuration = ControllerConfiguration(address: DeviceAddress(0))
        configuration.aclCount = UInt8(count)
        let pair = try Pair(configuration: configuration)
        pair.peripheral.host.supply(pair.peripheralHandle, buffers: count) { [UInt8](repeating: 7, count: 27) }
        pair.world.run(for: .milliseconds(750))
        #expect(abs(Double(pair.central.host.data.count) / 100 - perEvent) < 0.3)
    }
}
