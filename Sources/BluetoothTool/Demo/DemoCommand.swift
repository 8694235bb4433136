import Backends
import Foundation
import HCITransport
import Simulation

/// `ble demo`: plays demos, prints what happens, and judges.
struct DemoCommand {
    private let tool: Tool
    private let demos: [Demo]
    private let listsOnly: Bool
    private let isJSON: Bool
    private let seed: UInt64
    private let radio: (any SessionFactory)?
    private let limit: Duration
    private let capture: String?
    private let airCapture: String?

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        self.tool = tool
        listsOnly = arguments.has("--list")
        isJSON = arguments.has("--json")
        seed = try arguments.number("--seed", in: 0...0xFFFF_FFFF) ?? 0
        let seconds = try arguments.number("--seconds", in: 1...3600)
        limit = .seconds(seconds ?? 120)
        radio = try arguments.values["--radio"].map { text throws(UsageError) in try RadioChoice(text) }?
            .realTimeFactory
        guard radio != nil || seconds == nil else {
            throw UsageError("--seconds is for another radio: in its own world a demo ends by itself")
        }
        demos = try Self.chosen(arguments.operands.first, onOtherRadio: radio != nil)
        capture = arguments.values["--capture"]
        airCapture = arguments.values["--air-capture"]
        guard capture == nil && airCapture == nil || radio == nil && demos.count == 1 else {
            let option = capture == nil ? "--air-capture" : "--capture"
            throw UsageError("\(option) records one demo in its simulated world: name the demo, and no --radio")
        }
    }

    private static func chosen(_ name: String?, onOtherRadio: Bool) throws(UsageError) -> [Demo] {
        guard let name else { return Demo.all.filter { !(onOtherRadio && $0.needsOwnWorld) } }
        if let demo = Demo.all.first(where: { $0.name == name }) {
            guard !(onOtherRadio && demo.needsOwnWorld) else {
                throw UsageError("the demo \(name) plays in a world of its own: leave --radio out")
            }
            return [demo]
        }
        let names = Demo.all.map(\.name)
        let suggestion = Spelling.nearest(to: name, among: names).map { "did you mean \($0)?" }
        throw UsageError(
            "there is no demo \(name); " + (suggestion ?? "the demos are \(names.joined(separator: ", "))"))
    }

    func run() -> ToolStatus {
        guard !listsOnly else { return list() }
        do {
            return try playAll()
        } catch {
            tool.printError("ble: \(error.path) cannot be written: \(error.reason)")
            return .failure
        }
    }

    private func playAll() throws(FileError) -> ToolStatus {
        var total = 0
        var broken = 0
        for demo in demos {
            guard let checks = try play(demo) else { return .noRadio }
            total += checks.count
            broken += checks.count { !$0.isKept }
        }
        guard !isJSON else { return broken == 0 ? .success : .failure }
        let verdict = broken == 0 ? "All \(total) promises were kept." : "\(broken) of \(total) promises were not kept."
        tool.print(tool.terminal.styled(verdict, broken == 0 ? .green : .red))
        return broken == 0 ? .success : .failure
    }

    private func list() -> ToolStatus {
        let width = Demo.all.map(\.name.count).max() ?? 0
        for demo in Demo.all {
            tool.print(
                isJSON
                    ? JSONLine(["name": .text(demo.name), "title": .text(demo.title), "rows": .text(demo.rows)]).text
                    : HelpText.padded(demo.name, width) + "  " + demo.title + " (" + demo.rows + ")")
        }
        return .success
    }

    /// Plays one demo; `nil` if there was no radio to play it on.
    private func play(_ demo: Demo) throws(FileError) -> [Check]? {
        if !isJSON { tool.print(tool.terminal.styled("\(demo.title) (\(demo.rows))", .bold) + "\n") }
        let printer = TimelinePrinter(tool: tool, demo: demo.name, isJSON: isJSON)
        let timeline = Timeline(onEntry: printer.print)
        let checks: [Check]
        if let radio {
            let stage = RealStage(radio: radio, timeline: timeline, limit: limit)
            checks = demo.play(stage)
            printer.finish()
            guard stage.wasPoweredOn, stage.whyUnusable == nil else {
                tool.printError("ble: \(stage.whyUnusable ?? "The radio was never on, so nothing could be played.")")
                return nil
            }
        } else {
            var records = BTSnoop.header
            let onPacket = capture.map { _ in { (record: [UInt8]) in records += record } }
            var air = AirCapture.header
            let stage = SimulatedStage(seed: seed, timeline: timeline, onPacket: onPacket)
            if airCapture != nil { stage.recordAir { air += $0 } }
            checks = demo.play(stage)
            printer.finish()
            if let capture { try write(records, to: capture) }
            if let airCapture { try write(air, to: airCapture) }
        }
        for check in checks.sorted(by: { $0.row < $1.row }) {
            tool.print(isJSON ? check.json(demo: demo.name) : check.line(on: tool.terminal))
        }
        if !isJSON { tool.print("") }
        return checks
    }

    private func write(_ octets: [UInt8], to path: String) throws(FileError) {
        do {
            try Data(octets).write(to: URL(filePath: path))
        } catch {
            throw FileError(path: path, reason: fileTrouble(error))
        }
    }
}

private struct FileError: Error {
    var path: String
    var reason: String
}

/// Prints a timeline while it grows.
private final class TimelinePrinter {
    private let tool: Tool
    private let demo: String
    private let isJSON: Bool
    private var text: TimelineText

    init(tool: Tool, demo: String, isJSON: Bool) {
        self.tool = tool
        self.demo = demo
        self.isJSON = isJSON
        text = TimelineText(terminal: tool.terminal)
    }

    func print(_ entry: TimelineEntry) {
        if isJSON { return tool.print(entry.json(demo: demo)) }
        for line in text.lines(for: entry) { tool.print(line) }
    }

    func finish() {
        guard !isJSON else { return }
        for line in text.finish() { tool.print(line) }
        tool.print("")
    }
}
