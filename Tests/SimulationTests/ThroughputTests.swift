import BluetoothTypes
import HCI
import Simulation
import Testing
import VirtualController

/// Links with nothing to lose but time: how many exchanges of a data PDU and an empty one fit an event on LE 1M.
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

        var testDescription: String { "\(interval) slots, \(octets) octets, \(fromPeripheral ? "up" : "down")" }
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
        ])
    func fill(_ link: Case) throws {
        var configuration = ControllerConfiguration(address: DeviceAddress(0))
        configuration.aclLength = link.octets
        let pair = try Pair(interval: link.interval, timeout: 400, configuration: configuration)
        let (sender, receiver) =
            link.fromPeripheral ? (pair.peripheral, pair.central) : (pair.central, pair.peripheral)
        let handle = link.fromPeripheral ? pair.peripheralHandle : pair.centralHandle
        sender.command(LESetDataLength(handle: handle, txOctets: link.octets, txTime: 2120))
        pair.world.run(for: .seconds(1))
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
