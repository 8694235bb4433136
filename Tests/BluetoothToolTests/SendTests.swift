import BluetoothTool
import Foundation
import Testing

/// `ble send` as a user runs it.
@Suite("Sending")
struct SendTests {
    /// What events of 15 ms carry on LE 2M, in kbit/s: ten packets of 251 octets and their acknowledgements fit
    /// (Core 6.0, Vol 6, Part B, 2.1, 2.4 and 4.1.1), of which values of 495 octets fill two, and a channel's SDU of
    /// 3998 octets sixteen.
    private static let limits = ["writes": 1320.0, "notifications": 1320.0, "channel": 1332.7]

    @Test(
        "On a clean link it reaches 90 % of what the air allows, over each carrier that does not wait",
        arguments: limits)
    func rate(carrier: String, limit: Double) throws {
        let path = NSTemporaryDirectory() + "send-\(UUID().uuidString).bin"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(to: URL(fileURLWithPath: path))
        var output: [String] = []
        let tool = Tool(
            terminal: Terminal(isInteractive: false), environment: ["BLE_RADIO": "simulated"],
            print: { output.append($0) }, printError: { output.append($0) })
        #expect(tool.run(["send", path, "--over", carrier, "--json"]) == .success, "\(output)")
        let sent = try JSONSerialization.jsonObject(with: Data((output.last ?? "").utf8)) as? [String: Any]
        let rate = try #require(sent?["kbitPerSecond"] as? Double, "\(output)")
        #expect(rate >= 0.9 * limit && rate < limit, "\(rate) of \(limit) kbit/s")
        #expect(sent?["length"] as? Int == 1_000_000 && sent?["repeated"] as? Int == 0)
    }
}
