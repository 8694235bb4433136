import BluetoothTypes
import GAP
import Testing

@Suite("The overflow area")
struct OverflowAreaTests {
    @Test("A service sets one bit of 128, whatever its width; others may share it")
    func bits() throws {
        let heartRate = OverflowArea([.uuid16(0x180D)])
        #expect(heartRate == OverflowArea([.uuid128(BluetoothUUID.uuid16(0x180D).full)]))
        let data = heartRate.manufacturerData
        #expect(data.count == 19 && data.starts(with: [0x4C, 0x00, 0x01]))
        #expect(data.dropFirst(3).reduce(0) { $0 + $1.nonzeroBitCount } == 1)
        let area = try #require(OverflowArea(manufacturerData: data))
        #expect(area.mayContain(.uuid16(0x180D)))
        let matches = (0..<0x1000).count { area.mayContain(.uuid16(UInt16($0))) }
        #expect((10...70).contains(matches), "about one in 128 of 4096, not \(matches)")
    }

    @Test(
        "What is no overflow area is none",
        arguments: [
            [], [0x4C, 0x00], [0x4C, 0x00, 0x01], [0x4C, 0x00, 0x02] + [UInt8](repeating: 0, count: 16),
            [0x4D, 0x00, 0x01] + [UInt8](repeating: 0, count: 16),
            [0x4C, 0x00, 0x01] + [UInt8](repeating: 0, count: 17),
        ] as [[UInt8]])
    func foreign(data: [UInt8]) { #expect(OverflowArea(manufacturerData: data) == nil) }
}
