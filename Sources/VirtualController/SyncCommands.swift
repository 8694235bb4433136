import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

// Following others' periodic advertising: Core 6.0, Vol 4, Part E, 7.8.67 to 7.8.73, 7.8.88 and 7.7.65.14 to 7.7.65.16.

/// A train that is followed, as HCI knows it.
final class FollowedTrain {
    let handle: UInt16
    var machine: PeriodicSync
    /// Whether the host wants reports.
    var reports: Bool
    var filtersDuplicates: Bool
    /// The data that was reported last, where the advertiser says which it is.
    var reported: AdvertisingDataInfo?

    init(handle: UInt16, machine: PeriodicSync, _ command: LEPeriodicAdvertisingCreateSync) {
        self.handle = handle
        self.machine = machine
        reports = command.reports
        filtersDuplicates = command.filtersDuplicates
    }

    var advertiser: PeriodicAdvertiser {
        let train = machine.parameters.train
        return PeriodicAdvertiser(address: train.advertiser.address, identifier: train.setIdentifier)
    }
}

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeSyncCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .lePeriodicAdvertisingCreateSync:
            begin(LEPeriodicAdvertisingCreateSync.self, parameters) { command throws(HCIErrorCode) in
                try self.check(command)
                return {
                    self.pendingSync = command
                    self.noteWhetherTrainsMatter()
                }
            }
        case .lePeriodicAdvertisingCreateSyncCancel: cancelSync(parameters)
        case .lePeriodicAdvertisingTerminateSync:
            run(LEPeriodicAdvertisingTerminateSync.self, parameters) { command throws(HCIErrorCode) in
                let sync = try self.establishedSync(command.sync)
                self.remove(sync)
            }
        case .leSetPeriodicAdvertisingReceiveEnable:
            run(LESetPeriodicAdvertisingReceiveEnable.self, parameters) { command throws(HCIErrorCode) in
                let sync = try self.establishedSync(command.sync)
                sync.reports = command.reports
                sync.filtersDuplicates = command.filtersDuplicates
                sync.reported = nil
            }
        case .leAddDeviceToPeriodicAdvertiserList, .leRemoveDeviceFromPeriodicAdvertiserList,
            .leClearPeriodicAdvertiserList, .leReadPeriodicAdvertiserListSize:
            takePeriodicListCommand(opcode, parameters)
        default:
            return false
        }
        return true
    }

    private func takePeriodicListCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>) {
        /// It may not change while a synchronization goes by it. 7.8.70.
        func checkListIsFree() throws(HCIErrorCode) {
            guard pendingSync?.usesList != true else { throw .commandDisallowed }
        }
        switch opcode {
        case .leAddDeviceToPeriodicAdvertiserList:
            run(LEAddDeviceToPeriodicAdvertiserList.self, parameters) { command throws(HCIErrorCode) in
                try checkListIsFree()
                guard !self.settings.periodicList.contains(command.advertiser) else {
                    throw .invalidParameters
                }
                guard self.settings.periodicList.count < self.configuration.periodicListSize else {
                    throw .memoryCapacityExceeded
                }
                self.settings.periodicList.append(command.advertiser)
            }
        case .leRemoveDeviceFromPeriodicAdvertiserList:
            run(LERemoveDeviceFromPeriodicAdvertiserList.self, parameters) {
                command throws(HCIErrorCode) in
                try checkListIsFree()
                guard let index = self.settings.periodicList.firstIndex(of: command.advertiser) else {
                    throw .unknownAdvertisingIdentifier
                }
                self.settings.periodicList.remove(at: index)
            }
        case .leClearPeriodicAdvertiserList:
            run(LEClearPeriodicAdvertiserList.self, parameters) { _ throws(HCIErrorCode) in
                try checkListIsFree()
                self.settings.periodicList.removeAll()
            }
        default:
            run(LEReadPeriodicAdvertiserListSize.self, parameters) { _, answer in
                answer.size = UInt8(truncatingIfNeeded: self.configuration.periodicListSize)
            }
        }
    }

    private func check(_ command: LEPeriodicAdvertisingCreateSync) throws(HCIErrorCode) {
        guard pendingSync == nil else { throw .commandDisallowed }
        guard command.skip <= 0x01F3, (0x000A...0x4000).contains(command.timeout) else {
            throw .invalidParameters
        }
        guard syncs.count < configuration.maxSyncs else { throw .memoryCapacityExceeded }
        let wanted = PeriodicAdvertiser(address: command.advertiser, identifier: command.identifier)
        guard command.usesList || !syncs.contains(where: { $0.advertiser == wanted }) else {
            throw .connectionAlreadyExists
        }
    }

    private func establishedSync(_ handle: UInt16) throws(HCIErrorCode) -> FollowedTrain {
        guard let sync = syncs.first(where: { $0.handle == handle && $0.machine.isEstablished }) else {
            throw .unknownAdvertisingIdentifier
        }
        return sync
    }

    private func cancelSync(_ parameters: ArraySlice<UInt8>) {
        var wasPending = false
        run(LEPeriodicAdvertisingCreateSyncCancel.self, parameters) { _ throws(HCIErrorCode) in
            guard self.pendingSync != nil else { throw .commandDisallowed }
            wasPending = true
        }
        guard wasPending else { return }
        if let sync = syncs.first(where: { !$0.machine.isEstablished }) { remove(sync) }
        endPendingSync(.operationCancelled)
    }

    private func endPendingSync(_ status: HCIErrorCode) {
        pendingSync = nil
        noteWhetherTrainsMatter()
        var event = LEPeriodicAdvertisingSyncEstablished()
        event.status = status
        emit(event)
    }

    func remove(_ sync: FollowedTrain) {
        if case .sync(let holding) = holder, holding === sync {
            silenceRadio()
            holder = .nobody
        }
        syncs.removeAll { $0 === sync }
    }

    // MARK: Finding it

    /// The scanner looks out for trains only while one is waited for and has not been found.
    func noteWhetherTrainsMatter() {
        let matters = pendingSync != nil && syncs.allSatisfy(\.machine.isEstablished)
        scanner?.machine.noticesTrains = matters
        scanSchedule?.paused?.machine.noticesTrains = matters
    }

    /// What the scanner has heard of trains.
    func dealWithTrains() {
        guard let sightings = scanner?.machine.trains, !sightings.isEmpty else { return }
        scanner?.machine.trains.removeAll(keepingCapacity: true)
        for sighting in sightings {
            let found = PeriodicAdvertiser(
                address: sighting.advertiser.address, identifier: sighting.setIdentifier)
            guard let command = pendingSync, syncs.allSatisfy(\.machine.isEstablished),
                !syncs.contains(where: { $0.advertiser == found }),
                command.usesList
                    ? settings.periodicList.contains(found)
                    : found == PeriodicAdvertiser(address: command.advertiser, identifier: command.identifier)
            else { continue }
            var parameters = PeriodicSync.Parameters(train: sighting)
            parameters.skip = Int(command.skip)
            parameters.timeout = .milliseconds(10 * Int(command.timeout))
            parameters.clockAccuracy = configuration.clockAccuracy
            let handle = (1...UInt16.max).first { number in !syncs.contains { $0.handle == number } }!
            syncs.append(FollowedTrain(handle: handle, machine: PeriodicSync(parameters), command))
        }
        noteWhetherTrainsMatter()
    }

    // MARK: Following it

    func superviseSyncs(at now: Instant) {
        for sync in syncs where sync.machine.deadline <= now {
            sync.machine.wake(at: now, reports: &syncReports)
            dealWith(sync)
        }
    }

    func dealWith(_ sync: FollowedTrain) {
        let all = syncReports
        syncReports.removeAll(keepingCapacity: true)
        for report in all {
            switch report {
            case .established:
                pendingSync = nil
                noteWhetherTrainsMatter()
                announce(sync)
            case .failed:
                remove(sync)
                endPendingSync(.connectionFailedToBeEstablished)
            case .lost:
                remove(sync)
                emit(LEPeriodicAdvertisingSyncLost(sync: sync.handle))
            case .data(let data, let status, let info, let txPower, let rssi):
                guard sync.reports else { continue }
                let isKnown = sync.filtersDuplicates && info != nil && sync.reported == info
                if status != .incomplete { sync.reported = status == .complete ? info : nil }
                if !isKnown { emit(sync, data, status, txPower, rssi) }
            }
        }
    }

    private func announce(_ sync: FollowedTrain) {
        let train = sync.machine.parameters.train
        var event = LEPeriodicAdvertisingSyncEstablished()
        event.sync = sync.handle
        event.identifier = train.setIdentifier
        event.advertiser = train.advertiser.address
        event.isIdentity = train.advertiser.privateAddress != nil
        event.phy = PHY(rawValue: train.mode.phy.rawValue)
        event.interval = train.info.interval
        event.clockAccuracy = train.info.clockAccuracyClass
        emit(event)
    }

    /// As many events as the data needs.
    private func emit(
        _ sync: FollowedTrain, _ data: ArraySlice<UInt8>, _ status: PeriodicSync.DataStatus,
        _ txPower: Int8?,
        _ rssi: Int8
    ) {
        var event = LEPeriodicAdvertisingReport()
        event.sync = sync.handle
        event.txPower = txPower ?? 127
        event.rssi = rssi
        var rest = data
        while rest.count > 247 {
            event.data = Array(rest.prefix(247))
            event.dataStatus = .incomplete
            emit(event)
            rest = rest.dropFirst(247)
        }
        event.data = Array(rest)
        switch status {
        case .complete: event.dataStatus = .complete
        case .incomplete: event.dataStatus = .incomplete
        case .truncated: event.dataStatus = .truncated
        }
        emit(event)
    }
}
