import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

// Scanning, initiating and the filter accept list: Core 6.0, Vol 4, Part E, 7.8.10 to 7.8.17.

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeScanningCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .leSetScanParameters:
            run(LESetScanParameters.self, parameters) { command throws(HCIErrorCode) in
                try self.useLegacyCommands()
                guard self.scanner == nil else { throw .commandDisallowed }
                try Self.checkWindow(command.window, interval: command.interval)
                self.settings.scanning = command.extended
            }
        case .leSetScanEnable:
            run(LESetScanEnable.self, parameters) { command throws(HCIErrorCode) in
                try self.useLegacyCommands()
                // Enabling it again restarts the filter of duplicates. 7.8.11.
                self.stopScanning()
                if command.isEnabled {
                    try self.startScanning(filtersDuplicates: command.filtersDuplicates, at: now)
                }
            }
        case .leCreateConnection:
            begin(LECreateConnection.self, parameters) { command throws(HCIErrorCode) in
                try self.useLegacyCommands()
                return try self.initiate(command.extended, at: now)
            }
        case .leCreateConnectionCancel:
            cancelConnection(parameters)
        case .leReadFilterAcceptListSize:
            run(LEReadFilterAcceptListSize.self, parameters) { _, answer in
                answer.size = UInt8(truncatingIfNeeded: self.configuration.acceptListSize)
            }
        case .leClearFilterAcceptList:
            run(LEClearFilterAcceptList.self, parameters) { _ throws(HCIErrorCode) in
                try self.checkAcceptListIsFree()
                self.settings.acceptList.removeAll()
            }
        case .leAddDeviceToFilterAcceptList:
            run(LEAddDeviceToFilterAcceptList.self, parameters) { command throws(HCIErrorCode) in
                try self.addToAcceptList(command.address)
            }
        case .leRemoveDeviceFromFilterAcceptList:
            run(LERemoveDeviceFromFilterAcceptList.self, parameters) { command throws(HCIErrorCode) in
                try self.checkAcceptListIsFree()
                self.settings.acceptList.removeAll { $0 == command.address }
            }
        default:
            return false
        }
        return true
    }

    static func checkWindow(_ window: UInt16, interval: UInt16) throws(HCIErrorCode) {
        let range: ClosedRange<UInt16> = 0x0004...0x4000
        guard range.contains(window), range.contains(interval), window <= interval else { throw .invalidParameters }
    }

    func startScanning(filtersDuplicates: Bool, at now: Instant) throws(HCIErrorCode) {
        var parameters = Scanner.Parameters()
        parameters.isExtended = settings.usesExtendedCommands == true
        parameters.listening = zip(settings.scanning.phys.inOrder, settings.scanning.entries).map { phy, entry in
            Scanner.Parameters.Listening(
                phy: phy, isActive: entry.isActive, interval: AirTiming.halfSlot * Int(entry.interval),
                window: AirTiming.halfSlot * Int(entry.window))
        }
        parameters.address = try ownAddress(settings.scanning.ownAddressType, random: settings.randomAddress)
        parameters.usesPrivateAddress = settings.scanning.ownAddressType.isPrivate
        if parameters.usesPrivateAddress { renewAddressesIfDue(at: now) }
        parameters.resolvingList = settings.resolvingList
        parameters.reportsUnresolvedTargets = settings.scanning.filterPolicy & 0b10 != 0
        parameters.filtersDuplicates = filtersDuplicates
        if settings.scanning.filterPolicy & 0b01 != 0 { parameters.advertisersAllowed = settings.acceptList }
        scanner = Running(Scanner(parameters, generator: generator.split(), at: now))
        noteWhetherTrainsMatter()
    }

    func stopScanning() {
        if case .scanner = holder {
            silenceRadio()
            holder = .nobody
        }
        scanner = nil
    }

    // MARK: Initiating

    /// Checks the command and returns what starts it.
    func initiate(_ command: LEExtendedCreateConnection, at now: Instant) throws(HCIErrorCode) -> () -> Void {
        guard initiator == nil else { throw .commandDisallowed }
        guard links.count < configuration.maxLinks else { throw .connectionLimitExceeded }
        var parameters = Initiator.Parameters()
        parameters.listening = []
        for (phy, entry) in zip(command.phys.inOrder, command.entries) {
            guard entry.eventLengthMin <= entry.eventLengthMax else { throw .invalidParameters }
            let timing = try Self.timing(entry.parameters)
            if phy == .le1M { parameters.timing = timing }
            if settings.usesExtendedCommands == true { parameters.extendedTimings[phy] = timing }
            // Nobody announces himself on LE 2M.
            guard phy != .le2M else { continue }
            try Self.checkWindow(entry.scanWindow, interval: entry.scanInterval)
            parameters.listening.append(
                Initiator.Parameters.Listening(
                    phy: phy, interval: AirTiming.halfSlot * Int(entry.scanInterval),
                    window: AirTiming.halfSlot * Int(entry.scanWindow)))
        }
        guard !parameters.listening.isEmpty else { throw .invalidParameters }
        for (_, entry) in zip(command.phys.inOrder, command.entries) {
            try checkAirtime(for: entry.parameters.intervalMax)
        }
        parameters.address = try ownAddress(command.ownAddressType, random: settings.randomAddress)
        parameters.usesPrivateAddress = command.ownAddressType.isPrivate
        if parameters.usesPrivateAddress { renewAddressesIfDue(at: now) }
        parameters.resolvingList = settings.resolvingList
        parameters.channels = UsedChannels(bits: settings.channels.rawValue)
        parameters.sleepClockAccuracy = configuration.clockAccuracyClass
        if command.usesFilterAcceptList {
            parameters.peers = settings.acceptList
        } else {
            guard !links.contains(where: { $0.connection.peer == command.peer }) else {
                throw .connectionAlreadyExists
            }
            parameters.peers = [command.peer]
        }
        let initiator = Running(Initiator(parameters, generator: generator.split(), at: now))
        return {
            self.initiatorUsesAcceptList = command.usesFilterAcceptList
            self.initiator = initiator
            self.noteOccupiedTimes()
        }
    }

    /// Whether the radio has time for one more link: each is promised one slot of 1.25 ms an interval, in which an
    /// exchange of packets of 27 octets fits, encrypted or not.
    ///
    /// - Parameters:
    ///   - interval: in slots.
    ///   - changed: the link that is to have that interval; `nil` for a new one.
    func checkAirtime(for interval: UInt16, of changed: Link? = nil) throws(HCIErrorCode) {
        let others = links.filter { $0 !== changed }.map(\.connection.timing.interval)
        // Of a million.
        let used = (others + [interval]).reduce(0) { $0 + 1_000_000 / Int(max(1, $1)) }
        guard used <= 1_000_000 else { throw .limitedResources }
    }

    /// The longest interval of the range, if the range is one that a link can live with. 7.8.12.
    static func timing(_ range: ConnectionParameterRange) throws(HCIErrorCode) -> ConnectionTiming {
        let timing = ConnectionTiming(
            interval: range.intervalMax, latency: range.latency, timeout: range.supervisionTimeout)
        guard timing.isValid, (6...range.intervalMax).contains(range.intervalMin) else { throw .invalidParameters }
        return timing
    }

    /// LE Create Connection Cancel, and the end of the command that it cancels. 7.8.13.
    private func cancelConnection(_ parameters: ArraySlice<UInt8>) {
        var wasPending = false
        run(LECreateConnectionCancel.self, parameters) { _ throws(HCIErrorCode) in
            guard let initiator = self.initiator, !initiator.machine.isOffering else { throw .commandDisallowed }
            wasPending = true
        }
        guard wasPending else { return }
        if case .initiator = holder {
            silenceRadio()
            holder = .nobody
        }
        initiator = nil
        var event = LEEnhancedConnectionComplete()
        event.status = .unknownConnection
        emitConnectionComplete(event)
    }

    // MARK: The filter accept list

    /// It may not change while somebody goes by it. 7.8.15.
    private func checkAcceptListIsFree() throws(HCIErrorCode) {
        let isUsed =
            sets.contains { $0.machine != nil && $0.parameters.filterPolicy != 0 }
            || scanner != nil && settings.scanning.filterPolicy & 0b01 != 0
            || initiator != nil && initiatorUsesAcceptList
        guard !isUsed else { throw .commandDisallowed }
    }

    private func addToAcceptList(_ address: DeviceAddress) throws(HCIErrorCode) {
        try checkAcceptListIsFree()
        guard !settings.acceptList.contains(address) else { return }
        guard settings.acceptList.count < configuration.acceptListSize else { throw .memoryCapacityExceeded }
        settings.acceptList.append(address)
    }
}
