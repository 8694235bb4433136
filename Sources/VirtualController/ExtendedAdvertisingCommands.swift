import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

// Advertising sets: Core 6.0, Vol 4, Part E, 7.8.52 to 7.8.60.

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeExtendedAdvertisingCommand(
        _ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant
    ) -> Bool {
        switch opcode {
        case .leSetAdvertisingSetRandomAddress:
            run(LESetAdvertisingSetRandomAddress.self, parameters) { command throws(HCIErrorCode) in
                let set = try self.knownSet(command.set)
                guard set.machine == nil || !set.parameters.properties.contains(.connectable) else {
                    throw .commandDisallowed
                }
                set.randomAddress = DeviceAddress(command.address.value, kind: .random)
            }
        case .leSetExtendedAdvertisingParameters:
            run(LESetExtendedAdvertisingParameters.self, parameters) { command, answer throws(HCIErrorCode) in
                try self.useExtendedCommands()
                try self.setParameters(command)
                answer.txPower = self.configuration.transmitPower
            }
        case .leSetExtendedAdvertisingData:
            run(LESetExtendedAdvertisingData.self, parameters) { command throws(HCIErrorCode) in
                try self.setData(of: command.set, \.data, command.operation, command.data)
            }
        case .leSetExtendedScanResponseData:
            run(LESetExtendedScanResponseData.self, parameters) { command throws(HCIErrorCode) in
                try self.setData(of: command.set, \.scanResponse, command.operation, command.data)
            }
        case .leSetExtendedAdvertisingEnable:
            run(LESetExtendedAdvertisingEnable.self, parameters) { command throws(HCIErrorCode) in
                try self.useExtendedCommands()
                try self.enable(command, at: now)
            }
        case .leReadMaximumAdvertisingDataLength:
            run(LEReadMaximumAdvertisingDataLength.self, parameters) { _, answer in
                answer.length = UInt16(Self.longestAdvertisement)
            }
        case .leReadNumberOfAdvertisingSets:
            run(LEReadNumberOfAdvertisingSets.self, parameters) { _, answer in
                answer.count = UInt8(truncatingIfNeeded: self.configuration.maxAdvertisingSets)
            }
        case .leRemoveAdvertisingSet:
            run(LERemoveAdvertisingSet.self, parameters) { command throws(HCIErrorCode) in
                let set = try self.knownSet(command.set)
                guard set.machine == nil, set.periodic?.isEnabled != true else { throw .commandDisallowed }
                self.sets.removeAll { $0 === set }
            }
        case .leClearAdvertisingSets:
            run(LEClearAdvertisingSets.self, parameters) { _ throws(HCIErrorCode) in
                guard !self.isAdvertising, !self.sets.contains(where: { $0.periodic?.isEnabled == true }) else {
                    throw .commandDisallowed
                }
                self.sets.removeAll()
            }
        default:
            return false
        }
        return true
    }

    /// The most that the specification knows. 7.8.57.
    static let longestAdvertisement = 1650

    func knownSet(_ handle: UInt8) throws(HCIErrorCode) -> AdvertisingSet {
        guard let set = advertisingSet(handle) else { throw .unknownAdvertisingIdentifier }
        return set
    }

    private func setParameters(_ command: LESetExtendedAdvertisingParameters) throws(HCIErrorCode) {
        try Self.check(command)
        let known = advertisingSet(command.set)
        guard known?.machine == nil else { throw .commandDisallowed }
        guard known != nil || sets.count < configuration.maxAdvertisingSets else { throw .memoryCapacityExceeded }
        guard known?.periodic == nil || Self.mayBePeriodic(command) else { throw .invalidParameters }
        let set = known ?? AdvertisingSet(handle: command.set)
        try Self.check(set.data.count, set.scanResponse.count, command.properties)
        set.parameters = command
        if known == nil { sets.append(set) }
    }

    private static func check(_ command: LESetExtendedAdvertisingParameters) throws(HCIErrorCode) {
        let properties = command.properties
        if properties.contains(.legacy) {
            let known: [UInt16] = [0b10011, 0b10101, 0b11101, 0b10010, 0b10000]
            guard known.contains(properties.rawValue & 0b11111), !properties.contains(.anonymous),
                !properties.contains(.includesTxPower)
            else { throw .invalidParameters }
            guard command.primaryPHY == .le1M else { throw .invalidParameters }
        } else {
            // There are no extended PDUs that are both, and none of high duty cycle.
            guard !properties.isSuperset(of: [.connectable, .scannable]), !properties.contains(.highDuty),
                !properties.contains(.anonymous) || properties.isDisjoint(with: [.connectable, .scannable])
            else { throw .invalidParameters }
        }
        guard
            properties.contains(.highDuty) || command.intervalMin >= 0x20 && command.intervalMin <= command.intervalMax
        else { throw .invalidParameters }
        guard (1...0b111).contains(command.channelMap) else { throw .invalidParameters }
        guard [.le1M, .leCoded].contains(command.primaryPHY),
            [.le1M, .le2M, .leCoded].contains(command.secondaryPHY)
        else { throw .unsupportedFeature }
    }

    /// Whether the data fits advertising of this kind. 7.8.54, 7.8.55.
    private static func check(
        _ data: Int, _ scanResponse: Int, _ properties: LESetExtendedAdvertisingParameters.Properties
    ) throws(HCIErrorCode) {
        if properties.contains(.legacy) {
            guard data <= 31, scanResponse <= 31 else { throw .invalidParameters }
        } else if properties.contains(.connectable) {
            // One packet has to hold it: AdvA, TargetA, ADI and TxPower take 16 of 254 octets.
            guard data <= 238 else { throw .packetTooLong }
        }
    }

    private func setData(
        of handle: UInt8, _ place: ReferenceWritableKeyPath<AdvertisingSet, [UInt8]>, _ operation: DataOperation,
        _ data: [UInt8]
    ) throws(HCIErrorCode) {
        try useExtendedCommands()
        let set = try knownSet(handle)
        let isData = place == \AdvertisingSet.data
        let isWhole: ReferenceWritableKeyPath<AdvertisingSet, Bool> = isData ? \.isDataWhole : \.isScanResponseWhole
        switch operation {
        case .complete:
            try Self.check(isData ? data.count : 0, isData ? 0 : data.count, set.parameters.properties)
            set[keyPath: place] = data
            set[keyPath: isWhole] = true
        case .first, .intermediate, .last:
            // In parts only while it does not advertise, and not by legacy packets, which hold too little.
            guard set.machine == nil else { throw .commandDisallowed }
            // What follows a first part, and not what is whole already.
            guard operation == .first || !set[keyPath: isWhole] else { throw .commandDisallowed }
            guard !data.isEmpty, !set.parameters.properties.contains(.legacy) else { throw .invalidParameters }
            let whole = (operation == .first ? [] : set[keyPath: place]) + data
            guard whole.count <= Self.longestAdvertisement else { throw .memoryCapacityExceeded }
            try Self.check(isData ? whole.count : 0, isData ? 0 : whole.count, set.parameters.properties)
            set[keyPath: place] = whole
            set[keyPath: isWhole] = operation == .last
        case .unchanged:
            guard isData, set.machine != nil, data.isEmpty, !set.data.isEmpty else { throw .invalidParameters }
        }
        // By it scanners tell that the data is new. Vol 6, Part B, 4.4.2.11.
        set.dataIdentifier = (set.dataIdentifier &+ 1) & 0x0FFF
        set.machine?.setContent(of: set)
    }

    private func enable(_ command: LESetExtendedAdvertisingEnable, at now: Instant) throws(HCIErrorCode) {
        guard !command.entries.isEmpty || !command.isEnabled else { throw .invalidParameters }
        guard Set(command.entries.map(\.set)).count == command.entries.count else { throw .invalidParameters }
        var chosen: [(set: AdvertisingSet, entry: LESetExtendedAdvertisingEnable.Entry)] = []
        for entry in command.entries { chosen.append((try knownSet(entry.set), entry)) }
        guard command.isEnabled else {
            for set in command.entries.isEmpty ? sets : chosen.map(\.set) { stop(set) }
            return
        }
        for (set, entry) in chosen {
            let properties = set.parameters.properties
            guard set.isDataWhole, set.isScanResponseWhole else { throw .commandDisallowed }
            // Nothing to answer with, or a time that high duty cycle advertising must not have. 7.8.56.
            guard properties.contains(.legacy) || !properties.contains(.scannable) || !set.scanResponse.isEmpty else {
                throw .commandDisallowed
            }
            guard !properties.contains(.highDuty) || (1...128).contains(entry.duration) else {
                throw .invalidParameters
            }
        }
        for (set, entry) in chosen {
            stop(set)
            try start(set, duration: entry.duration, maxEvents: entry.maxEvents, at: now)
        }
    }

    // MARK: Which commands

    /// A host that has used extended commands may not use the legacy ones, and the other way round. 3.1.1.
    func useExtendedCommands() throws(HCIErrorCode) {
        guard settings.usesExtendedCommands ?? true else { throw .commandDisallowed }
        settings.usesExtendedCommands = true
    }

    func useLegacyCommands() throws(HCIErrorCode) {
        guard settings.usesExtendedCommands != true else { throw .commandDisallowed }
        settings.usesExtendedCommands = false
    }
}
