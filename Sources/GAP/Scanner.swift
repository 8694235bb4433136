package import EventLoop
package import HCI

/// Keeps the controller scanning for as long as it is wanted, and joins what it hears of one device.
///
///            want                 parameters, enable
///     off ──────────▶ starting ─────────────────────────▶ scanning ──┐ reports: `report`
///      ▲                 │ refused: `failed`                 │  ▲────┘
///      │                 ▼                                   │ want something else, or nothing
///      └───────────────(off)◀──────────── stopping ◀─────────┘
///
/// The controller's own duplicate filter stays off: it would keep news from us, and each client has its own idea of
/// a duplicate (``DiscoveryFilter``). Every wish is reported on once, with `started` or `failed`, unless another wish
/// took its place before. One command is in flight at a time, so an outcome needs no name.
///
/// Source: Core 6.0, Vol 4, Part E, 7.8.10, 7.8.11 and 7.7.65.2; 7.8.64, 7.8.65 and 7.7.65.13.
package struct Scanner: ProtocolMachine {
    package struct Configuration: Equatable, Sendable {
        /// Whether scan requests are sent.
        package var isActive = true
        /// In units of 0.625 ms, 0x0004...0x4000. The default is 60 ms, all of it.
        package var interval: UInt16 = 0x0060
        package var window: UInt16 = 0x0060
        package var ownAddressType = OwnAddressType.publicDevice
        /// Whether the controller is told in extended commands: then it hears advertisements of all kinds.
        package var isExtended = false
        /// Whether it listens on the coded PHY too, one of sixteen windows: LE 1M, where most devices are, must not
        /// suffer.
        package var hearsCoded = false

        package init() {}
    }

    package enum Input: Equatable, Sendable {
        case want(Configuration?)
        /// About the one command that was last handed out.
        case commandFinished(CommandOutcome)
        case reports(AdvertisingReports)
        case extendedReports(ExtendedAdvertisingReports)
    }

    package enum Effect: Equatable, Sendable {
        case command([UInt8])
        /// The wish is fulfilled: the controller scans.
        case started
        /// Nothing is wanted, and the controller does not scan any more.
        case stopped
        /// The wish was not fulfilled, and is forgotten.
        case failed(CommandFailure)
        /// A packet was heard; with what is known of the device from the packets before.
        case report(ScanReport)
    }

    private enum State: Equatable {
        case off, setting, enabling, scanning, disabling
    }

    private var state = State.off
    private var wanted: Configuration?
    /// What the controller was last given.
    private var given: Configuration?
    private var owesReport = false
    private var merger: ScanMerger
    private var assembler = ReportAssembler()

    /// - Parameter capacity: of how many devices both packets are remembered; the oldest goes first.
    package init(capacity: Int = 1024) { merger = ScanMerger(capacity: capacity) }

    /// Whether the controller neither scans nor is about to.
    package var isOff: Bool { state == .off }

    package var deadline: Instant? { nil }
    package mutating func wake(at now: Instant) -> [Effect] { [] }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .want(let configuration):
            wanted = configuration
            owesReport = true
            return proceed()
        case .commandFinished(let outcome):
            return finish(outcome)
        case .reports(let reports):
            // The controller may have had some under way when it was told to stop.
            guard state == .scanning, wanted != nil else { return [] }
            var effects: [Effect] = []
            for report in reports {
                guard let packet = HeardPacket(report), let merged = merger.take(packet) else { continue }
                effects.append(.report(merged))
            }
            return effects
        case .extendedReports(let reports):
            guard state == .scanning, wanted != nil else { return [] }
            var effects: [Effect] = []
            for report in reports {
                guard let packet = assembler.take(report), let merged = merger.take(packet) else { continue }
                effects.append(.report(merged))
            }
            return effects
        }
    }

    private mutating func proceed() -> [Effect] {
        switch state {
        case .setting, .enabling, .disabling: return []
        case .off:
            guard let wanted else { return report(.stopped) }
            given = wanted
            state = .setting
            return [.command(wanted.parameters)]
        case .scanning:
            if wanted == given { return report(.started) }
            state = .disabling
            merger.removeAll()
            assembler.removeAll()
            return [.command(enable(false))]
        }
    }

    private mutating func finish(_ outcome: CommandOutcome) -> [Effect] {
        let failure = CommandFailure(outcome, opcode: opcode)
        switch state {
        case .off, .scanning: return []
        case .setting where failure == nil && wanted == given:
            state = .enabling
            return [.command(enable(true))]
        case .enabling where failure == nil:
            state = .scanning
        case .setting, .enabling, .disabling:
            // Disabling fails only if the controller does not scan.
            let isDisabling = state == .disabling
            state = .off
            guard let failure, !isDisabling, wanted == given else { break }
            wanted = nil
            return report(.failed(failure))
        }
        return proceed()
    }

    private var isExtended: Bool { given?.isExtended == true }

    private func enable(_ isEnabled: Bool) -> [UInt8] {
        isExtended ? LESetExtendedScanEnable(isEnabled).packet : LESetScanEnable(isEnabled).packet
    }

    /// Of the command in flight.
    private var opcode: HCIOpcode {
        switch (state == .setting, isExtended) {
        case (true, false): .leSetScanParameters
        case (true, true): .leSetExtendedScanParameters
        case (false, false): .leSetScanEnable
        case (false, true): .leSetExtendedScanEnable
        }
    }

    private mutating func report(_ effect: Effect) -> [Effect] {
        defer { owesReport = false }
        return owesReport ? [effect] : []
    }
}

extension Scanner.Configuration {
    fileprivate var parameters: [UInt8] {
        guard !isExtended else { return extendedParameters.packet }
        var command = LESetScanParameters()
        command.isActive = isActive
        command.interval = interval
        command.window = window
        command.ownAddressType = ownAddressType
        return command.packet
    }

    private var extendedParameters: LESetExtendedScanParameters {
        var command = LESetExtendedScanParameters()
        command.ownAddressType = ownAddressType
        var entry = LESetExtendedScanParameters.Entry()
        entry.isActive = isActive
        entry.interval = interval
        entry.window = window
        command.entries = [entry]
        guard hearsCoded else { return command }
        command.phys = [.le1M, .leCoded]
        entry.interval = UInt16(clamping: min(Int(interval) * 16, 0x4000))
        command.entries.append(entry)
        return command
    }
}
