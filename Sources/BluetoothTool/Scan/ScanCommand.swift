import Backends
import BluetoothTypes
import CoreBluetooth
import Foundation

/// `ble scan`: who is on the air.
struct ScanCommand {
    private let tool: Tool
    private let radio: RadioChoice
    private let limit: Duration
    private let services: [CBUUID]?
    private let allowDuplicates: Bool
    private let isJSON: Bool

    private static let step = Duration.milliseconds(250)
    /// How long a radio may take to be on.
    private static let patience = Duration.seconds(25)

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        self.tool = tool
        radio = try RadioChoice(tool, arguments)
        limit = .seconds(try arguments.number("--seconds", in: 1...86400) ?? 10)
        services = try arguments.values["--service"].map { text throws(UsageError) in [try Self.uuid(text)] }
        allowDuplicates = arguments.has("--duplicates")
        isJSON = arguments.has("--json")
    }

    /// `CBUUID` stops the program at a bad text, so we look first.
    private static func uuid(_ text: String) throws(UsageError) -> CBUUID {
        guard let uuid = BluetoothUUID(coreBluetoothText: text) else {
            throw UsageError("--service takes a UUID of 4, 8 or 36 characters, not \"\(text)\"")
        }
        return CBUUID(uuid)
    }

    func run() -> ToolStatus {
        let view = ScanView(tool: tool, isJSON: isJSON)
        var problem: String?
        // On a terminal the table lives by itself; a live table needs every packet.
        let scanner = Scanner(
            services: services, allowDuplicates: allowDuplicates || view.isLive, onSighting: view.add,
            onProblem: { problem = $0 })
        let stage = makeStage()
        stage.asUser(of: "phone") { scanner.start() }
        // A controller that does not answer is found out by the host, which then says so.
        stage.run(for: Self.patience) { scanner.wasPoweredOn || problem != nil }
        let end = stage.now + limit
        while scanner.wasPoweredOn, stage.now < end, problem == nil {
            stage.run(for: min(Self.step, end - stage.now)) { problem != nil }
            // Simulated time would be over before anybody could look.
            if view.isLive, stage is SimulatedStage { Thread.sleep(forTimeInterval: Self.step / .seconds(1)) }
            view.refresh()
        }
        stage.asUser(of: "phone") { scanner.stop() }
        if scanner.wasPoweredOn { view.finish() }
        guard scanner.wasPoweredOn, problem == nil else {
            let why = (stage as? RealStage)?.whyUnusable ?? problem
            tool.printError("ble: \(why ?? "the radio was not on within \(Self.patience / .seconds(1)) s")")
            return .noRadio
        }
        return .success
    }

    private func makeStage() -> any Stage {
        // What the library has to say of the radio is said at the end, once.
        let timeline = Timeline()
        if let factory = radio.realTimeFactory {
            return RealStage(radio: factory, timeline: timeline, limit: limit + Self.patience)
        }
        let stage = SimulatedStage(seed: 0, timeline: timeline)
        stage.addNeighbourhood()
        return stage
    }
}

/// Shows sightings: a table that is drawn anew on a terminal, a table at the end elsewhere, or lines of JSON.
private final class ScanView {
    private let tool: Tool
    private let isJSON: Bool
    private var table = ScanTable()
    private var drawnLines = 0
    private var isDrawn = false

    init(tool: Tool, isJSON: Bool) {
        self.tool = tool
        self.isJSON = isJSON
    }

    var isLive: Bool { tool.terminal.isInteractive && !isJSON }

    func add(_ sighting: Sighting) {
        if isJSON { tool.print(sighting.json) }
        table.add(sighting)
        isDrawn = false
    }

    func refresh() {
        guard isLive, !isDrawn else { return }
        let all = table.lines(on: tool.terminal)
        // What is taller than the terminal cannot be wiped again.
        let lines = all.prefix(max(2, tool.terminal.rows - 2))
        tool.print(Terminal.wiped(drawnLines) + lines.joined(separator: "\n"))
        drawnLines = lines.count
        isDrawn = true
    }

    func finish() {
        guard !isJSON else { return }
        if !isLive, !table.devices.isEmpty { tool.print(table.lines(on: tool.terminal).joined(separator: "\n")) }
        tool.print(table.devices.count == 1 ? "1 device" : "\(table.devices.count) devices")
    }
}
