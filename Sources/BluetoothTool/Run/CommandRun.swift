import Backends
import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import HostInterface
import Simulation
import Synchronization

/// What the commands that talk to devices are told alike.
struct RunSettings {
    let radio: RadioChoice
    /// How long the whole command may take; `nil` is for ever.
    let timeout: Duration?
    let isJSON: Bool
    /// What this computer is called for those who connect to it; `nil` leaves it as it is.
    var deviceName: String?

    /// A file that takes what passes between this host and its controller; `nil` for none.
    var capture: String?
    /// A file that takes all of the simulated air; `nil` for none.
    var airCapture: String?

    static func options(timeout: String) -> [OptionSyntax] {
        plainOptions(timeout: timeout) + [
            OptionSyntax(name: "--capture", value: "FILE", help: "record HCI packets, as Wireshark reads them"),
            OptionSyntax(
                name: "--air-capture", value: "FILE", help: "record the simulated air (pcap of the link layer)"),
        ]
    }

    static func plainOptions(timeout: String) -> [OptionSyntax] {
        [
            CommandSyntax.radioOption,
            OptionSyntax(name: "--timeout", value: "SECONDS", help: "give up after that, 0.1...86400 (\(timeout))"),
            OptionSyntax(name: "--json", value: nil, help: "one object a line instead of text"),
        ]
    }

    init(_ tool: Tool, _ arguments: ParsedArguments, timeout: Duration?) throws(UsageError) {
        radio = try RadioChoice(tool, arguments)
        self.timeout = try arguments.number("--timeout", in: 0.1...86400).map { .seconds($0) } ?? timeout
        isJSON = arguments.has("--json")
        (capture, airCapture) = try arguments.captures()
        if airCapture != nil, case .real = radio { throw UsageError("--air-capture needs --radio simulated") }
    }
}

extension ParsedArguments {
    /// The files that --capture and --air-capture name.
    func captures() throws(UsageError) -> (hci: String?, air: String?) {
        let (hci, air) = (values["--capture"], values["--air-capture"])
        if hci == "" || air == "" { throw UsageError("the FILE of a capture is empty") }
        // Two formats in one file are none.
        if let hci, let air, URL(fileURLWithPath: hci).standardized == URL(fileURLWithPath: air).standardized {
            throw UsageError("--capture and --air-capture need a file each")
        }
        return (hci, air)
    }
}

/// A sentence for a person, and the status that the process ends with.
struct CommandFailure: Error {
    var sentence: String
    var status = ToolStatus.failure
}

/// Runs a command's async code: in a world of its own if the radio is simulated, else in real time.
struct CommandRun {
    let tool: Tool
    let settings: RunSettings
    let output = LiveOutput()
    let reason = RadioReason()
    private let stop = StopRequest()

    init(tool: Tool, settings: RunSettings) {
        self.tool = tool
        self.settings = settings
    }

    /// Whether somebody has pressed Ctrl-C.
    var isStopped: Bool { stop.isAsked }

    /// - Parameters:
    ///   - isAlone: whether the usual devices are not in the simulated world.
    ///   - neighbours: puts more devices into it.
    ///   - body: gets the clock to go by.
    /// - Returns: what the process is to end with; the reason has been printed if it is not success.
    func run(
        isAlone: Bool = false, neighbours: (SimulatedHome) -> Void = { _ in },
        _ body: @escaping @Sendable (Timekeeper) async throws -> ToolStatus
    ) -> ToolStatus {
        let stop = stop
        tool.interruption.handle { stop.ask() }
        guard let factory = settings.radio.factory(deviceName: settings.deviceName, capture: settings.capture) else {
            let home = settings.radio.world.map(SimulatedHome.init) ?? SimulatedHome(seed: 0, isAlone: isAlone)
            neighbours(home)
            return run(in: home, stop, body)
        }
        return pump(RealRun(OverheardRadio(factory, reason), body), stop)
    }

    private func run(
        in home: SimulatedHome, _ stop: StopRequest, _ body: @escaping @Sendable (Timekeeper) async throws -> ToolStatus
    ) -> ToolStatus {
        var captures: [CaptureFile] = []
        do throws(CaptureFile.Failure) {
            if let path = settings.capture { captures.append(try home.record(into: path)) }
            if let path = settings.airCapture { captures.append(try home.recordAir(into: path)) }
        } catch {
            return tell(CommandFailure(sentence: error.sentence))
        }
        let status = pump(SimulatedRun(home, body), stop)
        let problems = captures.compactMap { $0.close() }
        return problems.first.map { tell(CommandFailure(sentence: $0)) } ?? status
    }

    private func pump(_ run: some RunningCommand, _ stop: StopRequest) -> ToolStatus {
        var writer = LiveWriter(tool, output)
        var isOverdue = false
        while run.result == nil {
            run.step()
            writer.write()
            if stop.isAsked { run.cancel() }
            if let timeout = settings.timeout, run.now >= timeout {
                isOverdue = true
                run.cancel()
            }
        }
        writer.write()
        writer.wipe()
        switch run.result {
        case .success(let status)?: return stop.isAsked ? .interrupted : status
        case .failure(let error)?:
            if error is CancellationError, stop.isAsked { return .interrupted }
            return tell(isOverdue && error is CancellationError ? overdue : explain(error))
        case nil: return .failure
        }
    }

    private func tell(_ failure: CommandFailure) -> ToolStatus {
        tool.printError("ble: \(Terminal.printable(failure.sentence))")
        return failure.status
    }

    private var overdue: CommandFailure {
        CommandFailure(sentence: "it was not done within \((settings.timeout ?? .zero) / .seconds(1)) s")
    }

    private func explain(_ error: any Error) -> CommandFailure {
        switch error {
        case let failure as CommandFailure: return failure
        case ToolkitError.radioUnavailable, LinkEnd.radioUnavailable:
            return CommandFailure(sentence: reason.text ?? "\(error)", status: .noRadio)
        case let refused as CBATTError:
            let code = "0x" + hexOctet(UInt8(truncatingIfNeeded: refused.code.rawValue))
            return CommandFailure(sentence: "the device refuses: \(refused.localizedDescription) (\(code))")
        case let failed as CBError: return CommandFailure(sentence: failed.localizedDescription)
        default: return CommandFailure(sentence: "\(error)")
        }
    }
}

/// Ctrl-C, seen by the main thread.
final class StopRequest: Sendable {
    private let isSet = Atomic(false)
    var isAsked: Bool { isSet.load(ordering: .relaxed) }
    func ask() { isSet.store(true, ordering: .relaxed) }
}

private protocol RunningCommand {
    var result: Result<ToolStatus, any Error>? { get }
    /// Since it began.
    var now: Duration { get }
    func step()
    func cancel()
}

/// In a simulated world, which this thread runs.
private struct SimulatedRun: RunningCommand {
    let home: SimulatedHome
    let program: SimulatedProgram<ToolStatus>

    init(_ home: SimulatedHome, _ body: @escaping @Sendable (Timekeeper) async throws -> ToolStatus) {
        self.home = home
        let time = Timekeeper(home.world.clock)
        program = home.computer.start { try await body(time) }
    }

    var result: Result<ToolStatus, any Error>? { program.result }
    var now: Duration { home.world.now }

    func step() {
        // In steps that let a command end, or show how far it is, soon after.
        home.world.run(for: .milliseconds(20))
    }

    func cancel() { program.cancel() }
}

/// In real time, with the callbacks on the main thread, which is this one.
private final class RealRun: RunningCommand, Sendable {
    private let start = ContinuousClock.now
    private let outcome = Mutex<Result<ToolStatus, any Error>?>(nil)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ radio: OverheardRadio, _ body: @escaping @Sendable (Timekeeper) async throws -> ToolStatus) {
        SessionProvider.with(radio) {
            let running = Task { [self] in
                let result: Result<ToolStatus, any Error>
                do { result = .success(try await body(.continuous)) } catch { result = .failure(error) }
                outcome.withLock { $0 = result }
            }
            task.withLock { $0 = running }
        }
    }

    var result: Result<ToolStatus, any Error>? { outcome.withLock { $0 } }
    var now: Duration { start.duration(to: .now) }

    func step() { _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.02)) }

    func cancel() { task.withLock { $0 }?.cancel() }
}

/// Why the radio cannot be used, once that is known.
final class RadioReason: Sendable {
    private let state = Mutex<String?>(nil)

    var text: String? { state.withLock { $0 } }
    func set(_ text: String) { state.withLock { $0 = text } }
}

/// A radio that says why it cannot be used. What it says of misuse goes to standard error.
private final class OverheardRadio: SessionFactory {
    private let radio: any SessionFactory
    private let reason: RadioReason

    init(_ radio: any SessionFactory, _ reason: RadioReason) {
        self.radio = radio
        self.reason = reason
    }

    func makeSession() -> any HostSession {
        SessionTap(radio.makeSession(), onRequest: { _, _ in }) { [reason] event in
            switch event {
            case .state(.unsupported(let why)), .state(.unauthorized(let why)): reason.set(why)
            default: break
            }
        }
    }

    var permission: RadioPermission { radio.permission }
    // The reason is told at the end, once.
    func report(_ line: String) { if reason.text == nil { radio.report(line) } }
    var secondsSince2001: Double { radio.secondsSince2001 }
    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        radio.schedule(after: delay, work)
    }
}
