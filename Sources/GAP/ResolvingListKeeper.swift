package import BluetoothTypes
package import EventLoop
package import HCI

/// Keeps in the controller's resolving list whom its owner knows behind private addresses, so that the controller finds
/// them by itself: in reports, for its filter accept list, in directed advertising.
///
///          work to do, and quiet              the last command's outcome
///     idle ──────────────────────▶ working ──────────────────────────────▶ idle: `settled`
///
/// The list may change only while the controller neither advertises, scans, initiates nor establishes a
/// synchronization (7.8.38, 7.8.44), so the owner says when that is so. Whoever does not fit is left out, and found by
/// the owner itself.
/// All are heard under their identity addresses too (7.8.77): many devices show these although they have a key.
///
/// One command is in flight at a time, so an outcome needs no name.
///
/// Source: Core 6.0, Vol 4, Part E, 7.8.38, 7.8.39, 7.8.44 and 7.8.77.
package struct ResolvingListKeeper: ProtocolMachine {
    package struct Entry: Hashable, Sendable {
        /// Public, or static random.
        package var identity: DeviceAddress
        package var peerKey: UInt128
        /// The key of this device's own private addresses.
        package var localKey: UInt128

        package init(identity: DeviceAddress, peerKey: UInt128, localKey: UInt128) {
            self.identity = identity
            self.peerKey = peerKey
            self.localKey = localKey
        }
    }

    package enum Input: Equatable, Sendable {
        /// Who is to be in the list, the most important first.
        case want([Entry])
        /// The controller does nothing that the list could disturb, until `settled`.
        case quiet
        /// About the one command that was last handed out.
        case commandFinished(CommandOutcome)
    }

    package enum Effect: Equatable, Sendable {
        case command([UInt8])
        /// There is nothing more to do.
        case settled
    }

    private enum Step {
        case remove(Entry), add(Entry), setMode(Entry)
        case enable
    }

    private var wanted: [Entry] = []
    /// What is in the controller's list.
    private var given: [Entry] = []
    /// Those for whom there was no room, or whom the controller does not take.
    private var refused: Set<Entry> = []
    private var isFull = false
    private var isEnabled = false
    private var isEnableRefused = false
    private var step: Step?

    package init() {}

    /// Whether the list is not what it should be.
    package var hasWork: Bool { next != nil }

    /// Whether the controller finds a device by itself.
    package func lists(_ identity: DeviceAddress) -> Bool {
        isEnabled && given.contains { $0.identity == identity }
    }

    package var deadline: Instant? { nil }
    package mutating func wake(at now: Instant) -> [Effect] { [] }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .want(let entries):
            guard entries != wanted else { return [] }
            wanted = entries
            refused.formIntersection(entries)
            isFull = false
            return []
        case .quiet: return step == nil ? proceed() : []
        case .commandFinished(let outcome):
            guard let step else { return [] }
            self.step = nil
            finish(step, outcome)
            return proceed()
        }
    }

    private var next: Step? {
        if isEnableRefused { return nil }
        if let old = given.first(where: { !wanted.contains($0) }) { return .remove(old) }
        if !isFull, let new = wanted.first(where: { !given.contains($0) && !refused.contains($0) }) { return .add(new) }
        return isEnabled || given.isEmpty ? nil : .enable
    }

    private mutating func proceed() -> [Effect] {
        if step == nil { step = next }
        switch step {
        case .remove(let entry): return [.command(LERemoveDeviceFromResolvingList(peer: entry.identity).packet)]
        case .add(let entry):
            let command = LEAddDeviceToResolvingList(
                peer: entry.identity, peerKey: entry.peerKey, localKey: entry.localKey)
            return [.command(command.packet)]
        case .setMode(let entry): return [.command(LESetPrivacyMode(peer: entry.identity, mode: .device).packet)]
        case .enable: return [.command(LESetAddressResolutionEnable(true).packet)]
        case nil: return [.settled]
        }
    }

    private mutating func finish(_ done: Step, _ outcome: CommandOutcome) {
        let failure = CommandFailure(outcome, opcode: .leAddDeviceToResolvingList)
        switch done {
        // What the controller does not let go of is none of ours any more all the same.
        case .remove(let entry): given.removeAll { $0 == entry }
        case .add(let entry):
            guard let failure else {
                given.append(entry)
                step = .setMode(entry)
                return
            }
            if failure.error == .memoryCapacityExceeded { isFull = true } else { refused.insert(entry) }
        case .setMode(let entry):
            guard failure != nil else { return }
            // Under its identity address it would not be heard any more.
            refused.insert(entry)
            step = .remove(entry)
        case .enable: if failure == nil { isEnabled = true } else { isEnableRefused = true }
        }
    }
}
