import Testing

@testable import LinkLayer

@Suite("Channel selection")
struct ChannelSelectionTests {
    /// Core 6.0, Vol 6, Part C, 3.1: access address 0x8E89BED6, all 37 channels.
    @Test("Algorithm #2, sample data with all channels")
    func algorithm2AllChannels() {
        let selection = ChannelSelection.algorithm2(accessAddress: 0x8E89_BED6)
        #expect(selection == .algorithm2(channelIdentifier: 0x305F))
        let numbers = (0..<4).map { ChannelSelection.pseudoRandom(counter: $0, identifier: 0x305F) }
        #expect(numbers == [56857, 1685, 38301, 27475])
        #expect((0..<4).map { selection.channel(event: $0, used: .all) } == [25, 20, 6, 21])
    }

    /// Core 6.0, Vol 6, Part C, 3.2: the same with nine channels.
    @Test("Algorithm #2, sample data with nine channels")
    func algorithm2NineChannels() {
        let selection = ChannelSelection.algorithm2(accessAddress: 0x8E89_BED6)
        let channels: [UInt64] = [9, 10, 21, 22, 23, 33, 34, 35, 36]
        let used = UsedChannels(bits: channels.reduce(0) { $0 | 1 << $1 })
        let numbers = (6..<9).map { ChannelSelection.pseudoRandom(counter: $0, identifier: 0x305F) }
        #expect(numbers == [10975, 5490, 46970])
        #expect((6..<9).map { selection.channel(event: $0, used: used) } == [23, 9, 34])
    }

    /// Core 6.0, Vol 6, Part B, 4.5.8.2: the unmapped channel steps by the increment, modulo 37; an unused one is
    /// replaced by the entry of the table of used ones at its number modulo their count.
    @Test("Algorithm #1 hops and maps")
    func algorithm1() {
        let selection = ChannelSelection.algorithm1(hopIncrement: 7)
        #expect((0..<7).map { selection.channel(event: $0, used: .all) } == [7, 14, 21, 28, 35, 5, 12])
        let used = UsedChannels(bits: 0b1111_0000_0000)
        // Unmapped 7, 14, 21, 28, 35: modulo 4 are 3, 2, 1, 0, 3.
        #expect((0..<5).map { selection.channel(event: $0, used: used) } == [11, 10, 9, 8, 11])
    }
}
