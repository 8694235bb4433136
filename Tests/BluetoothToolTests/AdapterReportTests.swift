import BluetoothTool
import BluetoothTypes
import HCITransport
import Testing

/// What `ble adapters` and `ble doctor` say of an adapter.
@Suite("Reports of adapters")
struct AdapterReportTests {
    private static func adapter(_ manufacturer: UInt16 = 0x05F1, version: UInt8 = 9, isLow: Bool = true) -> LinuxAdapter
    {
        var adapter = LinuxAdapter(index: 1, address: DeviceAddress(0xAAAA_AAAA_AAAA), bus: "USB")
        adapter.information = LinuxAdapter.Information(
            version: version, manufacturer: manufacturer, name: "dongle", supportsLowEnergy: isLow)
        return adapter
    }

    @Test("Each obstacle of the list is a cause of the doctor, with the same words")
    func sameChecks() {
        var blocked = Self.adapter()
        blocked.isBlocked = true
        let report = AdapterReport(blocked, mayTakeOver: false)
        #expect(report.findings.map(\.cause) == [.blocked, .noCapability])
        #expect(report.findings.map(\.evidence) == report.obstacles.map { "\($0)" })
        #expect(!report.isUsable)
        let classic = AdapterReport(Self.adapter(isLow: false), mayTakeOver: true)
        #expect(classic.findings.map(\.cause) == [.noLowEnergy] && !classic.isUsable)
        #expect(AdapterReport(Self.adapter(), mayTakeOver: true).findings.isEmpty)
    }

    @Test("What is not used of an adapter is named, with the reason")
    func quirks() {
        #expect(AdapterReport(Self.adapter(), mayTakeOver: true).quirks.isEmpty)
        let raspberry = AdapterReport(Self.adapter(0x000F, version: 7), mayTakeOver: true)
        #expect(raspberry.quirks.count == 1 && raspberry.quirks[0].contains("address"))
        #expect(raspberry.rows.contains { $0.0 == "not used" } && raspberry.json.contains("\"notUsed\":[\"Its"))
        let actions = AdapterReport(Self.adapter(0x03E0, version: 12), mayTakeOver: true)
        #expect(actions.quirks.count == 1 && actions.quirks[0].contains("Extended scanning"))
    }
}
