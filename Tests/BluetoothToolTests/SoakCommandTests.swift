import BluetoothTool
import Foundation
import Testing

/// C15: `ble soak` as a user runs it, 30 minutes of it.
@Suite("Soak command")
struct SoakCommandTests {
    @Test("30 minutes: passed where all is well, failed where 3 % are lost, with the numbers of the air's capture")
    func thirtyMinutes() async throws {
        async let clean = Self.soak([])
        async let lossy = Self.soak(["--loss", "3"])
        let (well, ill) = (try await clean, try await lossy)
        #expect(well.status == .success && well.result["passed"] as? Bool == true)
        #expect(well.lost == 0 && well.sent == 18_000 && well.received == 18_000)
        #expect(well.air.pings.count == 18_000 && well.air.pings == well.air.pongs)
        #expect(ill.status == .failure && ill.result["passed"] as? Bool == false)
        #expect((ill.result["failed"] as? [String])?.count == 1, "\(ill.result)")
        #expect(ill.sent == 18_000 && ill.sent == ill.air.pings.count && ill.received == ill.air.pongs.count)
        #expect(ill.lost == ill.air.pings.subtracting(ill.air.pongs).count && ill.air.pongs.isSubset(of: ill.air.pings))
        // 540 are 3 %; three standard deviations of as many draws are 69.
        #expect((471...609).contains(ill.lost), "\(ill.lost)")
    }

    private struct Outcome {
        var status: ToolStatus
        var result: [String: Any]
        var air: AirCount

        var sent: Int { result["sent"] as? Int ?? -1 }
        var received: Int { result["received"] as? Int ?? -1 }
        var lost: Int { result["lost"] as? Int ?? -1 }
    }

    private static func soak(_ options: [String]) async throws -> Outcome {
        let path = NSTemporaryDirectory() + "soak-\(UUID().uuidString).pcap"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var last = ""
        let tool = Tool(
            terminal: Terminal(isInteractive: false), environment: ["BLE_RADIO": "simulated"], print: { last = $0 },
            printError: { last = $0 })
        let status = tool.run(["soak", "--json", "--air-capture", path] + options)
        let result = try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any]
        return Outcome(
            status: status, result: try #require(result, "\(last)"),
            air: AirCount(try Data(contentsOf: URL(fileURLWithPath: path))))
    }

    /// The numbers of the test's packets in a pcap file of the link layer, each once, however often it was repeated.
    private struct AirCount: Sendable {
        private(set) var pings: Set<UInt32> = []
        private(set) var pongs: Set<UInt32> = []

        /// LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR: 24 octets, then records of 16 octets and a packet: 10 octets about it,
        /// access address (4), header (2), L2CAP's length and channel (2, 2), opcode (1), handle (2), the value.
        init(_ file: Data) {
            var start = file.startIndex + 24
            while start + 16 <= file.endIndex {
                let count = Self.number(file, at: start + 8)
                let packet = start + 16
                start = packet + Int(count)
                guard count >= 31, file[packet + 18] == 4, file[packet + 19] == 0,
                    file[packet + 23] == 0x53
                else { continue }
                let number = Self.number(file, at: packet + 24)
                switch file[packet + 20] {
                case 0x52: pings.insert(number)
                case 0x1B: pongs.insert(number)
                default: break
                }
            }
        }

        private static func number(_ file: Data, at place: Int) -> UInt32 {
            (0..<4).reversed().reduce(0) { $0 << 8 | UInt32(file[place + $1]) }
        }
    }
}
