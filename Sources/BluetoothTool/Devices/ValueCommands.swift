import BluetoothToolkit
import CoreBluetooth
import Foundation

extension CommandSyntax {
    static let read = CommandSyntax(
        name: "read", summary: "read a value of a device", operands: "DEVICE CHARACTERISTIC", operandCount: 2...2,
        discussion: DeviceChoice.help + "\n" + AttributeChoice.help,
        options: RunSettings.options(timeout: "30 if left out") + [
            DeviceCommand.serviceOption,
            OptionSyntax(name: "--raw", value: nil, help: "print the octets only, for a script"),
        ],
        examples: [
            ("ble read KL940704079 2A23 --radio simulated", "the System ID, and the MAC in it"),
            ("ble read KL940704079 @E --raw", "the value with the handle 0x000E, for a script"),
        ])

    static let write = CommandSyntax(
        name: "write", summary: "write a value to a device", operands: "DEVICE CHARACTERISTIC VALUE",
        operandCount: 3...3,
        discussion: """
            VALUE is pairs of hexadecimal digits, or text with --text. The write waits for the device's confirmation.
            \(DeviceChoice.help)
            \(AttributeChoice.help)
            """,
        options: RunSettings.options(timeout: "30 if left out") + [
            DeviceCommand.serviceOption,
            OptionSyntax(name: "--text", value: nil, help: "VALUE is text"),
            OptionSyntax(name: "--without-response", value: nil, help: "do not ask for a confirmation"),
        ],
        examples: [
            ("ble write KL940704079 FFF6 unlock --text --radio simulated", "opens a simulated lock"),
            ("ble write Lamp FFF1 01 --without-response", "one octet, unconfirmed"),
        ])

    static let subscribe = CommandSyntax(
        name: "subscribe", summary: "show the values that a device notifies", operands: "DEVICE CHARACTERISTIC",
        operandCount: 2...2,
        discussion: """
            Subscribes to notifications or indications, and shows them until Ctrl-C, a count or a time. A lost link is
            made again.
            \(DeviceChoice.help)
            \(AttributeChoice.help)
            """,
        options: RunSettings.options(timeout: "for ever if left out") + [
            DeviceCommand.serviceOption,
            OptionSyntax(name: "--count", value: "N", help: "end after so many values, 1...1000000000"),
            OptionSyntax(name: "--seconds", value: "N", help: "end after so long, 1...86400"),
        ],
        examples: [
            ("ble subscribe Strap 2A37 --count 5 --radio simulated", "five heart beats"),
            ("ble subscribe KL940704079 FFF4 --seconds 60 --json", "a minute, one object for each value"),
        ])
}

/// `ble read`.
struct ReadCommand {
    private let command: DeviceCommand
    private let attribute: AttributeChoice
    private let isRaw: Bool

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        attribute = try AttributeChoice(arguments.operands[1])
        command = try DeviceCommand(tool, arguments, timeout: .seconds(30))
        isRaw = arguments.has("--raw")
    }

    func run() -> ToolStatus {
        let (output, attribute, service, isRaw) = (command.output, attribute, command.service, isRaw)
        let isJSON = command.isJSON
        return command.onLink { peripheral in
            let characteristic = try await attribute.find(in: peripheral, service: service)
            let value = try await peripheral.read(characteristic)
            output.line(
                isJSON
                    ? valueLine(value, characteristic.uuid).text
                    : isRaw ? hex(Array(value)) : ValueText.line(value, characteristic.uuid))
            return .success
        }
    }
}

private func valueLine(_ value: Data, _ uuid: CBUUID) -> JSONLine {
    JSONLine([
        "characteristic": .text(uuid.uuidString), "value": .text(value.map(hexOctet).joined()),
        "meaning": ValueText.meaning(of: value, uuid).map { .text($0) },
    ])
}

/// `ble write`.
struct WriteCommand {
    private let command: DeviceCommand
    private let attribute: AttributeChoice
    private let value: Data
    private let waits: Bool

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        attribute = try AttributeChoice(arguments.operands[1])
        value =
            arguments.has("--text")
            ? Data(arguments.operands[2].utf8) : try ValueText.data(hex: arguments.operands[2])
        waits = !arguments.has("--without-response")
        command = try DeviceCommand(tool, arguments, timeout: .seconds(30))
    }

    func run() -> ToolStatus {
        let (output, attribute, service, value, waits) = (command.output, attribute, command.service, value, waits)
        let isJSON = command.isJSON
        return command.onLink { peripheral in
            let characteristic = try await attribute.find(in: peripheral, service: service)
            if waits {
                try await peripheral.write(value, to: characteristic)
            } else {
                try await peripheral.writeWithoutResponse(value, to: characteristic)
                // What was handed over needs its time to go on the air.
                try await peripheral.time.sleep(for: .milliseconds(300))
            }
            output.line(
                isJSON
                    ? JSONLine([
                        "characteristic": .text(characteristic.uuid.uuidString), "written": .integer(value.count),
                        "confirmed": .truth(waits),
                    ]).text
                    : "\(value.count) octets written\(waits ? ", and confirmed" : "")")
            return .success
        }
    }
}

/// `ble subscribe`.
struct SubscribeCommand {
    private let command: DeviceCommand
    private let attribute: AttributeChoice
    private let count: Int
    private let duration: Duration?

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        attribute = try AttributeChoice(arguments.operands[1])
        command = try DeviceCommand(tool, arguments, timeout: nil)
        count = try arguments.number("--count", in: 1...1_000_000_000) ?? .max
        duration = try arguments.number("--seconds", in: 1...86400).map { .seconds($0) }
    }

    func run() -> ToolStatus {
        let (attribute, service, duration) = (attribute, command.service, duration)
        let printer = ValuePrinter(command.output, command.isJSON, count)
        return command.onLink { peripheral in
            let begin = peripheral.time.now
            let found = try await attribute.find(in: peripheral, service: service)
            guard !found.properties.isDisjoint(with: [.notify, .indicate]) else {
                throw CommandFailure(
                    sentence: "\(found.uuid.uuidString) of \(peripheral.label) does not notify; read it: ble read")
            }
            let supervisor = ConnectionSupervisor(of: peripheral)
            let values = supervisor.values(of: found.uuid, in: found.service)
            let events = supervisor.events()
            try await withThrowingTaskGroup(of: Bool.self) { group in
                defer { group.cancelAll() }
                group.addTask {
                    try await supervisor.run()
                    return true
                }
                group.addTask {
                    for try await event in events { printer.tell(event) }
                    return false
                }
                group.addTask {
                    for try await value in values {
                        if printer.tell(value, found.uuid, after: peripheral.time.now - begin) { return true }
                    }
                    return true
                }
                if let duration {
                    group.addTask {
                        try await peripheral.time.sleep(for: duration)
                        return true
                    }
                }
                while let isOver = try await group.next(), !isOver {}
            }
            return .success
        }
    }
}

/// Prints values, and what happens to their link.
// `@unchecked`: `lock` guards the count.
private final class ValuePrinter: @unchecked Sendable {
    private let output: LiveOutput
    private let isJSON: Bool
    private let limit: Int
    private let lock = NSLock()
    private var count = 0

    init(_ output: LiveOutput, _ isJSON: Bool, _ limit: Int) {
        self.output = output
        self.isJSON = isJSON
        self.limit = limit
    }

    /// - Returns: whether that was the last one wanted.
    func tell(_ value: Data, _ uuid: CBUUID, after time: Duration) -> Bool {
        let number = lock.withLock {
            count += 1
            return count
        }
        guard number <= limit else { return true }
        let seconds = time / .seconds(1)
        if isJSON {
            var line = JSONLine(["time": .decimal(seconds, digits: 3)])
            line.add(valueLine(value, uuid))
            output.line(line.text)
        } else {
            output.line(JSONLine.fixed(seconds, digits: 3) + " s  " + ValueText.line(value, uuid))
        }
        return number == limit
    }

    func tell(_ event: SupervisionEvent) {
        switch event {
        case .ended(let cause):
            output.line(
                isJSON
                    ? JSONLine(["event": .text("ended"), "cause": .text("\(cause)")]).text : "the link ended: \(cause)")
        case .ready(let link) where link > 1:
            output.line(isJSON ? JSONLine(["event": .text("connected")]).text : "connected again")
        case .ready, .watching, .near, .connecting, .pausing: break
        }
    }
}
