import BluetoothToolkit
import CoreBluetooth
import Foundation
import Simulation
import Synchronization

extension CommandSyntax {
    static let soak = CommandSyntax(
        name: "soak", summary: "test for minutes or hours whether a link is stable",
        operands: "[DEVICE]", operandCount: 0...1,
        discussion: """
            Sends a packet to DEVICE every so often, which sends it back, and counts: loss, duplicates, order, latency,
            jitter, signal strength, disconnects with their causes, time to reconnect. The test fails if more is lost
            or the link ends more often than allowed. DEVICE is another computer that runs "ble soak --peer"; left out,
            the first one on the air is taken. In the simulated radio there is one.
            """,
        options: RunSettings.options(timeout: "for ever if left out; the test ends by itself") + [
            OptionSyntax(name: "--peer", value: nil, help: "be the peer: send packets back, until Ctrl-C"),
            OptionSyntax(name: "--name", value: "NAME", help: "with --peer: the name on the air (Soak peer)"),
            OptionSyntax(name: "--minutes", value: "N", help: "how long, 0.01...10000 (30 if left out)"),
            OptionSyntax(name: "--interval", value: "MS", help: "from packet to packet, 5...60000 (100 if left out)"),
            OptionSyntax(name: "--length", value: "OCTETS", help: "of a packet, 9...512 (20 if left out)"),
            OptionSyntax(name: "--max-loss", value: "PERCENT", help: "more lost fails, 0...100 (1 if left out)"),
            OptionSyntax(name: "--max-disconnects", value: "N", help: "more fail, 0...10000 (2 if left out)"),
            OptionSyntax(
                name: "--loss", value: "PERCENT",
                help: "a fault: the peer loses so many packets, 0...100 (0 if left out)"),
            OptionSyntax(name: "--html", value: "FILE", help: "write the report as one page with plots"),
            OptionSyntax(name: "--junit", value: "FILE", help: "write the report for continuous integration"),
            OptionSyntax(name: "--report", value: "FILE", help: "write the report as JSON"),
        ],
        examples: [
            ("ble soak --radio simulated", "30 minutes, in seconds"),
            ("ble soak --radio simulated --loss 3", "a peer that loses 3 %: fails"),
            ("ble soak --minutes 5 --html soak.html", "with whatever peer is there"),
        ])
}

/// `ble soak`: the stability test, and its peer.
struct SoakCommand {
    private let tool: Tool
    private let settings: RunSettings
    private let plan: SoakPlan
    private let device: DeviceChoice?
    private let isPeer: Bool
    private let name: String
    private let loss: Double
    private let files: [(path: String, kind: ReportKind)]

    private enum ReportKind {
        case html, junit, json
    }

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        self.tool = tool
        settings = try RunSettings(tool, arguments, timeout: nil)
        var plan = SoakPlan()
        if let minutes = try arguments.number("--minutes", in: 0.01...10_000) { plan.duration = .seconds(minutes * 60) }
        if let interval = try arguments.number("--interval", in: 5...60_000) { plan.interval = .milliseconds(interval) }
        plan.packetLength = try arguments.number("--length", in: 9...512) ?? plan.packetLength
        plan.maximumLoss = try arguments.number("--max-loss", in: 0.0...100).map { $0 / 100 } ?? plan.maximumLoss
        plan.maximumDisconnects = try arguments.number("--max-disconnects", in: 0...10_000) ?? plan.maximumDisconnects
        self.plan = plan
        loss = (try arguments.number("--loss", in: 0.0...100) ?? 0) / 100
        isPeer = arguments.has("--peer")
        name = arguments.values["--name"] ?? "Soak peer"
        device = arguments.operands.first.map(DeviceChoice.init)
        files = [("--html", ReportKind.html), ("--junit", .junit), ("--report", .json)].compactMap { option, kind in
            arguments.values[option].map { ($0, kind) }
        }
        if isPeer, device != nil { throw UsageError("--peer takes no DEVICE") }
    }

    func run() -> ToolStatus {
        let run = CommandRun(tool: tool, settings: settings)
        if isPeer { return runPeer(run) }
        // Better now than after the test.
        guard let path = files.map(\.path).first(where: { !Self.canWrite($0) }) else { return runTest(run) }
        tool.printError("ble: \(path) cannot be written; see that its folder is there, and that you may write to it.")
        return .failure
    }

    private static func canWrite(_ path: String) -> Bool {
        let manager = FileManager.default
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return manager.isWritableFile(atPath: manager.fileExists(atPath: path) ? path : folder)
    }

    /// Loses packets by chance that repeats: the same packets in each run.
    private var peer: SoakPeer {
        let limit = loss * 4_294_967_296
        return SoakPeer(name: name) { number in
            // A multiplicative hash spreads consecutive numbers (Knuth, The Art of Computer Programming, 6.4).
            Double((number &+ 1) &* 2_654_435_769) < limit
        }
    }

    private func runPeer(_ run: CommandRun) -> ToolStatus {
        let (peer, name, isJSON, output) = (peer, name, settings.isJSON, run.output)
        return run.run { time in
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            output.line(
                isJSON
                    ? JSONLine(["event": .text("advertising"), "name": .text(name)]).text
                    : "on the air as \"\(name)\"; Ctrl-C ends it")
            try await peer.run(on: peripheral)
            return .success
        }
    }

    private func runTest(_ run: CommandRun) -> ToolStatus {
        let (plan, device, isJSON, output, peer) = (plan, device, settings.isJSON, run.output, peer)
        let box = Mutex<SoakReport?>(nil)
        let keep = { @Sendable (report: SoakReport) in box.withLock { $0 = report } }
        let status = run.run(isAlone: true) { home in
            home.add("Soak peer", at: 3) { time in try await peer.run(on: LocalPeripheral(time: time)) }
        } _: { time in
            let central = Central(time: time)
            try await central.waitUntilOn()
            let found = try await (device ?? .any).find(with: central, services: [SoakService.service])
            output.line(
                isJSON
                    ? JSONLine(["event": .text("testing"), "device": .text(found.label)]).text
                    : "testing \(found.label), \(plan.duration / .seconds(60)) minutes")
            let report = await SoakTest(plan).run(with: found) { report in
                output.progress(report.progressLine)
                if isJSON { output.line(report.progressJSON) }
            }
            keep(report)
            return report.passed ? .success : .failure
        }
        guard let report = box.withLock({ $0 }) else { return status }
        tool.print(isJSON ? report.resultJSON : report.text)
        return write(report) ? status : .failure
    }

    private func write(_ report: SoakReport) -> Bool {
        var isWritten = true
        for (path, kind) in files {
            let text =
                switch kind {
                case .html: report.html(title: "ble soak")
                case .junit: report.junit
                case .json: report.json + "\n"
                }
            do {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            } catch {
                tool.printError("ble: \(path) cannot be written: \(fileTrouble(error))")
                isWritten = false
            }
        }
        return isWritten
    }
}

extension SoakReport {
    private func line(_ event: String) -> JSONLine {
        JSONLine([
            "event": .text(event), "seconds": .decimal(seconds, digits: 1), "sent": .integer(sent),
            "received": .integer(received), "lost": .integer(lost), "lossRate": .decimal(lossRate, digits: 6),
            "disconnects": .integer(disconnects.count),
            "latency": latency.count > 0 ? .decimal(latency.median, digits: 3) : nil,
        ])
    }

    fileprivate var progressJSON: String { line("progress").text }

    fileprivate var resultJSON: String {
        var line = line("result")
        line.add("passed", .truth(passed))
        line.add("duplicates", .integer(duplicates))
        line.add("reordered", .integer(reordered))
        line.add("late", .integer(late))
        line.add("notSent", .integer(notSent))
        line.add("latency90", .decimal(latency.percentile90, digits: 3))
        line.add("latency99", .decimal(latency.percentile99, digits: 3))
        line.add("latencyMaximum", .decimal(latency.maximum, digits: 3))
        line.add("jitter", .decimal(jitter, digits: 3))
        line.add("rssi", rssi.count > 0 ? .decimal(rssi.mean, digits: 1) : nil)
        line.add("failed", .list(checks.filter { !$0.passed }.map { .text($0.text) }))
        return line.text
    }
}
