import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

// Addresses and advertising: Core 6.0, Vol 4, Part E, 7.8.4 to 7.8.9.

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeAdvertisingCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .leSetRandomAddress:
            run(LESetRandomAddress.self, parameters) { command throws(HCIErrorCode) in
                guard self.advertiser == nil, self.scanner == nil, self.initiator == nil else {
                    throw .commandDisallowed
                }
                self.settings.randomAddress = DeviceAddress(command.address.value, kind: .random)
            }
        case .leSetAdvertisingParameters:
            run(LESetAdvertisingParameters.self, parameters) { command throws(HCIErrorCode) in
                guard self.advertiser == nil else { throw .commandDisallowed }
                try Self.check(command)
                self.settings.advertising = command
            }
        case .leReadAdvertisingTxPower:
            run(LEReadAdvertisingTxPower.self, parameters) { _, answer in
                answer.level = self.configuration.transmitPower
            }
        case .leSetAdvertisingData:
            run(LESetAdvertisingData.self, parameters) { command in
                self.settings.advertisingData = command.data
                self.advertiser?.setData(command.data)
            }
        case .leSetScanResponseData:
            run(LESetScanResponseData.self, parameters) { command in
                self.settings.scanResponseData = command.data
                self.advertiser?.setScanResponse(command.data)
            }
        case .leSetAdvertisingEnable:
            run(LESetAdvertisingEnable.self, parameters) { command throws(HCIErrorCode) in
                if command.isEnabled {
                    try self.startAdvertising(at: now)
                } else {
                    self.stopAdvertising()
                }
            }
        default:
            return false
        }
        return true
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
    func ownAddress(_ type: OwnAddressType) throws(HCIErrorCode) -> DeviceAddress {
        switch type {
        case .publicDevice, .resolvableOrPublic:
            return configuration.address
        case .randomDevice, .resolvableOrRandom:
            guard let address = settings.randomAddress else { throw .invalidParameters }
            return address
        default:
            throw .invalidParameters
        }
    }

    private func startAdvertising(at now: Instant) throws(HCIErrorCode) {
        guard advertiser == nil else { return }
        let command = settings.advertising
        var parameters = Advertiser.Parameters()
        parameters.address = try ownAddress(command.ownAddressType)
        parameters.resolvingList = settings.resolvingList
        if command.ownAddressType.isPrivate {
            parameters.usesPrivateAddress = true
            renewAddressesIfDue(at: now)
            parameters.resolvingList = settings.resolvingList
            parameters.address = privateAdvertisingAddresses(parameters.address).own
        }
        parameters.interval = AirTiming.halfSlot * Int(command.intervalMax)
        parameters.channels = (37...39).filter { command.channelMap >> ($0 - 37) & 1 == 1 }
        parameters.data = settings.advertisingData
        parameters.scanResponse = settings.scanResponseData
        switch command.type {
        case .connectable: parameters.kind = .connectable
        case .scannable: parameters.kind = .scannable
        case .nonconnectable: parameters.kind = .nonconnectable
        case .directedHighDuty, .directedLowDuty:
            parameters.kind = .directed
            parameters.peer = command.peer
            parameters.target =
                parameters.usesPrivateAddress
                ? privateAdvertisingAddresses(parameters.address).target : command.peer
            parameters.isHighDuty = command.type == .directedHighDuty
        }
        if command.filterPolicy & 0b01 != 0 { parameters.scannersAllowed = settings.acceptList }
        if command.filterPolicy & 0b10 != 0 { parameters.initiatorsAllowed = settings.acceptList }
        guard
            parameters.kind == .nonconnectable || parameters.kind == .scannable || links.count < configuration.maxLinks
        else { throw .connectionLimitExceeded }
        advertiser = Advertiser(parameters, generator: generator.split(), at: now)
    }

    private func stopAdvertising() {
        if case .advertiser = holder {
            silenceRadio()
            holder = .nobody
        }
        advertiser = nil
    }
}
