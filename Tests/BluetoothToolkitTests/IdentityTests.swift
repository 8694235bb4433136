import BluetoothToolkit
import Foundation
import Testing

/// D2 and B4. The example address and its three spellings are those of field reports: the standard's order (Device
/// Information Service 1.1, 3.8), an EUI-64 as on paper, and the zeros of a widespread chip family.
@Suite("Identity")
struct IdentityTests {
    @Test("D2: System ID, three conventions")
    func conventions() throws {
        let standard = try #require(SystemID(Data([0xDE, 0xBC, 0x9A, 0xFE, 0xFF, 0x56, 0x34, 0x12])))
        #expect(standard.address?.description == "12:34:56:9A:BC:DE" && standard.convention == .standard)
        let paper = try #require(SystemID(Data([0x12, 0x34, 0x56, 0xFF, 0xFE, 0x9A, 0xBC, 0xDE])))
        #expect(paper.address?.description == "12:34:56:9A:BC:DE" && paper.convention == .mostSignificantFirst)
        let zeros = try #require(SystemID(Data([0xCD, 0xAA, 0x05, 0x00, 0x00, 0x32, 0x01, 0x98])))
        #expect(zeros.address?.description == "98:01:32:05:AA:CD" && zeros.convention == .zeroFiller)
    }

    @Test("D2: what is no MAC gives none")
    func none() {
        #expect(SystemID(Data(count: 7)) == nil && SystemID(Data(count: 9)) == nil)
        #expect(SystemID(Data(count: 8))?.address == nil)
        #expect(SystemID(Data([1, 2, 3, 4, 5, 6, 7, 8]))?.address == nil)
        #expect(SystemID(Data([0xFF, 0xFF, 0xFF, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF]))?.address == nil)
    }

    @Test("B4: a MAC in the manufacturer's data, where and how the maker says")
    func manufacturer() throws {
        let data = try #require(ManufacturerData(Data([0xFF, 0xFF, 1, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xF0])))
        #expect(data.company == 0xFFFF && data.content.count == 7)
        #expect(data.address(at: 1)?.description == "AA:BB:CC:DD:EE:F0")
        #expect(data.address(at: 1, order: .leastSignificantFirst)?.description == "F0:EE:DD:CC:BB:AA")
        #expect(data.address(at: 2) == nil && data.address(at: -1) == nil && ManufacturerData(Data([1])) == nil)
    }

    @Test("Spellings of an address")
    func spellings() {
        for text in ["aa:bb:cc:dd:ee:f0", "AA-BB-CC-DD-EE-F0", "aabbccddeef0"] {
            #expect(HardwareAddress(text)?.description == "AA:BB:CC:DD:EE:F0")
        }
        for text in [
            "", "aa:bb:cc:dd:ee", "aa:bb:cc:dd:ee:fg", "aa:bb:cc:dd:ee:f0:", "00:00:00:00:00:00", "ａａbbccddeef0",
        ] {
            #expect(HardwareAddress(text) == nil, "\(text)")
        }
    }
}

/// C14: window of 10, the highest and the lowest dropped; near above -60 dBm, far below -80 dBm.
@Suite("Proximity")
struct ProximityTests {
    private func meter(_ readings: [Int], _ settings: ProximityMeter.Settings = .init()) -> ProximityMeter {
        var meter = ProximityMeter(settings)
        for reading in readings { meter.add(reading) }
        return meter
    }

    @Test("C14: nothing is said before ten readings; of those the highest and lowest do not count")
    func window() {
        #expect(meter(Array(repeating: -50, count: 9)).level == .unknown)
        let spread = meter([-127, -20] + Array(repeating: -55, count: 8))
        #expect(spread.average == -55 && spread.level == .near)
        #expect(meter(Array(repeating: -40, count: 10) + Array(repeating: -70, count: 10)).average == -70)
        #expect(meter(Array(repeating: -40, count: 10) + Array(repeating: 127, count: 10)).average == -40)
    }

    @Test(
        "C14: levels, and their borders belong to the middle",
        arguments: [
            (-59, Proximity.near), (-60, .between), (-80, .between), (-81, .far),
        ])
    func levels(reading: Int, level: Proximity) {
        #expect(meter(Array(repeating: reading, count: 10)).level == level)
    }

    @Test("C14: a level is left only by the margin")
    func hysteresis() {
        let near = Array(repeating: -55, count: 10)
        #expect(meter(near + Array(repeating: -62, count: 10)).level == .near)
        #expect(meter(near + Array(repeating: -63, count: 10)).level == .between)
        let far = Array(repeating: -90, count: 10)
        #expect(meter(far + Array(repeating: -78, count: 10)).level == .far)
        #expect(meter(far + Array(repeating: -77, count: 10)).level == .between)
        #expect(meter(far + near).level == .near)
    }

    @Test("C14: thresholds are adjustable")
    func thresholds() {
        let settings = ProximityMeter.Settings(near: -40, far: -50, hysteresis: 0, window: 3)
        #expect(meter([-55, -55, -55], settings).level == .far)
        #expect(meter([-55, -55, -55, -45, -45, -45], settings).level == .between)
        var meter = meter([-30, -30, -30], settings)
        #expect(meter.level == .near)
        meter.reset()
        #expect(meter.level == .unknown && meter.average == nil)
    }
}
