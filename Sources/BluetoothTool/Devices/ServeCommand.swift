import BluetoothToolkit
import CoreBluetooth
import Foundation
import Simulation

extension CommandSyntax {
    static let advertise = CommandSyntax(
        name: "advertise", summary: "make this computer seen, with a name and services",
        discussion: """
            Advertises until Ctrl-C or for a time. Whoever connects finds no services; "ble serve" offers some.
            """,
        options: RunSettings.options(timeout: "for ever if left out") + [
            OptionSyntax(name: "--name", value: "NAME", help: "the name on the air"),
            OptionSyntax(name: "--services", value: "UUIDS", help: "the services to list, with commas between"),
            OptionSyntax(name: "--seconds", value: "N", help: "how long, 0.1...86400"),
        ],
        examples: [("ble advertise --name Lamp --services FFF0,180F", "until Ctrl-C")])

    static let serve = CommandSyntax(
        name: "serve", summary: "be a device that a JSON file describes", operands: "PROFILE", operandCount: 1...1,
        discussion: """
            Publishes the services of PROFILE, advertises, answers reads, keeps what is written, notifies series of
            values, and tells what centrals do. The format is in Documentation/Profiles.md.
            """,
        options: RunSettings.options(timeout: "for ever if left out") + [
            OptionSyntax(name: "--seconds", value: "N", help: "how long, 0.1...86400")
        ],
        examples: [("ble serve Examples/Profiles/lamp.json", "a lamp, until Ctrl-C")])
}

/// `ble advertise`.
struct AdvertiseCommand {
    private let command: CommandRun
    private let name: String?
    private let services: [CBUUID]
    private let duration: Duration?

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        name = arguments.values["--name"]
        var settings = try RunSettings(tool, arguments, timeout: nil)
        settings.deviceName = name
        command = CommandRun(tool: tool, settings: settings)
        var services: [CBUUID] = []
        for text in (arguments.values["--services"] ?? "").split(separator: ",") {
            services.append(try AttributeChoice.uuid(String(text)))
        }
        self.services = services
        duration = try arguments.number("--seconds", in: 0.1...86400).map { .seconds($0) }
    }

    func run() -> ToolStatus {
        let (output, isJSON, name, services, duration) = (
            command.output, command.settings.isJSON, name, services, duration
        )
        return command.run { time in
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            try await peripheral.advertise(name: name, services: services)
            output.line(
                isJSON
                    ? JSONLine(["event": .text("advertising"), "name": name.map { .text($0) }]).text : "on the air")
            try await time.sleep(for: duration ?? .seconds(10 * 365 * 86400))
            return .success
        }
    }
}

/// `ble serve`.
struct ServeCommand {
    private let tool: Tool
    private let settings: RunSettings
    private let path: String
    private let duration: Duration?

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        self.tool = tool
        settings = try RunSettings(tool, arguments, timeout: nil)
        path = arguments.operands[0]
        duration = try arguments.number("--seconds", in: 0.1...86400).map { .seconds($0) }
    }

    func run() -> ToolStatus {
        let profile: Profile
        do {
            profile = try Profile(json: try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch let error as Profile.Malformed {
            tool.printError("ble: \(path):\(Terminal.printable(error.sentence))")
            return .failure
        } catch {
            tool.printError("ble: \(path) cannot be read: \(fileTrouble(error))")
            return .failure
        }
        var settings = settings
        settings.deviceName = profile.name
        let command = CommandRun(tool: tool, settings: settings)
        let (output, isJSON, duration) = (command.output, settings.isJSON, duration)
        return command.run { time in
            let device = ServedDevice(profile, time) { event in output.line(isJSON ? event.json : event.line) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await device.run() }
                if let duration { group.addTask { try await time.sleep(for: duration) } }
                try await group.next()
            }
            return .success
        }
    }
}

/// What centrals do with a served device.
struct ServedEvent: Sendable {
    enum Kind: String, Sendable {
        case advertising, read, write, refused, subscribed, unsubscribed
    }

    var kind: Kind
    var time: Duration
    var characteristic: String?
    var value: Data?
    /// What a person would see the device do.
    var says: String?

    var line: String {
        var words = JSONLine.fixed(time / .seconds(1), digits: 3) + " s  \(kind.rawValue)"
        if let characteristic { words += " " + characteristic }
        if let value { words += "  " + (value.isEmpty ? "(empty)" : hex(Array(value))) }
        if let text = value.flatMap(ValueText.text) { words += "  " + text }
        if let says { words += ": " + Terminal.printable(says) }
        return words
    }

    var json: String {
        JSONLine([
            "time": .decimal(time / .seconds(1), digits: 3), "event": .text(kind.rawValue),
            "characteristic": characteristic.map { .text($0) },
            "value": value.map { .text($0.map(hexOctet).joined()) }, "says": says.map { .text($0) },
        ]).text
    }
}

/// A device by its profile.
// `@unchecked`: `lock` guards the values.
final class ServedDevice: @unchecked Sendable {
    private let profile: Profile
    private let time: Timekeeper
    private let onEvent: @Sendable (ServedEvent) -> Void
    private let lock = NSLock()
    private var values: [PublishedCharacteristic: Data] = [:]
    /// The characteristics as the profile has them.
    private var order: [PublishedCharacteristic] = []
    private let changes = AsyncStream<DeviceProfile.Reaction>.makeStream()
    private var parts: [PublishedCharacteristic: DeviceProfile.Characteristic] = [:]

    init(_ profile: Profile, _ time: Timekeeper, tell: @escaping @Sendable (ServedEvent) -> Void) {
        self.profile = profile
        self.time = time
        onEvent = tell
    }

    func run() async throws {
        let peripheral = LocalPeripheral(time: time)
        try await peripheral.waitUntilOn()
        var published: [(PublishedCharacteristic, Profile.Characteristic)] = []
        for service in profile.services {
            let made = try await peripheral.publish(service.definition)
            published += zip(made.characteristics, service.characteristics)
        }
        lock.withLock {
            order = published.map(\.0)
            for (characteristic, part) in published {
                values[characteristic] = Data(part.behaviour.value)
                parts[characteristic] = part.behaviour
            }
        }
        try await peripheral.advertise(name: profile.name, services: profile.advertised.map { CBUUID($0) })
        tell(.advertising)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for (characteristic, part) in published {
                if !part.behaviour.series.isEmpty {
                    group.addTask { [self] in try await play(part.behaviour, as: characteristic, on: peripheral) }
                }
                for step in part.behaviour.timeline {
                    group.addTask { [self] in
                        try await time.sleep(for: step.after)
                        try await set(Data(step.value), as: characteristic, on: peripheral)
                        // A task that ends would end them all.
                        try await time.sleep(for: .seconds(10 * 365 * 86400))
                    }
                }
            }
            group.addTask { [self] in try await makeChanges(on: peripheral) }
            group.addTask { [self] in
                for try await event in peripheral.events { try await handle(event, on: peripheral) }
            }
            try await group.next()
        }
    }

    private func tell(
        _ kind: ServedEvent.Kind, _ characteristic: PublishedCharacteristic? = nil, _ value: Data? = nil,
        says: String? = nil
    ) {
        onEvent(
            ServedEvent(
                kind: kind, time: time.now, characteristic: characteristic?.uuid.uuidString, value: value, says: says))
    }

    private func play(
        _ part: DeviceProfile.Characteristic, as characteristic: PublishedCharacteristic,
        on peripheral: LocalPeripheral
    ) async throws {
        for number in 0... {
            try await time.sleep(for: part.interval)
            try await set(Data(part.series[number % part.series.count]), as: characteristic, on: peripheral)
        }
    }

    /// Does what reactions leave to be done later.
    private func makeChanges(on peripheral: LocalPeripheral) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for await reaction in changes.stream {
                group.addTask { [self] in
                    try await time.sleep(for: reaction.delay)
                    for change in reaction.sets {
                        let uuid = CBUUID(change.characteristic)
                        let known = lock.withLock { order.first { $0.uuid == uuid } }
                        if let known { try await set(Data(change.value), as: known, on: peripheral) }
                    }
                }
            }
        }
    }

    private func set(
        _ value: Data, as characteristic: PublishedCharacteristic, on peripheral: LocalPeripheral
    ) async throws {
        lock.withLock { values[characteristic] = value }
        if !characteristic.subscribers.isEmpty { try await peripheral.notify(value, of: characteristic) }
    }

    private func handle(_ event: LocalEvent, on peripheral: LocalPeripheral) async throws {
        switch event {
        case .read(let request):
            let value = lock.withLock { values[request.characteristic] } ?? Data()
            request.respond(with: value)
            tell(.read, request.characteristic, value)
        case .write(let request): try await write(request, on: peripheral)
        case .subscribed(_, let characteristic): tell(.subscribed, characteristic)
        case .unsubscribed(_, let characteristic): tell(.unsubscribed, characteristic)
        case .opened: break  // No channel is offered.
        case .radioGone(let state): throw ToolkitError.radioUnavailable(state)
        }
    }

    private func write(_ request: WriteRequest, on peripheral: LocalPeripheral) async throws {
        let known = lock.withLock { values }
        guard let written = request.values(over: { known[$0] ?? Data() }) else { return request.refuse(.invalidOffset) }
        var reactions: [DeviceProfile.Reaction] = []
        for (characteristic, value) in written {
            guard let reaction = lock.withLock({ parts[characteristic]?.reaction(to: Array(value)) }) else { continue }
            guard reaction.answer == 0 else {
                request.refuse(CBATTError.Code(rawValue: Int(reaction.answer)) ?? .unlikelyError)
                return tell(.refused, characteristic, value, says: reaction.says)
            }
            reactions.append(reaction)
        }
        lock.withLock { for (characteristic, value) in written { values[characteristic] = value } }
        request.accept()
        for (characteristic, value) in written {
            tell(.write, characteristic, value, says: reactions.lazy.compactMap(\.says).first)
            if !characteristic.subscribers.isEmpty { try await peripheral.notify(value, of: characteristic) }
        }
        for reaction in reactions where !reaction.sets.isEmpty { changes.continuation.yield(reaction) }
    }
}
