import EventLoop
import HCI
import LinkLayer

// Periodic advertising: Core 6.0, Vol 4, Part E, 7.8.61 to 7.8.63.

/// What a host has said of a set's periodic advertising.
struct PeriodicSettings {
    var parameters = LESetPeriodicAdvertisingParameters()
    var data: [UInt8] = []
    /// Whether the last part of the data has come.
    var isDataWhole = true
    /// Whether the host wants it; it begins with the set's advertising and does not end with it.
    var isEnabled = false
    var includesInfo = false
    /// Counts the data: DID.
    var dataIdentifier: UInt16 = 0
}

extension VirtualController {
    /// `false` if the command is of another kind.
    func takePeriodicCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .leSetPeriodicAdvertisingParameters:
            run(LESetPeriodicAdvertisingParameters.self, parameters) { command throws(HCIErrorCode) in
                let set = try self.knownSet(command.set)
                guard command.intervalMin >= 6, command.intervalMin <= command.intervalMax,
                    Self.mayBePeriodic(set.parameters)
                else {
                    throw .invalidParameters
                }
                guard set.periodic?.isEnabled != true else { throw .commandDisallowed }
                var settings = set.periodic ?? PeriodicSettings()
                settings.parameters = command
                set.periodic = settings
            }
        case .leSetPeriodicAdvertisingData:
            run(LESetPeriodicAdvertisingData.self, parameters) { command throws(HCIErrorCode) in
                try self.setPeriodicData(command)
            }
        case .leSetPeriodicAdvertisingEnable:
            run(LESetPeriodicAdvertisingEnable.self, parameters) { command throws(HCIErrorCode) in
                try self.enablePeriodic(command, at: now)
            }
        default:
            return takeSyncCommand(opcode, parameters, at: now)
        }
        return true
    }

    /// Nobody may connect to it or ask it, and it says who it is.
    static func mayBePeriodic(_ parameters: LESetExtendedAdvertisingParameters) -> Bool {
        parameters.properties.isDisjoint(with: [.connectable, .scannable, .legacy, .anonymous])
    }

    private func setPeriodicData(_ command: LESetPeriodicAdvertisingData) throws(HCIErrorCode) {
        let set = try knownSet(command.set)
        guard var settings = set.periodic else { throw .commandDisallowed }
        switch command.operation {
        case .complete:
            settings.data = command.data
            settings.isDataWhole = true
        case .first, .intermediate, .last:
            guard !settings.isEnabled else { throw .commandDisallowed }
            // What follows a first part, and not what is whole already.
            guard command.operation == .first || !settings.isDataWhole else { throw .commandDisallowed }
            guard !command.data.isEmpty else { throw .invalidParameters }
            let whole = (command.operation == .first ? [] : settings.data) + command.data
            guard whole.count <= Self.longestAdvertisement else { throw .memoryCapacityExceeded }
            settings.data = whole
            settings.isDataWhole = command.operation == .last
        case .unchanged:
            guard settings.isEnabled, command.data.isEmpty, !settings.data.isEmpty else {
                throw .invalidParameters
            }
        }
        settings.dataIdentifier = (settings.dataIdentifier &+ 1) & 0x0FFF
        if settings.isEnabled {
            let parameters = try fittingParameters(of: set, settings)
            set.train?.machine.update { $0 = parameters }
        }
        set.periodic = settings
    }

    private func enablePeriodic(_ command: LESetPeriodicAdvertisingEnable, at now: Instant)
        throws(HCIErrorCode)
    {
        let set = try knownSet(command.set)
        guard command.isEnabled else {
            set.periodic?.isEnabled = false
            if case .train(let holding) = holder, holding === set {
                silenceRadio()
                holder = .nobody
            }
            set.train = nil
            set.machine?.setTrain(nil)
            return
        }
        guard var settings = set.periodic, settings.isDataWhole else { throw .commandDisallowed }
        guard Self.mayBePeriodic(set.parameters) else { throw .commandDisallowed }
        settings.includesInfo = command.includesInfo
        settings.isEnabled = true
        let parameters = try fittingParameters(of: set, settings)
        set.periodic = settings
        set.train?.machine.update { $0 = parameters }
        startTrain(of: set, at: now)
    }

    /// Begins the train of a set that advertises, if the host wants one.
    func startTrain(of set: AdvertisingSet, at now: Instant) {
        guard let settings = set.periodic, settings.isEnabled, set.machine != nil, set.train == nil else { return }
        set.train = Running(
            PeriodicTrain(trainParameters(of: set, settings), generator: generator.split(), at: now))
    }

    /// An event must end before the next one begins. 7.8.62, 7.8.63.
    private func fittingParameters(
        of set: AdvertisingSet, _ settings: PeriodicSettings
    ) throws(HCIErrorCode) -> PeriodicTrain.Parameters {
        let parameters = trainParameters(of: set, settings)
        guard parameters.eventTime <= AirTiming.slot * Int(parameters.interval) else { throw .packetTooLong }
        return parameters
    }

    private func trainParameters(of set: AdvertisingSet, _ settings: PeriodicSettings) -> PeriodicTrain.Parameters {
        var parameters = PeriodicTrain.Parameters()
        parameters.interval = settings.parameters.intervalMax
        parameters.mode = RadioMode(set.parameters.secondaryPHY)
        parameters.channels = UsedChannels(bits: self.settings.channels.rawValue)
        parameters.clockAccuracyClass = configuration.clockAccuracyClass
        if settings.includesInfo {
            parameters.info = AdvertisingDataInfo(
                dataIdentifier: settings.dataIdentifier, setIdentifier: set.parameters.identifier)
        }
        parameters.txPower = settings.parameters.includesTxPower ? configuration.transmitPower : nil
        parameters.data = settings.data
        return parameters
    }
}
