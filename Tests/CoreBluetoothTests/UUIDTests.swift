import CoreBluetooth
import Testing

@Suite("CBUUID")
struct UUIDTests {
    @Test(
        "B-M1: 4, 8 or 36 characters, in either case",
        arguments: [
            ("fff6", "FFF6"), ("0000FFF6", "0000FFF6"),
            ("0000fff6-0000-1000-8000-00805f9b34fb", "0000FFF6-0000-1000-8000-00805F9B34FB"),
        ])
    func spelling(text: String, printed: String) {
        #expect(CBUUID(string: text).uuidString == printed)
    }

    @Test("B-M1: anything else ends the program", .timeLimit(.minutes(60)))
    func illegalText() async {
        await #expect(processExitsWith: .failure) { _ = CBUUID(string: "0x1234") }
        await #expect(processExitsWith: .failure) { _ = CBUUID(string: "0000fff600001000800000805f9b34fb") }
        await #expect(processExitsWith: .failure) { _ = CBUUID(string: "0000fff6-0000-1000-8000-00805f9b34fg") }
        await #expect(processExitsWith: .failure) { _ = CBUUID(data: Data([1, 2, 3])) }
    }

    @Test("B-M2, A5: equal if they mean the same 128 bits, and found in sets by it")
    func equality() {
        let short = CBUUID(string: "FFF6")
        let long = CBUUID(string: "0000fff6-0000-1000-8000-00805f9b34fb")
        #expect(short == long)
        #expect(short == CBUUID(string: "0000FFF6"))
        #expect(short.hash == long.hash)
        #expect(Set([short]).contains(long))
        #expect(short != CBUUID(string: "0000fff6-0000-0000-0000-000000000000"))
        #expect(!short.isEqual("FFF6"))
    }

    @Test("B-M3, B-M4: data and uuidString keep the width")
    func width() {
        #expect(CBUUID(string: "180A").data == Data([0x18, 0x0A]))
        #expect(CBUUID(data: Data([0x12, 0x34, 0x56, 0x78])).uuidString == "12345678")
        let uuid = UUID(uuidString: "0000180A-0000-1000-8000-00805F9B34FB")!
        #expect(CBUUID(nsuuid: uuid).uuidString == uuid.uuidString)
        #expect(CBUUID(nsuuid: uuid).data.count == 16)
        #expect(UUID(uuidString: CBUUID(nsuuid: uuid).uuidString) == uuid)
    }

    @Test("B-M5: well-known kinds are printed by name")
    func names() {
        #expect("\(CBUUID(string: "180A"))" == "Device Information")
        #expect("\(CBUUID(string: "FFF0"))" == "FFF0")
    }
}
