import HCI
import Simulation
import Testing
import VirtualController

/// A busy link at 7.5 ms on LE 1M: eleven exchanges of 676 µs (80 + 150 + 296 + 150) fit an event, so that packets of
/// 27 octets, which carry 20 of an attribute's value, come to 234.7 kbit/s. Core 6.0, Vol 6, Part B, 4.5.6.
@Suite("Throughput")
struct ThroughputTests {
    static let limit = 11 * 20 * 8 / 0.0075

    @Test("A burst fills the events", arguments: [true, false])
    func fill(fromPeripheral: Bool) throws {
        let pair = try Pair()
        let (sender, receiver) = fromPeripheral ? (pair.peripheral, pair.central) : (pair.central, pair.peripheral)
        receiver.host.keepsData = false
        let payload = [23, 0, 4, 0] + Array(repeating: UInt8(7), count: 23)
        sender.host.supply(fromPeripheral ? pair.peripheralHandle : pair.centralHandle, buffers: 20) { payload }
        pair.world.run(for: .milliseconds(100))
        let before = receiver.host.receivedOctets
        pair.world.run(for: .seconds(2))
        let rate = Double(receiver.host.receivedOctets - before) / 27 * 20 * 8 / 2
        #expect(rate / Self.limit > 0.97)
        #expect(rate / Self.limit < 1.01)
    }
}
