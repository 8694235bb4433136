import HCITransport

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
