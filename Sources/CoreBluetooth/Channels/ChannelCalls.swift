import HostInterface

/// The channels of a manager that are open. They belong to the app: it holds the channels.
// `@unchecked`: the manager's lock guards the variables.
final class ChannelRegistry: @unchecked Sendable {
    private struct Weak {
        weak var core: ChannelCore?
    }

    private let lock: StateLock
    private var cores: [ChannelNumber: Weak] = [:]

    init(lock: StateLock) { self.lock = lock }

    func add(_ core: ChannelCore) { lock.withLock { cores[core.number] = Weak(core: core) } }
    func remove(_ number: ChannelNumber) { lock.withLock { cores[number] = nil } }

    func received(_ octets: [UInt8], on number: ChannelNumber) {
        lock.withLock { cores[number]?.core }?.received(octets)
    }

    func closed(_ number: ChannelNumber, _ failure: HostFailure) {
        let core = lock.withLock { cores.removeValue(forKey: number)?.core }
        core?.ended(failure == .channelClosed ? nil : failure.error)
    }

    /// The manager is gone, and with it its channels.
    func endAll() {
        let all = lock.withLock {
            defer { cores = [:] }
            // In the order of their numbers, for a dictionary has none.
            return cores.sorted { $0.key < $1.key }.compactMap(\.value.core)
        }
        for core in all { core.ended(CBError(.operationCancelled)) }
    }
}

extension CBPeripheral {
    /// - Parameter isEnhanced: by the newer kind of request, which Apple's API does not offer.
    package func openChannel(_ psm: CBL2CAPPSM, isEnhanced: Bool = false) {
        ask(.openChannel(peer, psm: psm, isEnhanced: isEnhanced)) { peripheral, answer in
            var channel: CBL2CAPChannel?
            if case .success(.channel(let open)) = answer {
                channel = CBL2CAPChannel(open, to: peripheral, line: peripheral.line)
            }
            peripheral.delegate?.peripheral(peripheral, didOpen: channel, error: answer.error)
        }
    }
}

extension CBPeripheralManager {
    func publishChannel(requiresEncryption: Bool) {
        line.ask(.publishChannel(requiresEncryption: requiresEncryption)) { [weak self] answer in
            guard let self else { return }
            var psm: CBL2CAPPSM = 0
            if case .success(.channelPublished(let published)) = answer {
                psm = published
                line.lock.withLock { _ = self.publishedChannels.insert(psm) }
            }
            delegate?.peripheralManager(self, didPublishL2CAPChannel: psm, error: answer.error)
        }
    }

    func unpublishChannel(_ psm: CBL2CAPPSM) {
        line.ask(.unpublishChannel(psm: psm)) { [weak self] answer in
            guard let self else { return }
            if case .success = answer { line.lock.withLock { _ = self.publishedChannels.remove(psm) } }
            delegate?.peripheralManager(self, didUnpublishL2CAPChannel: psm, error: answer.error)
        }
    }

    /// A central has opened a channel that this manager has published.
    func channelOpened(_ open: OpenChannel) {
        let other = line.lock.withLock { central(open.peer, mtu: open.mtu) }
        guard let other else { return }
        let channel = CBL2CAPChannel(open, to: other, line: line)
        delegate?.peripheralManager(self, didOpen: channel, error: nil)
    }
}
