import BluetoothTypes
import EventLoop
import GAP
import HCI
import ProtocolTestKit
import Testing

@Suite("ResolvingListKeeper — Core 6.0, Vol 4, Part E, 7.8.38 to 7.8.44 and 7.8.77")
struct ResolvingListKeeperTests {
    private static let done = CommandOutcome.completed(returnParameters: [0])
    private static let first = entry(1)
    private static let second = entry(2)

    private static func entry(_ number: UInt64, key: UInt128 = 0x11) -> ResolvingListKeeper.Entry {
        ResolvingListKeeper.Entry(identity: DeviceAddress(number), peerKey: key, localKey: 0x22)
    }

    private static func add(_ number: Int) -> String {
        let zeros = String(repeating: " 00", count: 15)
        return "01 27 20 27 00 0\(number) 00 00 00 00 00 11\(zeros) 22\(zeros)"
    }

    private static func setMode(_ number: Int) -> String { "01 4E 20 08 00 0\(number) 00 00 00 00 00 01" }
    private static func remove(_ number: Int) -> String { "01 28 20 07 00 0\(number) 00 00 00 00 00" }
    private static let enable = "01 2D 20 01 01"

    /// What the machine does once it is quiet, and at each of these outcomes.
    private func play(
        _ keeper: inout ResolvingListKeeper, want entries: [ResolvingListKeeper.Entry],
        _ outcomes: [CommandOutcome] = []
    ) -> [String] {
        #expect(keeper.handle(.want(entries), at: Instant()) == [])
        var effects = keeper.handle(.quiet, at: Instant())
        for outcome in outcomes { effects += keeper.handle(.commandFinished(outcome), at: Instant()) }
        return effects.map { effect in
            switch effect {
            case .command(let octets):
                octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
            case .settled: "settled"
            }
        }
    }

    @Test("Bonds are listed, heard under both addresses, and resolution is switched on once; what goes is removed")
    func follows() {
        var keeper = ResolvingListKeeper()
        #expect(!keeper.hasWork)
        #expect(play(&keeper, want: []) == ["settled"])
        let both = [Self.first, Self.second]
        #expect(
            play(&keeper, want: both, Array(repeating: Self.done, count: 5)) == [
                Self.add(1), Self.setMode(1), Self.add(2), Self.setMode(2), Self.enable, "settled",
            ])
        #expect(keeper.lists(DeviceAddress(1)) && keeper.lists(DeviceAddress(2)) && !keeper.lists(DeviceAddress(3)))
        #expect(!keeper.hasWork)
        #expect(play(&keeper, want: [Self.second], [Self.done]) == [Self.remove(1), "settled"])
        #expect(!keeper.lists(DeviceAddress(1)))
        // Another key.
        let commands = play(&keeper, want: [Self.entry(2, key: 0x33)], Array(repeating: Self.done, count: 3))
        #expect(commands.first == Self.remove(2) && commands.suffix(2) == [Self.setMode(2), "settled"])
    }

    @Test("Whoever does not fit is left out until there is room")
    func full() {
        var keeper = ResolvingListKeeper()
        let outcomes = [Self.done, Self.done, .refused(.memoryCapacityExceeded), Self.done]
        #expect(
            play(&keeper, want: [Self.first, Self.second], outcomes) == [
                Self.add(1), Self.setMode(1), Self.add(2), Self.enable, "settled",
            ])
        #expect(keeper.lists(DeviceAddress(1)) && !keeper.lists(DeviceAddress(2)) && !keeper.hasWork)
        #expect(
            play(&keeper, want: [Self.second], Array(repeating: Self.done, count: 3)) == [
                Self.remove(1), Self.add(2), Self.setMode(2), "settled",
            ])
        #expect(keeper.lists(DeviceAddress(2)))
    }

    @Test("What the controller refuses is not tried again, and nobody is lost by it")
    func refused() {
        var keeper = ResolvingListKeeper()
        // Without the privacy mode the identity address would not be heard: it is taken out again.
        let outcomes = [Self.done, .refused(.unknownCommand), Self.done, .refused(.invalidParameters)]
        #expect(
            play(&keeper, want: [Self.first, Self.second], outcomes) == [
                Self.add(1), Self.setMode(1), Self.remove(1), Self.add(2), "settled",
            ])
        #expect(!keeper.hasWork && !keeper.lists(DeviceAddress(1)) && !keeper.lists(DeviceAddress(2)))

        var other = ResolvingListKeeper()
        _ = play(&other, want: [Self.first], [Self.done, Self.done, .refused(.commandDisallowed)])
        #expect(!other.lists(DeviceAddress(1)) && !other.hasWork)
    }
}
