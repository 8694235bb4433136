import BluetoothToolkit
import CoreBluetooth
import Foundation
import Simulation
import Synchronization

extension CommandSyntax {
    static let doctor = CommandSyntax(
        name: "doctor", summary: "find out what is wrong, and what cures it", operands: "[DEVICE]", operandCount: 0...1,
        discussion: """
            Looks at the radio and the air; at DEVICE, if it is named, how it connects and what it offers; at a service
            and a characteristic of it, whether they are there, answer and notify. Says what is wrong, what shows it,
            and what cures it. With --capture it finds in a record of HCI packets what went wrong on a link; with --log
            it reads what CoreBluetooth has said of a program's mistakes.
            \(DeviceChoice.help)
            """,
        options: RunSettings.plainOptions(timeout: "180 if left out") + [
            OptionSyntax(name: "--service", value: "UUID", help: "a service that is wanted"),
            OptionSyntax(name: "--characteristic", value: "UUID", help: "a characteristic that is wanted"),
            OptionSyntax(name: "--notify", value: nil, help: "it shall notify"),
            OptionSyntax(name: "--write", value: "HEX", help: "try to write this to it"),
            OptionSyntax(name: "--without-response", value: nil, help: "write as the program does: unconfirmed"),
            OptionSyntax(name: "--log", value: "FILE", help: "the standard error of a program; no radio is used"),
            OptionSyntax(
                name: "--capture", value: "FILE",
                help: "a record of HCI packets (btsnoop), of this library, Android\nor btmon; no radio is used"),
            OptionSyntax(name: "--list", value: nil, help: "list everything that can be found"),
        ],
        examples: [
            ("ble doctor --radio simulated", "the radio, and the air around it"),
            ("ble doctor Strap --characteristic 2A37", "why do no heart beats come?"),
            ("ble doctor --capture app.btsnoop", "what went wrong in an app's traffic; see ble capture"),
            ("ble doctor --log app.log", "what the app does wrong"),
        ])
}

/// `ble doctor`.
struct DoctorCommand {
    private let tool: Tool
    private let settings: RunSettings
    private let examination: Examination
    private let log: String?
    private let capture: String?
    private let lists: Bool

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        self.tool = tool
        var settings = try RunSettings(tool, arguments, timeout: .seconds(180))
        settings.capture = nil
        self.settings = settings
        func named(_ option: String) throws(UsageError) -> Examination.Named? {
            guard let text = arguments.values[option] else { return nil }
            _ = try AttributeChoice.uuid(text)
            return Examination.Named(text)
        }
        var examination = Examination()
        examination.device = arguments.operands.first.map(DeviceChoice.init)
        examination.service = try named("--service")
        examination.characteristic = try named("--characteristic")
        examination.wantsNotifications = arguments.has("--notify")
        examination.write = try arguments.values["--write"].map { text throws(UsageError) in
            try ValueText.data(hex: text)
        }
        examination.writesWithResponse = !arguments.has("--without-response")
        self.examination = examination
        log = arguments.values["--log"]
        capture = arguments.values["--capture"]
        lists = arguments.has("--list")
    }

    func run() -> ToolStatus {
        if lists { return list() }
        if let log { return read(log) }
        if let capture { return read(capture: capture) }
        if case .real(let address) = settings.radio {
            // What ble adapters says of it explains more than the state that a manager would come to.
            let findings = AdapterReport.findings(for: address)
            if !findings.isEmpty { return tell(findings) }
        }
        let run = CommandRun(tool: tool, settings: settings)
        let found = Mutex<[Finding]?>(nil)
        let note = { @Sendable (findings: [Finding]) in found.withLock { $0 = findings } }
        let (reason, radio) = (run.reason, settings.radio)
        let status = run.run { [examination] time in
            var examination = examination
            examination.whyUnusable = { reason.text ?? AdapterReport.absence(of: radio) }
            note(try await examination.run(with: Central(time: time)))
            return .success
        }
        guard let findings = found.withLock({ $0 }) else { return status }
        return tell(findings)
    }

    private func read(_ path: String) -> ToolStatus {
        guard let data = contents(path) else { return .failure }
        return tell(LogReader.findings(in: String(decoding: data, as: UTF8.self)))
    }

    private func read(capture path: String) -> ToolStatus {
        guard let data = contents(path) else { return .failure }
        do {
            return tell(
                try CaptureReader.findings(in: [UInt8](data), wantsNotifications: examination.wantsNotifications))
        } catch {
            tool.printError("ble: \(path) is no record of HCI packets: \(error)")
            return .failure
        }
    }

    private func contents(_ path: String) -> Data? {
        do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            tool.printError("ble: \(path) cannot be read: \(fileTrouble(error))")
            return nil
        }
    }

    private func list() -> ToolStatus {
        for cause in Cause.allCases {
            tool.print(
                settings.isJSON
                    ? JSONLine([
                        "cause": .text(cause.rawValue), "title": .text(cause.title), "cure": .text(cause.cure),
                    ]).text
                    : "\(cause.title)\n    \(cause.cure)")
        }
        return .success
    }

    private func tell(_ findings: [Finding]) -> ToolStatus {
        for finding in findings {
            tool.print(
                settings.isJSON
                    ? JSONLine([
                        "cause": .text(finding.cause.rawValue), "title": .text(finding.cause.title),
                        "evidence": .text(finding.evidence), "cure": .text(finding.cause.cure),
                    ]).text
                    : "\(tool.terminal.styled(finding.cause.title, .red))\n    seen: \(finding.evidence)\n"
                        + "    cure: \(finding.cause.cure)")
        }
        if findings.isEmpty, !settings.isJSON { tool.print("nothing is wrong") }
        return findings.isEmpty ? .success : .failure
    }
}
