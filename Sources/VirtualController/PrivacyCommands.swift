import BluetoothCrypto
import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

// Private addresses: Core 6.0, Vol 4, Part E, 7.8.38 to 7.8.45 and 7.8.77.

extension VirtualController {
    /// `false` if the command is of another kind.
    func takePrivacyCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .leAddDeviceToResolvingList:
            run(LEAddDeviceToResolvingList.self, parameters) { command throws(HCIErrorCode) in
                try self.addToResolvingList(command)
            }
        case .leRemoveDeviceFromResolvingList:
            run(LERemoveDeviceFromResolvingList.self, parameters) { command throws(HCIErrorCode) in
                try self.checkResolvingListIsFree()
                self.settings.resolvingList.remove(at: try self.resolvingIndex(of: command.peer))
            }
        case .leClearResolvingList:
            run(LEClearResolvingList.self, parameters) { _ throws(HCIErrorCode) in
                try self.checkResolvingListIsFree()
                self.settings.resolvingList.removeAll()
            }
        case .leReadResolvingListSize:
            run(LEReadResolvingListSize.self, parameters) { _, answer in
                answer.size = UInt8(truncatingIfNeeded: self.configuration.resolvingListSize)
            }
        case .leReadPeerResolvableAddress:
            run(LEReadPeerResolvableAddress.self, parameters) { command, answer throws(HCIErrorCode) in
                let entry = self.settings.resolvingList.entries[try self.resolvingIndex(of: command.peer)]
                answer.address = entry.lastHeardAddress ?? answer.address
            }
        case .leReadLocalResolvableAddress:
            run(LEReadLocalResolvableAddress.self, parameters) { command, answer throws(HCIErrorCode) in
                let entry = self.settings.resolvingList.entries[try self.resolvingIndex(of: command.peer)]
                answer.address = entry.localAddress ?? answer.address
            }
        case .leSetAddressResolutionEnable:
            run(LESetAddressResolutionEnable.self, parameters) { command throws(HCIErrorCode) in
                guard !self.isActiveWithoutLink else { throw .commandDisallowed }
                self.settings.resolvingList.isEnabled = command.isEnabled
            }
        case .leSetResolvablePrivateAddressTimeout:
            run(LESetResolvablePrivateAddressTimeout.self, parameters) { command throws(HCIErrorCode) in
                guard (1...3600).contains(command.timeout) else { throw .invalidParameters }
                self.settings.privateAddressTimeout = .seconds(Int(command.timeout))
            }
        case .leSetPrivacyMode:
            run(LESetPrivacyMode.self, parameters) { command throws(HCIErrorCode) in
                try self.checkResolvingListIsFree()
                let index = try self.resolvingIndex(of: command.peer)
                self.settings.resolvingList.setDeviceMode(command.mode == .device, at: index)
            }
        default:
            return false
        }
        return true
    }

    private var isActiveWithoutLink: Bool { isAdvertising || scanner != nil || initiator != nil }

    /// It may not change while somebody goes by it. 7.8.38.
    private func checkResolvingListIsFree() throws(HCIErrorCode) {
        guard !settings.resolvingList.isEnabled || !isActiveWithoutLink else { throw .commandDisallowed }
    }

    private func resolvingIndex(of peer: DeviceAddress) throws(HCIErrorCode) -> Int {
        guard let index = settings.resolvingList.index(of: peer) else { throw .unknownConnection }
        return index
    }

    private func addToResolvingList(_ command: LEAddDeviceToResolvingList) throws(HCIErrorCode) {
        try checkResolvingListIsFree()
        guard settings.resolvingList.index(of: command.peer) == nil else { throw .invalidParameters }
        guard settings.resolvingList.entries.count < configuration.resolvingListSize else {
            throw .memoryCapacityExceeded
        }
        settings.resolvingList.append(
            ResolvingList.Entry(
                identity: command.peer, peerKey: command.peerKey == 0 ? nil : SecretKey(command.peerKey),
                localKey: command.localKey == 0 ? nil : SecretKey(command.localKey)))
        settings.resolvingList.renew(at: settings.resolvingList.entries.count - 1, using: &generator)
    }

    // MARK: Renewal, Vol 6, Part B, 6.1

    var showsPrivateAddress: Bool {
        sets.contains { $0.machine?.usesPrivateAddress == true } || scanner?.machine.usesPrivateAddress == true
            || initiator?.machine.usesPrivateAddress == true
    }

    var addressRenewal: Instant { settings.lastRenewal.advanced(by: settings.privateAddressTimeout) }

    /// Makes new private addresses when the old ones have been on the air for long enough.
    func renewAddressesIfDue(at now: Instant) {
        guard now >= addressRenewal else { return }
        settings.lastRenewal = now
        for index in settings.resolvingList.entries.indices {
            settings.resolvingList.renew(at: index, using: &generator)
        }
        scanner?.machine.resolvingList = settings.resolvingList
        initiator?.machine.resolvingList = settings.resolvingList
        for set in sets where set.machine?.usesPrivateAddress == true {
            guard let own = try? ownAddress(of: set) else { continue }
            let addresses = addresses(of: set, own: own)
            set.machine?.setAddresses(
                own: addresses.own, target: addresses.target, resolvingList: settings.resolvingList)
        }
    }
}
