import BluetoothToolkit
import CoreBluetooth
import Foundation
import Simulation

extension CommandSyntax {
    static let receive = CommandSyntax(
        name: "receive", summary: "receive files that others send by \"ble send\"", operands: "[FOLDER]",
        operandCount: 0...1,
        discussion: """
            Advertises, takes what is sent, and puts it into FOLDER, or here. What is broken off goes on next time, also
            after this program was killed. Files are never overwritten.

            With --from it connects to a device that runs "ble send --over notifications", and takes what that has.
            """,
        options: RunSettings.options(timeout: "for ever if left out") + [
            OptionSyntax(name: "--name", value: "NAME", help: "the name on the air (Receiver)"),
            OptionSyntax(name: "--from", value: "DEVICE", help: "fetch from there: a name, identifier or address"),
            OptionSyntax(name: "--count", value: "N", help: "end after so many files, 1...1000000"),
        ] + TransferFaults.options.prefix(1),
        examples: [
            ("ble receive inbox --count 1", "takes one file, and ends"),
            ("ble receive inbox --from Sender --count 1", "fetches one"),
        ])
}

/// `ble receive`.
struct ReceiveCommand {
    private let command: CommandRun
    private let folder: String
    private let name: String
    private let device: DeviceChoice?
    private let count: Int
    private let faults: TransferFaults.Plan

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        folder = arguments.operands.first ?? "."
        name = arguments.values["--name"] ?? "Receiver"
        device = arguments.values["--from"].map(DeviceChoice.init)
        if device != nil, arguments.values["--name"] != nil {
            throw UsageError("--from does not advertise, and so has no use for --name")
        }
        count = try arguments.number("--count", in: 1...1_000_000) ?? .max
        faults = try TransferFaults.Plan(arguments)
        var settings = try RunSettings(tool, arguments, timeout: nil)
        settings.deviceName = name
        command = CommandRun(tool: tool, settings: settings)
    }

    func run() -> ToolStatus {
        let (output, isJSON, folder, name, count) = (command.output, command.settings.isJSON, folder, name, count)
        let (device, faults) = (device, TransferFaults(faults))
        return command.run { time in
            let store: FolderStore
            do {
                store = try FolderStore(folder: URL(fileURLWithPath: folder))
            } catch {
                throw CommandFailure(sentence: "\(folder) cannot be used: \(fileTrouble(error))")
            }
            let files = FileCount(count)
            let tell = { @Sendable (event: ReceptionEvent) in
                output.line(isJSON ? event.json : event.line)
                if case .completed = event { return files.isLast() }
                return false
            }
            if let device {
                var collection = Collection(store: store, device: device, tell: tell)
                collection.wrap = faults.wrap
                try await collection.run(time)
            } else {
                var reception = Reception(store: store, name: name, tell: tell) {
                    output.line(
                        isJSON
                            ? JSONLine(["event": .text("advertising"), "name": .text(name)]).text
                            : "on the air as \"\(name)\"; Ctrl-C ends it")
                }
                reception.wrap = faults.wrap
                try await reception.run(time)
            }
            return .success
        }
    }
}

// `@unchecked`: `lock` guards the number.
private final class FileCount: @unchecked Sendable {
    private let lock = NSLock()
    private var left: Int

    init(_ count: Int) { left = count }

    func isLast() -> Bool {
        lock.withLock {
            left -= 1
            return left <= 0
        }
    }
}

extension ReceptionEvent {
    fileprivate var line: String {
        switch self {
        case .began(let offer, let offset):
            "\(Terminal.printable(offer.name)), \(offer.length) octets"
                + (offset > 0 ? ", from \(offset) on" : "")
        case .progress(let offer, let done): "\(Terminal.printable(offer.name)): \(done) of \(offer.length)"
        case .completed(let offer, let place):
            "\(Terminal.printable(offer.name)) is complete" + (place.map { ": \(Terminal.printable($0.path))" } ?? "")
        case .damaged(let offer): "\(Terminal.printable(offer.name)) came damaged, and was thrown away"
        case .interrupted(let cause, _): SendCommand.interruption(cause, false)
        }
    }

    fileprivate var json: String {
        func line(_ event: String, _ offer: TransferOffer) -> JSONLine {
            JSONLine(["event": .text(event), "name": .text(offer.name), "length": .integer(Int(offer.length))])
        }
        var result: JSONLine
        switch self {
        case .began(let offer, let offset):
            result = line("began", offer)
            result.add("from", .integer(Int(offset)))
        case .progress(let offer, let done):
            result = line("progress", offer)
            result.add("done", .integer(Int(done)))
        case .completed(let offer, let place):
            result = line("completed", offer)
            result.add("path", place.map { .text($0.path) })
        case .damaged(let offer): result = line("damaged", offer)
        case .interrupted(let cause, _): return SendCommand.interruption(cause, true)
        }
        return result.text
    }
}
