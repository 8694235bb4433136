package import EventLoop

/// The commands of one controller: each is sent when the controller has room for it, and finished exactly once.
///
///              submit                Command Complete or Command Status that names its opcode
///     (none) ──────────▶ in line ──────────────▶ outstanding ──────────────▶ finished
///                           │        a credit          │ ten seconds
///                           └────────────┬─────────────┘
///                                        ▼
///                             hung, for good: a new queue must follow a reset of the transport
///
/// A completion that names no outstanding command, such as a second one for the same command, changes the credits
/// and nothing else.
///
/// Source: Core 6.0, Vol 4, Part E, 4.4 (command flow control), 7.7.14 and 7.7.15.
package struct HCICommandQueue: ProtocolMachine {
    package enum Input: Equatable, Sendable {
        /// A command in its H4 form, under an identifier of the owner's choice.
        case submit(id: UInt32, packet: [UInt8])
        case complete(CommandComplete)
        case status(CommandStatus)
    }

    package enum Effect: Equatable, Sendable {
        /// Hand the packet to the transport.
        case send([UInt8])
        /// Tell whoever submitted the command.
        case finish(id: UInt32, CommandOutcome)
        /// Log it: a completion for a command that is not outstanding.
        case reportStray(HCIOpcode)
        /// The controller is lost: it left this command without an answer. Every open command has been finished.
        case controllerHangs(HCIOpcode)
    }

    /// The specification names no time; Linux waits two seconds, and slow USB controllers have been seen to need
    /// more after Reset.
    package static let timeout = Duration.seconds(10)

    private struct Command {
        var id: UInt32
        var opcode: HCIOpcode
        var packet: [UInt8]
        var since: Instant
        /// While the command stands at the head of the line or is outstanding.
        var deadline: Instant?
    }

    private let limit: Int
    private var credits = 1
    private var outstanding: [Command] = []
    private var line: [Command] = []
    private var hangsOn: HCIOpcode?

    /// - Parameter limit: how many commands may be outstanding at once, whatever the controller grants.
    package init(limit: Int = 1) {
        precondition(limit >= 1, "A queue without an outstanding command does nothing.")
        self.limit = limit
    }

    /// The commands without an outcome so far, in order, and since when each is here.
    package var open: [(opcode: HCIOpcode, since: Instant)] { (outstanding + line).map { ($0.opcode, $0.since) } }

    package var deadline: Instant? {
        let deadlines = outstanding.compactMap(\.deadline) + (line.first.flatMap { $0.deadline }.map { [$0] } ?? [])
        return deadlines.min()
    }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .submit(let id, let packet):
            return submit(id, packet, at: now)
        case .complete(let event):
            return finish(event.opcode, credits: event.credits, CommandOutcome(event), at: now)
        case .status(let event):
            return finish(event.opcode, credits: event.credits, CommandOutcome(event), at: now)
        }
    }

    package mutating func wake(at now: Instant) -> [Effect] {
        guard let deadline, deadline <= now else { return [] }
        let open = outstanding + line
        let guilty = open[0].opcode
        outstanding = []
        line = []
        hangsOn = guilty
        return open.map { .finish(id: $0.id, .timedOut) } + [.controllerHangs(guilty)]
    }

    private mutating func submit(_ id: UInt32, _ packet: [UInt8], at now: Instant) -> [Effect] {
        precondition(packet.count >= 4 && packet[0] == HCIPacketType.command.rawValue, "This is no command packet.")
        guard hangsOn == nil else { return [.finish(id: id, .timedOut)] }
        let opcode = HCIOpcode(rawValue: UInt16(packet[1]) | UInt16(packet[2]) << 8)
        line.append(Command(id: id, opcode: opcode, packet: packet, since: now))
        return sendNext(at: now)
    }

    private mutating func finish(
        _ opcode: HCIOpcode, credits granted: UInt8, _ outcome: CommandOutcome, at now: Instant
    ) -> [Effect] {
        guard hangsOn == nil else { return [] }
        credits = Int(granted)
        var effects: [Effect] = []
        if let index = outstanding.firstIndex(where: { $0.opcode == opcode }) {
            effects.append(.finish(id: outstanding.remove(at: index).id, outcome))
        } else if opcode != .none {
            effects.append(.reportStray(opcode))
        }
        return effects + sendNext(at: now)
    }

    private mutating func sendNext(at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        while !line.isEmpty, credits > 0, outstanding.count < limit {
            var command = line.removeFirst()
            command.deadline = now.advanced(by: Self.timeout)
            credits -= 1
            effects.append(.send(command.packet))
            command.packet = []
            outstanding.append(command)
        }
        // Without a credit and with nothing outstanding that could bring one, only time is left to end the wait.
        if outstanding.isEmpty, !line.isEmpty, line[0].deadline == nil {
            line[0].deadline = now.advanced(by: Self.timeout)
        }
        return effects
    }
}

/// How a command ended.
package enum CommandOutcome: Equatable, Sendable {
    /// Command Complete with status *success*: all return parameters, the status included.
    case completed(returnParameters: ArraySlice<UInt8>)
    /// Command Status with status *success*: what it began ends with an event of its own.
    case started
    /// Either of them, with an error.
    case refused(HCIErrorCode)
    /// The controller does not answer any more.
    case timedOut

    init(_ event: CommandComplete) {
        if let status = event.returnParameters.first, status != HCIErrorCode.success.rawValue {
            self = .refused(HCIErrorCode(rawValue: status))
        } else {
            self = .completed(returnParameters: event.returnParameters)
        }
    }

    init(_ event: CommandStatus) {
        self = event.status == .success ? .started : .refused(event.status)
    }
}
