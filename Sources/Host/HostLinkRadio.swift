import ByteCodec
import EventLoop
import GAP
import GATT
import HCI
import HostInterface

/// What the links are on the air: their packets' length, their PHYs, their timing.
extension Host {
    /// Tells a controller that is ready what links to come shall be like, as far as it can do it.
    func setLinkDefaults(at now: Instant) {
        guard let capabilities else { return }
        let octets = min(capabilities.maximumDataLength?.txOctets ?? 27, configuration.maximumDataOctets)
        if let maximum = capabilities.maximumDataLength, octets > 27,
            capabilities.commands.contains(.leWriteSuggestedDefaultDataLength)
        {
            let command = LEWriteSuggestedDefaultDataLength(txOctets: octets, txTime: maximum.txTime)
            submit(command.packet, for: .nobody, at: now)
        }
        // What this side agrees to if a peer asks: all that the controller has.
        guard capabilities.commands.contains(.leSetDefaultPHY) else { return }
        var command = LESetDefaultPHY()
        command.noPreference = 0
        command.tx = .le1M
        if capabilities.features.contains(.phy2M), configuration.prefers2M { command.tx.insert(.le2M) }
        if capabilities.features.contains(.codedPHY) { command.tx.insert(.leCoded) }
        command.rx = command.tx
        submit(command.packet, for: .nobody, at: now)
    }

    func makeTuner(for event: LEConnectionComplete) -> LinkTuner {
        var tuning = LinkTuner.Configuration()
        if let capabilities { tuning.capabilities = capabilities }
        tuning.maximumOctets = configuration.maximumDataOctets
        tuning.prefers2M = configuration.prefers2M
        tuning.readsPHY = usesExtendedCommands
        return LinkTuner(handle: event.handle, role: event.role, configuration: tuning)
    }

    func tune(_ input: LinkTuner.Input, onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle) else { return }
        perform(links[index].tuner.handle(input, at: now), onLink: handle, at: now)
    }

    func wakeTuner(onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle) else { return }
        perform(links[index].tuner.wake(at: now), onLink: handle, at: now)
    }

    private func perform(_ effects: [LinkTuner.Effect], onLink handle: UInt16, at now: Instant) {
        for case .command(let packet) in effects { submit(packet, for: .tuner(link: handle), at: now) }
    }

    func timingChanged(_ event: LEConnectionUpdateComplete) {
        guard event.status == .success, let index = linkIndex(handle: event.handle) else { return }
        // Subrates end with the interval that they are of: Core 6.0, Vol 6, Part B, 5.1.1.
        if event.interval != links[index].timing.interval {
            (links[index].subrating.factor, links[index].subrating.continuation) = (1, 0)
        }
        links[index].timing = LinkTiming(
            interval: event.interval, latency: event.latency, supervisionTimeout: event.supervisionTimeout)
    }

    // MARK: Questions about it

    func readLink(_ peer: PeerID, for key: RequestKey, at now: Instant) {
        guard let index = linkIndex(of: peer) else { return fail(key, .notConnected) }
        guard capabilities?.commands.contains(.leReadPHY) == true else {
            return finish(key, .success(.link(linkStatus(index))))
        }
        submit(LEReadPHY(handle: links[index].handle).packet, for: .linkStatus(key, peer), at: now)
    }

    /// The controller has told the PHY, or has not.
    func phyRead(_ outcome: CommandOutcome, of peer: PeerID, for key: RequestKey) {
        guard let index = linkIndex(of: peer) else { return fail(key, .notConnected) }
        var status = linkStatus(index)
        if case .completed(let octets) = outcome, let answer = try? LEReadPHY.ReturnParameters(octets: octets) {
            status.transmitPHY = answer.tx.rawValue
            status.receivePHY = answer.rx.rawValue
        }
        finish(key, .success(.link(status)))
    }

    func linkStatus(_ index: Int) -> LinkStatus {
        let link = links[index]
        var status = LinkStatus(
            security: link.security.level, isBonded: bondIndex(link.security.identity) != nil, timing: link.timing)
        status.subrateFactor = Int(link.subrating.factor)
        status.continuation = Int(link.subrating.continuation)
        status.mtu = link.attributes.mtu
        status.attributeBearers = 1 + link.attributes.enhancedBearers.count
        status.transmitOctets = Int(link.tuner.lengths.txOctets)
        status.receiveOctets = Int(link.tuner.lengths.rxOctets)
        return status
    }
}
