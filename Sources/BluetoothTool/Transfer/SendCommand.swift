import BluetoothToolkit
import CoreBluetooth
import Foundation

extension CommandSyntax {
    static let send = CommandSyntax(
        name: "send", summary: "send a file to a computer that runs \"ble receive\"", operands: "FILE [DEVICE]",
        operandCount: 1...2,
        discussion: """
            Sends in pieces, repairs losses, connects again when the link is lost, and goes on where the receiver is,
            also when one of the two was started anew. Without DEVICE the first receiver on the air is taken. The
            format is in Documentation/TransferFormat.md. In the simulated radio there is a receiver.
            """,
        options: RunSettings.options(timeout: "for ever if left out") + [
            OptionSyntax(name: "--one-by-one", value: nil, help: "wait for an acknowledgement of each piece")
        ],
        examples: [
            ("ble send photo.jpg", "to the first receiver on the air"),
            ("ble send README.md --radio simulated", "to a simulated one, which keeps it in memory"),
        ])

    static let receive = CommandSyntax(
        name: "receive", summary: "receive files that others send by \"ble send\"", operands: "[FOLDER]",
        operandCount: 0...1,
        discussion: """
            Advertises, takes what is sent, and puts it into FOLDER, or here. What is broken off goes on next time, also
            after this program was killed. Files are never overwritten.
            """,
        options: RunSettings.options(timeout: "for ever if left out") + [
            OptionSyntax(name: "--name", value: "NAME", help: "the name on the air (Receiver)"),
            OptionSyntax(name: "--count", value: "N", help: "end after so many files, 1...1000000"),
        ],
        examples: [("ble receive inbox --count 1", "takes one file, and ends")])
}

/// `ble send`.
struct SendCommand {
    private let command: CommandRun
    private let path: String
    private let device: DeviceChoice
    private let isOneByOne: Bool

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        command = CommandRun(tool: tool, settings: try RunSettings(tool, arguments, timeout: nil))
        path = arguments.operands[0]
        device = arguments.operands.count > 1 ? DeviceChoice(arguments.operands[1]) : .any
        isOneByOne = arguments.has("--one-by-one")
    }

    func run() -> ToolStatus {
        let (output, isJSON, path, device, isOneByOne) = (
            command.output, command.settings.isJSON, path, device, isOneByOne
        )
        return command.run { home in
            home.add("Receiver", at: 3) { time in
                try await Reception(store: MemoryStore(), name: "Receiver") { _ in false }.run(time)
            }
        } _: { time in
            let sender: TransferSender
            do {
                let source = try FileSource(URL(fileURLWithPath: path))
                sender = try TransferSender(
                    source, name: URL(fileURLWithPath: path).lastPathComponent, isOneByOne: isOneByOne)
            } catch {
                throw CommandFailure(sentence: "\(path) cannot be read: \(error.localizedDescription)")
            }
            let central = Central(time: time)
            try await central.waitUntilOn()
            let receiver = try await device.find(with: central, services: [MessageService.service])
            var persistence = TransferSender.Persistence()
            if isOneByOne { persistence.mode = .withResponse }
            let result = try await sender.send(
                to: receiver, persistence: persistence, tell: { Self.tell($0, output, isJSON) })
            output.line(isJSON ? result.json : result.summary(to: receiver.label))
            return .success
        }
    }

    private static func tell(_ event: SendingEvent, _ output: LiveOutput, _ isJSON: Bool) {
        switch event {
        case .connecting(let attempt) where attempt == 1: break
        case .connecting(let attempt): output.progress("connecting, attempt \(attempt)")
        case .progress(let progress): output.progress(progress.bar)
        case .interrupted(let cause, _):
            output.line(
                isJSON
                    ? JSONLine(["event": .text("interrupted"), "cause": .text("\(cause)")]).text
                    : "interrupted: \(cause)")
        }
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

/// `ble receive`.
struct ReceiveCommand {
    private let command: CommandRun
    private let folder: String
    private let name: String
    private let count: Int

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        command = CommandRun(tool: tool, settings: try RunSettings(tool, arguments, timeout: nil))
        folder = arguments.operands.first ?? "."
        name = arguments.values["--name"] ?? "Receiver"
        count = try arguments.number("--count", in: 1...1_000_000) ?? .max
    }

    func run() -> ToolStatus {
        let (output, isJSON, folder, name, count) = (command.output, command.settings.isJSON, folder, name, count)
        return command.run { time in
            let store: FolderStore
            do {
                store = try FolderStore(folder: URL(fileURLWithPath: folder))
            } catch {
                throw CommandFailure(sentence: "\(folder) cannot be used: \(error.localizedDescription)")
            }
            let files = FileCount(count)
            let reception = Reception(store: store, name: name) { event in
                output.line(isJSON ? event.json : event.line)
                if case .completed = event { return files.isLast() }
                return false
            } onAir: {
                output.line(
                    isJSON
                        ? JSONLine(["event": .text("advertising"), "name": .text(name)]).text
                        : "on the air as \"\(name)\"; Ctrl-C ends it")
            }
            try await reception.run(time)
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

/// Advertises and receives until told that it is enough.
struct Reception: Sendable {
    let store: any TransferStore
    let name: String
    /// - Returns: whether it is enough.
    let tell: @Sendable (ReceptionEvent) -> Bool
    var onAir: @Sendable () -> Void = {}

    func run(_ time: Timekeeper) async throws {
        let peripheral = LocalPeripheral(time: time)
        try await peripheral.waitUntilOn()
        let (ends, source) = EventSource<Void>.make(.oldest(1))
        let (store, tell) = (store, tell)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                try await MessageServer(peripheral).run { link in
                    try await TransferReceiver(into: store).receive(over: link, by: time) { event in
                        if tell(event) { source.send(()) }
                    }
                }
            }
            group.addTask {
                for try await _ in ends {
                    // The last acknowledgement needs its time to go on the air.
                    try await time.sleep(for: .seconds(1))
                    return
                }
            }
            try await peripheral.advertise(name: name, services: [MessageService.service])
            onAir()
            group.addTask { [name] in
                // The radio may go and come, and advertising does not come with it.
                while true {
                    try await time.sleep(for: .seconds(1))
                    try await peripheral.waitUntilOn(within: nil)
                    guard !peripheral.isAdvertising else { continue }
                    try await peripheral.advertise(name: name, services: [MessageService.service])
                }
            }
            try await group.next()
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
            "\(Terminal.printable(offer.name)) is complete" + (place.map { ": \($0.path)" } ?? "")
        case .damaged(let offer): "\(Terminal.printable(offer.name)) came damaged, and was thrown away"
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
        }
        return result.text
    }
}

/// Keeps one transfer in memory: the receiver of the simulated world.
// `@unchecked`: `lock` guards the variables.
private final class MemoryStore: TransferStore, @unchecked Sendable {
    private let lock = NSLock()
    private var identifier: UInt64?
    private var content = Data()

    func begin(_ offer: TransferOffer) -> (offset: UInt32, checksum: Checksum) {
        lock.withLock {
            if identifier != offer.identifier { content = Data() }
            identifier = offer.identifier
            return (UInt32(content.count), Checksum(of: content))
        }
    }

    func append(_ data: Data) { lock.withLock { content.append(data) } }
    func commit() {}
    func finish(isIntact: Bool) -> URL? {
        lock.withLock {
            identifier = nil
            content = Data()
            return nil
        }
    }
}
