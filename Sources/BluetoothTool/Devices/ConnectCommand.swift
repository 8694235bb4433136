import BluetoothToolkit
import CoreBluetooth

extension CommandSyntax {
    static let connect = CommandSyntax(
        name: "connect", summary: "connect to a device, and watch the link", operands: "DEVICE", operandCount: 1...1,
        discussion: """
            Connects, tells the link's signal strength every second, and why it ended.

            With --near it waits until the device is near, connects, disconnects when the device is far, and so on:
            of ten readings the highest and the lowest are dropped, the rest averaged, and a level is left by 3 dB.
            \(DeviceChoice.help)
            """,
        options: RunSettings.options(timeout: "for ever if left out") + [
            OptionSyntax(
                name: "--seconds", value: "N", help: "stay so long, 0...86400 (5 if left out; 60 with --near)"),
            OptionSyntax(
                name: "--near", value: "DBM", help: "connect when the average is above that, -126...20;\n-60 is usual"),
            OptionSyntax(
                name: "--far", value: "DBM",
                help: "with --near: disconnect when it is below that,\n-127...19 (20 below --near if left out)"),
        ],
        examples: [
            ("ble connect KL940704079 --radio simulated", "five seconds with a simulated lock"),
            ("ble connect Strap --seconds 3600 --json", "an hour of signal strengths, for a script"),
            ("ble connect KL940704079 --near -60 --far -80", "a lock that is served when somebody comes near"),
        ])

    static let browse = CommandSyntax(
        name: "browse", summary: "show all services of a device, with their values", operands: "DEVICE",
        operandCount: 1...1,
        discussion: """
            Connects, discovers services, characteristics and descriptors, and reads what can be read. Values of known
            kinds are put into words.
            \(DeviceChoice.help)
            """,
        options: RunSettings.options(timeout: "60 if left out") + [
            DeviceCommand.serviceOption,
            OptionSyntax(name: "--no-values", value: nil, help: "read nothing"),
        ],
        examples: [
            ("ble browse KL940704079 --radio simulated", "what a simulated lock offers"),
            ("ble browse Strap --service 180A", "who made it"),
        ])
}

/// `ble connect`: a link, as long as wanted.
struct ConnectCommand {
    private let command: DeviceCommand
    private let stay: Duration
    /// When to connect and to disconnect; `nil` connects at any distance, and stays.
    private let proximity: ProximityMeter.Settings?

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        command = try DeviceCommand(tool, arguments, timeout: nil)
        let near: Double? = try arguments.number("--near", in: -126...20)
        let far: Double? = try arguments.number("--far", in: -127...19)
        if let near {
            let far = far ?? max(-127, near - 20)
            guard far < near else { throw UsageError("--far must be below --near") }
            proximity = ProximityMeter.Settings(near: near, far: far)
        } else {
            guard far == nil else { throw UsageError("--far needs --near") }
            proximity = nil
        }
        stay = .seconds(try arguments.number("--seconds", in: 0...86400) ?? (proximity == nil ? 5 : 60))
    }

    func run() -> ToolStatus {
        if let proximity { return Vicinity(command: command, proximity: proximity, stay: stay).run() }
        let (output, isJSON, stay) = (command.output, command.isJSON, stay)
        return command.onLink { peripheral in
            output.line(
                isJSON
                    ? JSONLine([
                        "event": .text("connected"), "identifier": .text(peripheral.identifier.uuidString),
                        "name": peripheral.name.map { .text($0) },
                        "maximumWriteLength": .integer(peripheral.maximumWriteLength(for: .withoutResponse)),
                    ]).text
                    : "connected to \(peripheral.label), \(peripheral.maximumWriteLength(for: .withoutResponse)) "
                        + "octets in one write without response")
            try await withThrowingTaskGroup(of: LinkEnd?.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await peripheral.waitForEnd() }
                group.addTask {
                    try await Self.showSignal(of: peripheral, for: stay) { rssi in
                        let line = JSONLine(["event": .text("rssi"), "rssi": .integer(rssi)])
                        output.line(isJSON ? line.text : "\(rssi) dBm")
                    }
                    return nil
                }
                do {
                    guard let first = try await group.next(), let cause = first else { return }
                    throw ToolkitError.linkEnded(cause)
                } catch ToolkitError.linkEnded(.radioUnavailable(let state)) {
                    throw ToolkitError.radioUnavailable(state)
                } catch ToolkitError.linkEnded(let cause) {
                    throw CommandFailure(sentence: "the link ended: \(cause)")
                }
            }
            return .success
        }
    }

    private static func showSignal(
        of peripheral: RemotePeripheral, for stay: Duration, _ show: (Int) -> Void
    ) async throws {
        let time = peripheral.time
        let end = time.now + stay
        while time.now < end {
            show(try await peripheral.readRSSI())
            try await time.sleep(for: min(.seconds(1), end - time.now))
        }
    }
}

/// `ble browse`: everything that a device offers.
struct BrowseCommand {
    private let command: DeviceCommand
    private let readsValues: Bool

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        command = try DeviceCommand(tool, arguments, timeout: .seconds(60))
        readsValues = !arguments.has("--no-values")
    }

    func run() -> ToolStatus {
        let (output, readsValues, service) = (command.output, readsValues, command.service)
        let isJSON = command.isJSON
        return command.onLink { peripheral in
            let services = try await peripheral.discover(service.map { [$0] })
            if services.isEmpty {
                let what = service == nil ? "offers no services" : "has no such service"
                throw CommandFailure(sentence: "\(peripheral.label) \(what)")
            }
            if !isJSON { output.line(peripheral.label) }
            for service in services {
                output.line(Self.line(service, isJSON))
                for characteristic in service.characteristics {
                    let value = readsValues ? await Self.value(of: characteristic, peripheral) : nil
                    output.line(Self.line(characteristic, value, isJSON))
                    for descriptor in try await peripheral.discoverDescriptors(of: characteristic) {
                        let value = readsValues ? try? await peripheral.read(descriptor) : nil
                        output.line(Self.line(descriptor, value, isJSON))
                    }
                }
            }
            return .success
        }
    }

    /// What reading gave, or why it did not; `nil` for what cannot be read.
    private static func value(
        of characteristic: RemoteCharacteristic, _ peripheral: RemotePeripheral
    ) async -> Result<Data, any Error>? {
        guard characteristic.properties.contains(.read) else { return nil }
        do { return .success(try await peripheral.read(characteristic)) } catch { return .failure(error) }
    }

    private static func line(_ service: RemoteService, _ isJSON: Bool) -> String {
        isJSON
            ? JSONLine([
                "kind": .text("service"), "uuid": .text(service.uuid.uuidString), "name": name(service.uuid),
                "primary": .truth(service.isPrimary),
            ]).text
            : "  service \(title(service.uuid))"
    }

    private static func line(
        _ characteristic: RemoteCharacteristic, _ value: Result<Data, any Error>?, _ isJSON: Bool
    ) -> String {
        let octets = try? value?.get()
        let problem: String? =
            if case .failure(let error) = value { error.localizedDescription } else { nil }
        if isJSON {
            return JSONLine([
                "kind": .text("characteristic"), "service": .text(characteristic.service.uuidString),
                "uuid": .text(characteristic.uuid.uuidString), "name": name(characteristic.uuid),
                "handle": characteristic.handle.map { .integer(Int($0)) },
                "properties": .list(characteristic.propertyNames.map { .text($0) }),
                "value": octets.map { .text($0.map(hexOctet).joined()) },
                "meaning": octets.flatMap { ValueText.meaning(of: $0, characteristic.uuid) }.map { .text($0) },
                "error": problem.map { .text($0) },
            ]).text
        }
        let handle = characteristic.handle.map { "@" + String($0, radix: 16, uppercase: true) + " " } ?? ""
        let head =
            "    \(handle)\(title(characteristic.uuid))  (\(characteristic.propertyNames.joined(separator: ", ")))"
        if let octets { return head + "\n        " + ValueText.line(octets, characteristic.uuid) }
        return problem.map { head + "\n        not read: " + $0 } ?? head
    }

    private static func line(_ descriptor: RemoteDescriptor, _ value: DescriptorValue?, _ isJSON: Bool) -> String {
        let text = value.map { Terminal.printable($0.description) }
        return isJSON
            ? JSONLine([
                "kind": .text("descriptor"), "uuid": .text(descriptor.uuid.uuidString),
                "name": name(descriptor.uuid), "value": text.map { .text($0) },
            ]).text
            : "      descriptor \(title(descriptor.uuid))" + (text.map { ": " + $0 } ?? "")
    }

    /// The assigned name, where there is one.
    private static func name(_ uuid: CBUUID) -> JSONLine.Value? {
        uuid.description == uuid.uuidString ? nil : .text(uuid.description)
    }

    private static func title(_ uuid: CBUUID) -> String {
        uuid.description == uuid.uuidString ? uuid.uuidString : "\(uuid.uuidString) \(uuid.description)"
    }
}
