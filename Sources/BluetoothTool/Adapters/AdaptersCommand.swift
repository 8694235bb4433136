import HCI
package import HCITransport

/// `ble adapters`: the adapters of this machine, and what is in the way of using them. It only looks: it opens none,
/// and needs no privilege.
struct AdaptersCommand {
    private let tool: Tool
    private let isJSON: Bool

    init(tool: Tool, arguments: ParsedArguments) {
        self.tool = tool
        isJSON = arguments.has("--json")
    }

    func run() -> ToolStatus {
        let reports: [AdapterReport]
        do throws(TransportError) {
            let mayTakeOver = LinuxAdapter.mayTakeOver
            reports = try LinuxAdapter.all().map { AdapterReport($0, mayTakeOver: mayTakeOver) }
        } catch {
            tool.printError("ble: \(error)")
            return .noRadio
        }
        guard !reports.isEmpty else {
            tool.printError("ble: \(TransportError.noAdapter(nil))")
            return .noRadio
        }
        for (index, report) in reports.enumerated() {
            if isJSON { tool.print(report.json) } else { show(report, isFirst: index == 0) }
        }
        if !isJSON { tool.print("\n" + Self.choice(reports)) }
        return .success
    }

    private func show(_ report: AdapterReport, isFirst: Bool) {
        if !isFirst { tool.print("") }
        tool.print(tool.terminal.styled(report.title, .bold))
        for (name, value) in report.rows { tool.print("  " + HelpText.padded(name, 14) + value) }
    }

    /// Which one a program takes that is not told another.
    private static func choice(_ reports: [AdapterReport]) -> String {
        guard let first = reports.first(where: \.isUsable) else {
            return "None of them can be used now."
        }
        return "Without BLE_RADIO, programs take \(first.adapter.name)."
    }
}

/// One adapter, in words.
package struct AdapterReport {
    package let adapter: LinuxAdapter
    /// Why it cannot be used now, with what would change that.
    package let obstacles: [TransportError]

    package init(_ adapter: LinuxAdapter, mayTakeOver: Bool) {
        self.adapter = adapter
        var obstacles: [TransportError] = []
        if adapter.isBlocked { obstacles.append(.blocked(adapter.name)) }
        if let owner = adapter.owner { obstacles.append(.adapterInUse(adapter.name, by: owner)) }
        if !mayTakeOver { obstacles.append(.noCapability(adapter.name)) }
        self.obstacles = obstacles
    }

    package var isUsable: Bool { obstacles.isEmpty && adapter.information?.supportsLowEnergy != false }

    package var title: String {
        "\(adapter.name)  \(adapter.address.map { "\($0)" } ?? "no public address")  \(adapter.bus)"
    }

    private var state: String {
        if adapter.isBlocked { return "blocked by rfkill" }
        if adapter.owner != nil { return "in use" }
        if adapter.information?.supportsLowEnergy == false { return "free, without Low Energy" }
        return "free"
    }

    /// What could not be found out, and why.
    package var unknown: [String] {
        var unknown: [String] = []
        if adapter.information == nil {
            unknown.append(
                "Name, manufacturer and version: the kernel does not know them while a program has the adapter."
            )
        }
        if adapter.features == nil {
            unknown.append("LE features: the kernel shows them to root alone, once it has set the adapter up itself.")
        }
        return unknown
    }

    package var rows: [(String, String)] {
        var rows: [(String, String)] = []
        if let information = adapter.information {
            rows.append(("name", Terminal.printable(information.name)))
            rows.append(("manufacturer", manufacturer(information.manufacturer)))
            rows.append(("version", "Bluetooth " + ControllerNames.bluetoothVersion(information.version)))
        }
        if let features = adapter.features { rows.append(("LE features", features.names.joined(separator: ", "))) }
        rows.append(("owner", adapter.owner.map { "\($0)" } ?? "nobody"))
        rows.append(("state", state))
        rows += obstacles.map { ("not usable", "\($0)") }
        rows += unknown.map { ("not known", $0) }
        return rows
    }

    package var json: String {
        var line = JSONLine(["adapter": .text(adapter.name), "index": .integer(Int(adapter.index))])
        line.add("address", adapter.address.map { .text("\($0)") })
        line.add("bus", .text(adapter.bus))
        line.add("name", adapter.information.map { .text($0.name) })
        line.add("manufacturer", adapter.information.map { .integer(Int($0.manufacturer)) })
        line.add(
            "manufacturerName",
            adapter.information.flatMap { ControllerNames.manufacturer($0.manufacturer) }.map { .text($0) })
        line.add("version", adapter.information.map { .text(ControllerNames.bluetoothVersion($0.version)) })
        line.add("lowEnergy", adapter.information.map { .truth($0.supportsLowEnergy) })
        line.add("features", adapter.features.map { .list($0.names.map { .text($0) }) })
        line.add("owner", adapter.owner.map { .text("\($0)") })
        line.add("state", .text(state))
        line.add("usable", .truth(isUsable))
        line.add("obstacles", .list(obstacles.map { .text("\($0)") }))
        line.add("unknown", .list(unknown.map { .text($0) }))
        return line.text
    }

    private func manufacturer(_ number: UInt16) -> String {
        ControllerNames.manufacturer(number) ?? "company \(number)"
    }
}
