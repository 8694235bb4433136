package import BluetoothTypes
package import EventLoop
package import HCI

/// Connects to every peer that is wanted, whichever comes first; a peer may stay wanted for days.
///
///          connect      one peer                     Command Status            Connection Complete
///     idle ────────┬─────────────────────▶ creating ───────────────▶ initiating ───────────────▶ idle, or again
///      ▲           │ several                  ▲                         │                         for who is left
///      │           ▼                          │                         │ who is wanted has changed
///      │        filling the accept list ──────┘                         ▼
///      └───────────────────────────────────────────────────────── cancelling
///                  both the cancel's completion and a Connection Complete
///
/// A controller has one attempt under way at a time, so that several peers go over its filter accept list. If they
/// do not fit it, they take turns. Cancelling races with the connection: whatever Connection Complete then says is
/// true, and a link to a peer that is not wanted any more comes out as `unwanted`, to be disconnected.
///
/// A peer ends once: with `connected`, `failed` or `cancelled`. A link that is not established after all (0x3E) is
/// tried anew where Connection Complete says so; where it comes as the reason of a disconnection, the owner connects
/// again. One command is in flight at a time, so an outcome needs no name.
///
/// Source: Core 6.0, Vol 4, Part E, 7.8.12 to 7.8.17, 7.8.66 and 7.7.65.1.
package struct Initiator: ProtocolMachine {
    package struct Configuration: Equatable, Sendable {
        /// In units of 0.625 ms, 0x0004...0x4000. The default is 60 ms, all of it.
        package var scanInterval: UInt16 = 0x0060
        package var scanWindow: UInt16 = 0x0060
        package var ownAddressType = OwnAddressType.publicDevice
        package var parameters = ConnectionParameterRange()
        /// Whether the controller is told in extended commands.
        package var isExtended = false
        /// On which PHYs a link may begin, where `isExtended`.
        package var phys: PHYPreference = .le1M
        /// How many devices fit the controller's list.
        package var filterAcceptListSize = 0

        package init() {}
    }

    package enum Input: Equatable, Sendable {
        /// - Parameter onCoded: whether it was heard on the coded PHY, and is called there too.
        case connect(DeviceAddress, onCoded: Bool = false)
        case cancel(DeviceAddress)
        /// About the one command that was last handed out.
        case commandFinished(CommandOutcome)
        /// Every Connection Complete as central, and every one with an error.
        case connectionComplete(LEConnectionComplete)
    }

    package enum Effect: Equatable, Sendable {
        case command([UInt8])
        case connected(LEConnectionComplete)
        case failed(DeviceAddress, CommandFailure)
        case cancelled(DeviceAddress)
        /// Disconnect: nobody wants this link any more.
        case unwanted(LEConnectionComplete)
    }

    private enum State: Equatable {
        case idle
        /// The list is being cleared (0), or the target with the number before this is being added.
        case filling(Int)
        case creating
        case initiating(turnEnds: Instant?)
        /// Cancel is in flight (`nil`), or it has succeeded and Connection Complete must come soon.
        case cancelling(until: Instant?)
        /// Connection Complete came before the answer to the command in flight.
        case settling
    }

    /// How long the peers of one turn are tried when not all fit the list.
    static let turn = Duration.seconds(5)
    /// The specification lets Connection Complete follow a cancel without naming a time; this is for controllers
    /// that forget it.
    static let cancelTimeout = Duration.seconds(2)

    package var configuration: Configuration
    /// Who is wanted, in the order in which they came.
    package private(set) var pending: [DeviceAddress] = []
    /// For whom the attempt under way is.
    private var targets: [DeviceAddress] = []
    /// Of those who are wanted, who was heard on the coded PHY.
    private var codedPeers: Set<DeviceAddress> = []
    private var state = State.idle
    private var hasUsableList = true
    private var canCancel = true

    package init(configuration: Configuration = Configuration()) { self.configuration = configuration }

    /// Whether the controller is looking for peers, or about to.
    package var isActive: Bool { state != .idle }

    package var deadline: Instant? {
        switch state {
        case .initiating(let turnEnds): turnEnds
        case .cancelling(let until): until
        case .idle, .filling, .creating, .settling: nil
        }
    }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .connect(let peer, let onCoded):
            guard !pending.contains(peer) else { return [] }
            pending.append(peer)
            if onCoded { codedPeers.insert(peer) } else { codedPeers.remove(peer) }
            return proceed(at: now)
        case .cancel(let peer):
            guard let index = pending.firstIndex(of: peer) else { return [] }
            pending.remove(at: index)
            return [.cancelled(peer)] + proceed(at: now)
        case .commandFinished(let outcome):
            return finish(outcome, at: now)
        case .connectionComplete(let event):
            return complete(event, at: now)
        }
    }

    package mutating func wake(at now: Instant) -> [Effect] {
        guard let deadline, deadline <= now else { return [] }
        switch state {
        case .initiating:
            // The others' turn.
            pending = pending.filter { !targets.contains($0) } + pending.filter { targets.contains($0) }
            state = .initiating(turnEnds: nil)
            return proceed(at: now)
        case .cancelling:
            state = .idle
            return proceed(at: now)
        case .idle, .filling, .creating, .settling:
            return []
        }
    }
}

// MARK: - Steps

extension Initiator {
    /// Whom to try now.
    private var candidates: ArraySlice<DeviceAddress> {
        pending.prefix(hasUsableList ? max(1, configuration.filterAcceptListSize) : 1)
    }

    private mutating func proceed(at now: Instant) -> [Effect] {
        switch state {
        case .filling, .creating, .cancelling, .settling: return []
        case .idle: return begin()
        case .initiating(let turnEnds):
            guard canCancel, Set(candidates) != Set(targets) else {
                if turnEnds == nil { startTurn(at: now) }
                return []
            }
            state = .cancelling(until: nil)
            return [.command(LECreateConnectionCancel().packet)]
        }
    }

    private mutating func begin() -> [Effect] {
        targets = Array(candidates)
        guard targets.count > 1 else { return targets.isEmpty ? [] : create() }
        state = .filling(0)
        return [.command(LEClearFilterAcceptList().packet)]
    }

    private mutating func create() -> [Effect] {
        state = .creating
        guard !configuration.isExtended else { return [.command(extendedCreate.packet)] }
        var command = LECreateConnection()
        command.scanInterval = configuration.scanInterval
        command.scanWindow = configuration.scanWindow
        command.ownAddressType = configuration.ownAddressType
        command.parameters = configuration.parameters
        command.usesFilterAcceptList = targets.count > 1
        if !command.usesFilterAcceptList { command.peer = targets[0] }
        return [.command(command.packet)]
    }

    /// The same on each PHY: the link begins on the one on which the peer answers.
    private var extendedCreate: LEExtendedCreateConnection {
        var command = LEExtendedCreateConnection()
        command.ownAddressType = configuration.ownAddressType
        command.usesFilterAcceptList = targets.count > 1
        if !command.usesFilterAcceptList { command.peer = targets[0] }
        command.phys = configuration.phys
        if codedPeers.isDisjoint(with: targets) { command.phys.remove(.leCoded) }
        var entry = LEExtendedCreateConnection.Entry()
        entry.scanInterval = configuration.scanInterval
        entry.scanWindow = configuration.scanWindow
        entry.parameters = configuration.parameters
        command.entries = Array(repeating: entry, count: command.phys.rawValue.nonzeroBitCount)
        return command
    }

    private var createOpcode: HCIOpcode {
        configuration.isExtended ? .leExtendedCreateConnection : .leCreateConnection
    }

    private mutating func finish(_ outcome: CommandOutcome, at now: Instant) -> [Effect] {
        switch state {
        case .idle, .initiating: return []
        case .filling(let count): return filled(count, outcome, at: now)
        case .creating: return created(outcome, at: now)
        case .cancelling(let until):
            if until == nil { cancelAnswered(outcome, at: now) }
        case .settling: state = .idle
        }
        return proceed(at: now)
    }

    private mutating func filled(_ count: Int, _ outcome: CommandOutcome, at now: Instant) -> [Effect] {
        switch outcome {
        case .timedOut: return failTargets(CommandFailure(opcode: .leAddDeviceToFilterAcceptList, error: nil), at: now)
        case .refused:
            // One by one, then.
            hasUsableList = false
            state = .idle
            return proceed(at: now)
        case .completed, .started: break
        }
        guard Set(candidates) == Set(targets) else {
            state = .idle
            return proceed(at: now)
        }
        guard count < targets.count else { return create() }
        state = .filling(count + 1)
        return [.command(LEAddDeviceToFilterAcceptList(address: targets[count]).packet)]
    }

    private mutating func created(_ outcome: CommandOutcome, at now: Instant) -> [Effect] {
        if let failure = CommandFailure(outcome, opcode: createOpcode) { return failTargets(failure, at: now) }
        canCancel = true
        state = .initiating(turnEnds: nil)
        return proceed(at: now)
    }

    private mutating func startTurn(at now: Instant) {
        let others = pending.count > targets.count && canCancel
        state = .initiating(turnEnds: others ? now.advanced(by: Self.turn) : nil)
    }

    private mutating func cancelAnswered(_ outcome: CommandOutcome, at now: Instant) {
        switch outcome {
        case .completed, .started, .refused(.commandDisallowed):
            // Disallowed means that the attempt has ended already, and its Connection Complete is on the way.
            state = .cancelling(until: now.advanced(by: Self.cancelTimeout))
        case .refused, .timedOut:
            // The attempt cannot be called off. Whoever answers it comes out as wanted or unwanted.
            canCancel = false
            state = .initiating(turnEnds: nil)
        }
    }

    private mutating func complete(_ event: LEConnectionComplete, at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        if event.status == .success {
            if let index = pending.firstIndex(of: event.peer) {
                pending.remove(at: index)
                effects.append(.connected(event))
            } else {
                effects.append(.unwanted(event))
            }
        }
        switch state {
        case .idle, .filling, .settling: return effects
        case .creating, .cancelling(until: nil):
            state = .settling
            return effects
        case .cancelling: break
        case .initiating:
            // Not established: the same again. Cancelled, though not by us: the same again.
            let isTransient = [.success, .connectionFailedToBeEstablished, .unknownConnection].contains(event.status)
            if !isTransient {
                let failure = CommandFailure(opcode: createOpcode, error: event.status)
                return failTargets(failure, at: now)
            }
        }
        state = .idle
        return effects + proceed(at: now)
    }

    /// Ends the attempt, and everybody it was for.
    private mutating func failTargets(_ failure: CommandFailure, at now: Instant) -> [Effect] {
        let failed = pending.filter { targets.contains($0) }
        pending.removeAll { targets.contains($0) }
        state = .idle
        return failed.map { .failed($0, failure) } + proceed(at: now)
    }
}
