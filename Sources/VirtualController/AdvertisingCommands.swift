import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

// Addresses and legacy advertising: Core 6.0, Vol 4, Part E, 7.8.4 to 7.8.9.

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeAdvertisingCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .leSetRandomAddress:
            run(LESetRandomAddress.self, parameters) { command throws(HCIErrorCode) in
                guard self.advertisingSet(nil)?.machine == nil, self.scanner == nil, self.initiator == nil else {
                    throw .commandDisallowed
                }
                self.settings.randomAddress = DeviceAddress(command.address.value, kind: .random)
            }
        case .leSetAdvertisingParameters:
            run(LESetAdvertisingParameters.self, parameters) { command throws(HCIErrorCode) in
                let set = try self.legacySet()
                guard set.machine == nil else { throw .commandDisallowed }
                try Self.check(command)
                set.parameters = command.extended
            }
        case .leReadAdvertisingTxPower:
            run(LEReadAdvertisingTxPower.self, parameters) { _, answer throws(HCIErrorCode) in
                try self.useLegacyCommands()
                answer.level = self.configuration.transmitPower
            }
        case .leSetAdvertisingData:
            run(LESetAdvertisingData.self, parameters) { command throws(HCIErrorCode) in
                let set = try self.legacySet()
                set.data = command.data
                set.machine?.setContent(of: set)
            }
        case .leSetScanResponseData:
            run(LESetScanResponseData.self, parameters) { command throws(HCIErrorCode) in
                let set = try self.legacySet()
                set.scanResponse = command.data
                set.machine?.setContent(of: set)
            }
        case .leSetAdvertisingEnable:
            run(LESetAdvertisingEnable.self, parameters) { command throws(HCIErrorCode) in
                let set = try self.legacySet()
                guard command.isEnabled else { return self.stop(set) }
                if set.machine == nil { try self.start(set, at: now) }
            }
        default:
            return false
        }
        return true
    }

    private func legacySet() throws(HCIErrorCode) -> AdvertisingSet {
        try useLegacyCommands()
        guard let set = advertisingSet(nil) else { throw .hardwareFailure }
        return set
    }

    private static func check(_ command: LESetAdvertisingParameters) throws(HCIErrorCode) {
        let range: ClosedRange<UInt16> = 0x0020...0x4000
        if command.type != .directedHighDuty {
            guard range.contains(command.intervalMin), range.contains(command.intervalMax),
                command.intervalMin <= command.intervalMax
            else { throw .invalidParameters }
        }
        guard (1...0b111).contains(command.channelMap) else { throw .invalidParameters }
    }

    /// The address that a command means by its own address type, where no private one takes its place.
    ///
    /// - Parameter random: the random address of whatever the command is about, if it has one.
    func ownAddress(_ type: OwnAddressType, random: DeviceAddress?) throws(HCIErrorCode) -> DeviceAddress {
        switch type {
        case .publicDevice, .resolvableOrPublic:
            return configuration.address
        case .randomDevice, .resolvableOrRandom:
            guard let address = random else { throw .invalidParameters }
            return address
        default:
            throw .invalidParameters
        }
    }
}

extension LESetAdvertisingParameters {
    /// The same in the terms of advertising sets: 7.8.53, table of legacy PDU types.
    var extended: LESetExtendedAdvertisingParameters {
        var extended = LESetExtendedAdvertisingParameters()
        extended.properties =
            switch type {
            case .connectable: [.legacy, .connectable, .scannable]
            case .directedHighDuty: [.legacy, .connectable, .directed, .highDuty]
            case .scannable: [.legacy, .scannable]
            case .nonconnectable: [.legacy]
            case .directedLowDuty: [.legacy, .connectable, .directed]
            }
        extended.intervalMin = UInt32(intervalMin)
        extended.intervalMax = UInt32(intervalMax)
        extended.channelMap = channelMap
        extended.ownAddressType = ownAddressType
        extended.peer = peer
        extended.filterPolicy = filterPolicy
        return extended
    }
}
