import BluetoothToolkit
import CoreBluetooth

/// What the commands have in common that connect to a device and do something with it.
struct DeviceCommand {
    let run: CommandRun
    let device: DeviceChoice
    let service: CBUUID?

    static let serviceOption = OptionSyntax(
        name: "--service", value: "UUID", help: "only look in this service of the device")

    init(_ tool: Tool, _ arguments: ParsedArguments, timeout: Duration?) throws(UsageError) {
        run = CommandRun(tool: tool, settings: try RunSettings(tool, arguments, timeout: timeout))
        device = DeviceChoice(arguments.operands.first ?? "")
        service = try arguments.values["--service"].map { text throws(UsageError) in try AttributeChoice.uuid(text) }
    }

    var isJSON: Bool { run.settings.isJSON }
    var output: LiveOutput { run.output }

    /// Finds the device, connects, does `body`, and disconnects, also when it is stopped.
    func onLink(_ body: @escaping @Sendable (RemotePeripheral) async throws -> ToolStatus) -> ToolStatus {
        onLink { _ in
        } _: { peripheral, _ in
            try await body(peripheral)
        }
    }

    /// The same, with something that is made when the radio is on, and held until the end.
    func onLink<Helper>(
        _ prepare: @escaping @Sendable (Central) -> Helper,
        _ body: @escaping @Sendable (RemotePeripheral, Helper) async throws -> ToolStatus
    ) -> ToolStatus {
        run.run { [device] time in
            let central = Central(time: time)
            try await central.waitUntilOn()
            let helper = prepare(central)
            let peripheral = try await device.find(with: central)
            do {
                try await peripheral.connect()
            } catch ToolkitError.linkEnded(let cause) {
                throw CommandFailure(sentence: "no link to \(peripheral.label): \(cause)")
            } catch ToolkitError.timedOut {
                throw CommandFailure(
                    sentence: "\(peripheral.label) was found, but does not answer: it is out of reach by now, or "
                        + "connected elsewhere")
            }
            do {
                let status = try await body(peripheral, helper)
                try? await peripheral.disconnect(within: .seconds(3))
                return status
            } catch {
                try? await peripheral.disconnect(within: .seconds(3))
                throw error
            }
        }
    }
}
