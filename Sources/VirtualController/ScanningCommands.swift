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
                guard self.scanner == nil else { throw .commandDisallowed }
                try Self.checkWindow(command.window, interval: command.interval)
                self.settings.scanning = command
            }
        case .leSetScanEnable:
            run(LESetScanEnable.self, parameters) { command throws(HCIErrorCode) in
                // Enabling it again restarts the filter of duplicates. 7.8.11.
                self.stopScanning()
                if command.isEnabled {
                    try self.startScanning(filtersDuplicates: command.filtersDuplicates, at: now)
                }
            }
        case .leCreateConnection:
            begin(LECreateConnection.self, parameters) { command throws(HCIErrorCode) in
                let initiator = try self.makeInitiator(command, at: now)
                return {
                    self.initiator = initiator
                    self.noteOccupiedTimes()
                }
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

    private static func checkWindow(_ window: UInt16, interval: UInt16) throws(HCIErrorCode) {
        let range: ClosedRange<UInt16> = 0x0004...0x4000
        guard range.contains(window), range.contains(interval), window <= interval else { throw .invalidParameters }
    }

    private func startScanning(filtersDuplicates: Bool, at now: Instant) throws(HCIErrorCode) {
        var parameters = Scanner.Parameters()
        parameters.isActive = settings.scanning.isActive
        parameters.interval = AirTiming.halfSlot * Int(settings.scanning.interval)
        parameters.window = AirTiming.halfSlot * Int(settings.scanning.window)
        parameters.address = try ownAddress(settings.scanning.ownAddressType)
        parameters.usesPrivateAddress = settings.scanning.ownAddressType.isPrivate
        if parameters.usesPrivateAddress { renewAddressesIfDue(at: now) }
        parameters.resolvingList = settings.resolvingList
        parameters.reportsUnresolvedTargets = settings.scanning.filterPolicy & 0b10 != 0
        parameters.filtersDuplicates = filtersDuplicates
        if settings.scanning.filterPolicy & 0b01 != 0 { parameters.advertisersAllowed = settings.acceptList }
        scanner = Scanner(parameters, generator: generator.split(), at: now)
    }

    private func stopScanning() {
        if case .scanner = holder {
            silenceRadio()
            holder = .nobody
        }
        scanner = nil
    }

    // MARK: Initiating

    private func makeInitiator(_ command: LECreateConnection, at now: Instant) throws(HCIErrorCode) -> Initiator {
        guard initiator == nil else { throw .commandDisallowed }
        guard links.count < configuration.maxLinks else { throw .connectionLimitExceeded }
        try Self.checkWindow(command.scanWindow, interval: command.scanInterval)
        guard command.eventLengthMin <= command.eventLengthMax else { throw .invalidParameters }
        var parameters = Initiator.Parameters()
        parameters.timing = try Self.timing(command.parameters)
        parameters.interval = AirTiming.halfSlot * Int(command.scanInterval)
        parameters.window = AirTiming.halfSlot * Int(command.scanWindow)
        parameters.address = try ownAddress(command.ownAddressType)
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
        initiatorUsesAcceptList = command.usesFilterAcceptList
        return Initiator(parameters, generator: generator.split(), at: now)
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
            guard let initiator = self.initiator, !initiator.isOffering else { throw .commandDisallowed }
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
            advertiser != nil && settings.advertising.filterPolicy != 0
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
