import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

// Scanning and connecting on several PHYs: Core 6.0, Vol 4, Part E, 7.8.64 to 7.8.66, and the events that come of them
// and of advertising sets.

/// How long scanning goes on, and when it begins again.
final class ScanSchedule {
    let duration: Duration
    /// `nil` for scanning once.
    let period: Duration?
    let filtersDuplicates: UInt8
    /// When it ends, or begins again.
    var next: Instant
    /// The scanner that waits for the next period.
    var paused: Running<Scanner>?

    init(duration: Duration, period: Duration?, filtersDuplicates: UInt8, at now: Instant) {
        self.duration = duration
        self.period = period
        self.filtersDuplicates = filtersDuplicates
        next = now.advanced(by: duration)
    }
}

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeExtendedScanningCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .leSetExtendedScanParameters:
            run(LESetExtendedScanParameters.self, parameters) { command throws(HCIErrorCode) in
                try self.useExtendedCommands()
                guard self.scanner == nil, self.scanSchedule == nil else { throw .commandDisallowed }
                guard !command.phys.isEmpty, command.phys.isSubset(of: [.le1M, .leCoded]) else {
                    throw .unsupportedFeature
                }
                for entry in command.entries { try Self.checkWindow(entry.window, interval: entry.interval) }
                self.settings.scanning = command
            }
        case .leSetExtendedScanEnable:
            run(LESetExtendedScanEnable.self, parameters) { command throws(HCIErrorCode) in
                try self.useExtendedCommands()
                try self.enable(command, at: now)
            }
        case .leExtendedCreateConnection:
            begin(LEExtendedCreateConnection.self, parameters) { command throws(HCIErrorCode) in
                try self.useExtendedCommands()
                return try self.initiate(command, at: now)
            }
        default:
            return false
        }
        return true
    }

    private func enable(_ command: LESetExtendedScanEnable, at now: Instant) throws(HCIErrorCode) {
        let duration = Duration.milliseconds(10 * Int(command.duration))
        let period = Duration.milliseconds(1280 * Int(command.period))
        // A period needs a duration, and is longer. 7.8.65.
        guard command.period == 0 || command.duration > 0 && period > duration else { throw .invalidParameters }
        stopScanning()
        scanSchedule = nil
        guard command.isEnabled else { return }
        try startScanning(filtersDuplicates: command.filtersDuplicates != 0, at: now)
        guard command.duration > 0 else { return }
        scanSchedule = ScanSchedule(
            duration: duration, period: command.period == 0 ? nil : period,
            filtersDuplicates: command.filtersDuplicates, at: now)
    }

    /// Ends scanning when its time is over, and begins it again with the next period.
    func superviseScan(at now: Instant) {
        guard let schedule = scanSchedule, now >= schedule.next else { return }
        guard let period = schedule.period else {
            stopScanning()
            scanSchedule = nil
            return emit(LEScanTimeout())
        }
        if let paused = schedule.paused {
            schedule.paused = nil
            schedule.next = now.advanced(by: schedule.duration)
            scanner = paused
            if schedule.filtersDuplicates == 2 { scanner?.machine.forgetDuplicates() }
        } else {
            schedule.paused = scanner
            schedule.next = now.advanced(by: period - schedule.duration)
            stopScanning()
            schedule.paused?.machine.pause()
        }
    }

    // MARK: Events

    func emitTermination(of set: AdvertisingSet, _ status: HCIErrorCode, with link: Link? = nil) {
        guard let handle = set.handle else { return }
        var event = LEAdvertisingSetTerminated()
        event.status = status
        event.set = handle
        event.handle = link?.handle ?? 0
        event.completedEvents = UInt8(truncatingIfNeeded: set.machine?.events ?? 0)
        emit(event)
    }

    func emitScanRequest(of set: AdvertisingSet, _ scanner: ResolvingList.Party) {
        guard let handle = set.handle, set.parameters.reportsScanRequests else { return }
        var event = LEScanRequestReceived()
        event.set = handle
        event.scanner = scanner.address
        event.isIdentity = scanner.privateAddress != nil
        emit(event)
    }

    /// As many events as the data needs.
    func emitExtended(_ report: Scanner.Report) {
        guard isUnmasked(.extendedAdvertisingReport) else { return }
        var event = ExtendedAdvertisingReport()
        event.address = report.details?.isAnonymous == true ? nil : report.advertiser.address
        event.isIdentity = report.advertiser.privateAddress != nil
        event.rssi = report.rssi
        event.eventType = report.details.map { Self.eventType($0) } ?? Self.eventType(report.kind)
        if let answered = report.answered {
            event.eventType = Self.eventType(answered).union(.scanResponse)
        }
        if let target = report.unresolvedTarget ?? report.details?.target { event.target = target }
        if let details = report.details {
            event.primaryPHY = PHY(rawValue: details.primary.rawValue)
            event.secondaryPHY = PHY(rawValue: details.secondary?.rawValue ?? 0)
            event.identifier = details.setIdentifier ?? 0xFF
            event.txPower = details.txPower ?? 127
            event.periodicInterval = details.periodicInterval ?? 0
        }
        let last = event.eventType
        var rest = report.data
        // One report holds 229 octets. 7.7.65.13.
        while rest.count > 229 {
            event.data = rest.prefix(229)
            event.eventType = last.subtracting(.truncated).union(.incomplete)
            emit(LEExtendedAdvertisingReport(reports: [event]))
            rest = rest.dropFirst(229)
        }
        event.data = rest
        event.eventType = last
        emit(LEExtendedAdvertisingReport(reports: [event]))
    }

    private static func eventType(_ details: ExtendedDetails) -> ExtendedAdvertisingReport.EventType {
        var type: ExtendedAdvertisingReport.EventType = []
        switch details.mode {
        case .nonconnectable: break
        case .connectable: type.insert(.connectable)
        case .scannable: type.insert(.scannable)
        }
        if details.target != nil { type.insert(.directed) }
        if details.isScanResponse { type.insert(.scanResponse) }
        switch details.status {
        case .complete: break
        case .incomplete: type.insert(.incomplete)
        case .truncated: type.insert(.truncated)
        }
        return type
    }

    /// Of legacy PDUs: 7.7.65.13, table of event types.
    private static func eventType(_ kind: AdvertisingHeader.Kind) -> ExtendedAdvertisingReport.EventType {
        switch kind {
        case .connectable: [.legacy, .connectable, .scannable]
        case .directed: [.legacy, .connectable, .directed]
        case .scannable: [.legacy, .scannable]
        default: [.legacy]
        }
    }
}

extension PHYPreference {
    /// The PHYs in the order of their bits, in which commands have an entry for each.
    var inOrder: [RadioPHY] { RadioPHY.allCases.filter { rawValue & $0.bit != 0 } }
}

extension LESetScanParameters {
    /// The same in the terms of the extended command.
    var extended: LESetExtendedScanParameters {
        var extended = LESetExtendedScanParameters()
        extended.ownAddressType = ownAddressType
        extended.filterPolicy = filterPolicy
        extended.entries[0].isActive = isActive
        extended.entries[0].interval = interval
        extended.entries[0].window = window
        return extended
    }
}

extension LECreateConnection {
    /// The same in the terms of the extended command.
    var extended: LEExtendedCreateConnection {
        var extended = LEExtendedCreateConnection()
        extended.usesFilterAcceptList = usesFilterAcceptList
        extended.ownAddressType = ownAddressType
        extended.peer = peer
        extended.entries[0].scanInterval = scanInterval
        extended.entries[0].scanWindow = scanWindow
        extended.entries[0].parameters = parameters
        extended.entries[0].eventLengthMin = eventLengthMin
        extended.entries[0].eventLengthMax = eventLengthMax
        return extended
    }
}
