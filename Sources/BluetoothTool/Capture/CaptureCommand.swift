import Backends
import BluetoothToolkit
import CoreBluetooth
import Glibc

extension CommandSyntax {
    static let capture = CommandSyntax(
        name: "capture", summary: "record what passes between host and controller, as Wireshark reads it",
        operands: "FILE [PROGRAM ARGUMENTS...]", operandCount: 1...1000,
        discussion: """
            Records HCI packets into FILE (btsnoop, H4), which Wireshark and btmon open and "ble doctor --capture"
            examines. With PROGRAM it starts that, with the record switched on; write "--" before it if it has options
            of its own. Without, it scans and records what is heard, until Ctrl-C or for a time. What the traffic holds
            the file holds too; only its owner may read it.

            The commands that talk to devices record themselves with --capture FILE, in the simulated radio as well.
            """,
        options: RunSettings.plainOptions(timeout: "for ever if left out") + [
            OptionSyntax(name: "--seconds", value: "N", help: "without PROGRAM: how long, 0.1...86400")
        ],
        examples: [
            ("ble capture app.btsnoop -- swift run app --verbose", "an app of this library, on BLE_RADIO"),
            ("ble capture air.btsnoop --radio simulated --seconds 5", "a scan"),
            ("ble capture read.btsnoop -- ble read Strap 2A24", "one command; so does its --capture read.btsnoop"),
        ])
}

/// `ble capture`.
struct CaptureCommand {
    private let tool: Tool
    private let arguments: ParsedArguments
    private let settings: RunSettings
    private let duration: Duration?

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        self.tool = tool
        self.arguments = arguments
        var settings = try RunSettings(tool, arguments, timeout: nil)
        settings.capture = arguments.operands[0]
        self.settings = settings
        duration = try arguments.number("--seconds", in: 0.1...86400).map { .seconds($0) }
        guard arguments.operands.count == 1 || duration == nil else {
            throw UsageError("--seconds is for a record without PROGRAM")
        }
    }

    func run() -> ToolStatus {
        guard arguments.operands.count == 1 else { return startProgram() }
        let run = CommandRun(tool: tool, settings: settings)
        let (output, isJSON, duration, path) = (run.output, settings.isJSON, duration, arguments.operands[0])
        return run.run { time in
            let central = Central(time: time)
            try await central.waitUntilOn()
            let heard = try central.scan(duplicates: true, buffer: .newest(64))
            output.line(
                isJSON ? JSONLine(["event": .text("recording"), "path": .text(path)]).text : "recording to \(path)")
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { for try await _ in heard {} }
                if let duration { group.addTask { try await time.sleep(for: duration) } }
                try await group.next()
            }
            return .success
        }
    }

    /// Becomes the program: its input, output, signals and status are its own.
    private func startProgram() -> ToolStatus {
        let path = arguments.operands[0]
        // The program may go to another folder first.
        let place = path.hasPrefix("/") ? path : workingFolder() + "/" + path
        _ = unsafe setenv(DefaultRadio.captureVariable, place, 1)
        if let radio = arguments.values["--radio"] { _ = unsafe setenv(DefaultRadio.variable, radio, 1) }
        // Ctrl-C is the program's own again.
        for number in [SIGINT, SIGTERM, SIGPIPE] { signal(number, SIG_DFL) }
        let words = Array(arguments.operands.dropFirst())
        var pointers = unsafe words.map { unsafe strdup($0) } + [nil]
        _ = unsafe execvp(words[0], &pointers)
        let reason = unsafe String(cString: strerror(errno))
        unsafe pointers.forEach { unsafe free($0) }
        tool.printError("ble: \(words[0]) cannot be started: \(reason)")
        return .failure
    }

    private func workingFolder() -> String {
        guard let folder = unsafe getcwd(nil, 0) else { return "." }
        defer { unsafe free(folder) }
        return unsafe String(cString: folder)
    }
}
