import BluetoothToolkit
import CoreBluetooth
import Foundation
import Simulation

extension CommandSyntax {
    static let send = CommandSyntax(
        name: "send", summary: "send a file to a computer that runs \"ble receive\"", operands: "FILE [DEVICE]",
        operandCount: 1...2,
        discussion: """
            Sends in pieces, repairs losses, connects again when the link is lost, and goes on where the receiver is,
            also when one of the two was started anew. Without DEVICE the first receiver on the air is taken. The
            format is in Documentation/TransferFormat.md. In the simulated radio there is a receiver.

            With "--over notifications" this computer is the peripheral: it advertises until somebody who runs
            "ble receive --from NAME" has taken the file.
            \(DeviceChoice.help)
            """,
        options: RunSettings.options(timeout: "for ever if left out") + [
            OptionSyntax(
                name: "--over", value: "CARRIER",
                help: "writes (without response; if left out), confirmed (writes with\nresponse), channel (L2CAP), "
                    + "or notifications", choices: ["writes", "confirmed", "channel", "notifications"]),
            OptionSyntax(name: "--name", value: "NAME", help: "with notifications: the name on the air (Sender)"),
            OptionSyntax(
                name: "--one-by-one", value: nil, help: "confirmed, and wait for an acknowledgement of each piece"),
        ] + TransferFaults.options,
        examples: [
            ("ble send photo.jpg", "to the first receiver on the air"),
            ("ble send README.md --radio simulated", "to a simulated one, which keeps it in memory"),
            ("ble send README.md --radio simulated --loss 5 --breaks 2", "through hardships"),
        ])
}

/// `ble send`.
struct SendCommand {
    private enum Way {
        case central(MessageCarrier, DeviceChoice)
        case peripheral(name: String)
    }

    private let command: CommandRun
    private let path: String
    private let way: Way
    private let isOneByOne: Bool
    private let faults: TransferFaults.Plan

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        path = arguments.operands[0]
        isOneByOne = arguments.has("--one-by-one")
        faults = try TransferFaults.Plan(arguments)
        way = try Self.way(arguments, isOneByOne: isOneByOne)
        var settings = try RunSettings(tool, arguments, timeout: nil)
        if case .peripheral(let name) = way { settings.deviceName = name }
        command = CommandRun(tool: tool, settings: settings)
    }

    private static func way(_ arguments: ParsedArguments, isOneByOne: Bool) throws(UsageError) -> Way {
        let device = arguments.operands.count > 1 ? DeviceChoice(arguments.operands[1]) : .any
        let name = arguments.values["--name"]
        switch arguments.values["--over"] {
        case "notifications"?:
            if arguments.operands.count > 1 {
                throw UsageError("with notifications the receiver comes; name no DEVICE")
            }
            return .peripheral(name: name ?? "Sender")
        case let carrier where name != nil:
            throw UsageError("--name needs --over notifications, not \(carrier ?? "writes")")
        case "confirmed"?: return .central(.confirmedWrites, device)
        case "channel"?: return .central(.channel, device)
        case "writes"?, nil: return .central(isOneByOne ? .confirmedWrites : .writes, device)
        case let other?:
            throw UsageError("--over takes writes, confirmed, channel or notifications, not \"\(other)\"")
        }
    }

    func run() -> ToolStatus {
        switch way {
        case .central(let carrier, let device): runCentral(carrier, device)
        case .peripheral(let name): runPeripheral(name)
        }
    }

    private func runCentral(_ carrier: MessageCarrier, _ device: DeviceChoice) -> ToolStatus {
        let (output, isJSON, path, isOneByOne) = (command.output, command.settings.isJSON, path, isOneByOne)
        let faults = TransferFaults(faults)
        return command.run { home in
            home.add("Receiver", at: 3) { time in
                try await Reception(store: MemoryStore(), name: "Receiver") { _ in false }.run(time)
            }
        } _: { time in
            let sender = try Self.sender(of: path, isOneByOne: isOneByOne)
            let central = Central(time: time)
            try await central.waitUntilOn()
            let receiver = try await device.find(with: central, services: [MessageService.service])
            var persistence = TransferPersistence()
            persistence.carrier = carrier
            let result = try await sender.send(
                to: receiver, persistence: persistence, wrap: faults.wrap, tell: { Self.tell($0, output, isJSON) })
            output.line(isJSON ? result.json : result.summary(to: receiver.label))
            return .success
        }
    }

    private func runPeripheral(_ name: String) -> ToolStatus {
        let (output, isJSON, path, isOneByOne) = (command.output, command.settings.isJSON, path, isOneByOne)
        let faults = TransferFaults(faults)
        return command.run { home in
            home.add("Receiver", at: 3) { time in
                try await Collection(store: MemoryStore(), device: .name(name)) { _ in false }.run(time)
            }
        } _: { time in
            let sender = try Self.sender(of: path, isOneByOne: isOneByOne)
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            output.line(
                isJSON
                    ? JSONLine(["event": .text("advertising"), "name": .text(name)]).text
                    : "on the air as \"\(name)\" until somebody has taken it")
            let result = try await sender.send(
                from: peripheral, as: name, wrap: faults.wrap, tell: { Self.tell($0, output, isJSON) })
            output.line(isJSON ? result.json : result.summary(to: "the receiver"))
            return .success
        }
    }

    private static func sender(of path: String, isOneByOne: Bool) throws -> TransferSender {
        do {
            let url = URL(fileURLWithPath: path)
            return try TransferSender(FileSource(url), name: url.lastPathComponent, isOneByOne: isOneByOne)
        } catch ToolkitError.notARegularFile {
            throw CommandFailure(sentence: "\(path) is not a regular file, and only such a one can be sent")
        } catch {
            throw CommandFailure(sentence: "\(path) cannot be read: \(fileTrouble(error))")
        }
    }

    private static func tell(_ event: SendingEvent, _ output: LiveOutput, _ isJSON: Bool) {
        switch event {
        case .connecting(let attempt) where attempt == 1: break
        case .connecting(let attempt): output.progress("connecting, attempt \(attempt)")
        case .progress(let progress): output.progress(progress.bar)
        case .interrupted(let cause, _): output.line(interruption(cause, isJSON))
        }
    }

    static func interruption(_ cause: LinkEnd, _ isJSON: Bool) -> String {
        isJSON
            ? JSONLine(["event": .text("interrupted"), "cause": .text("\(cause)")]).text : "interrupted: \(cause)"
    }
}

extension TransferProgress {
    /// A bar for a terminal.
    fileprivate var bar: String {
        let part = length > 0 ? Double(done) / Double(length) : 1
        let filled = Int(part * 24)
        let left = rate > 0 ? Double(length - done) / rate : 0
        return "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: 24 - filled) + "] "
            + "\(JSONLine.fixed(part * 100, digits: 0)) %  \(JSONLine.fixed(rate / 1000, digits: 1)) kB/s  "
            + "\(JSONLine.fixed(left, digits: 0)) s left"
    }

    fileprivate func summary(to receiver: String) -> String {
        var text = "\(length) octets are with \(receiver), intact"
        if elapsed > .zero {
            text += "; \(JSONLine.fixed(rate * 8 / 1000, digits: 0)) kbit/s"
        }
        if resumedFrom > 0 { text += ", gone on from \(resumedFrom)" }
        if repeated > 0 { text += ", \(repeated) pieces sent again" }
        return text
    }

    fileprivate var json: String {
        JSONLine([
            "event": .text("sent"), "length": .integer(Int(length)), "resumedFrom": .integer(Int(resumedFrom)),
            "repeated": .integer(repeated), "seconds": .decimal(elapsed / .seconds(1), digits: 3),
            "kbitPerSecond": .decimal(rate * 8 / 1000, digits: 1),
        ]).text
    }
}
