import Backends
import HostInterface

/// What a host's events do to a central manager.
extension CBCentralManager {
    func handle(_ event: HostEvent) {
        switch event {
        case .state(let state): adapterChanged(state)
        case .discovered(let discovery): discovered(discovery)
        case .disconnected(let peer, let failure): livePeripheral(peer)?.linkLost(failure)
        case .mtuChanged(let peer, let mtu): livePeripheral(peer)?.mtuChanged(mtu)
        case .notified(let peer, let handle, let value): livePeripheral(peer)?.notified(handle, value)
        case .nameChanged(let peer, let name): nameChanged(peer, name)
        case .servicesChanged(let peer, let handles): livePeripheral(peer)?.servicesChanged(handles)
        case .peerKnown(let knowledge): peerKnown(knowledge)
        case .answer: break  // The line takes it to whoever asked.
        case .channelReceived(let number, let octets): line.channels.received(octets, on: number)
        case .channelClosed(let number, let failure): line.channels.closed(number, failure)
        case .readRequested, .writeRequested, .subscribed, .unsubscribed, .centralMTUChanged, .channelOpened:
            break  // This session publishes nothing.
        case .periodicReport(let peer, _), .synchronizationLost(let peer): line.train(event, of: peer)
        case .security(let event): line.security(event)
        }
    }

    private func adapterChanged(_ state: AdapterState) {
        line.lock.withLock {
            line.setAdapter(state)
            if line.state == .poweredOn {
                for peer in memory.knowledge.keys.sorted() { learn(peer) }
                // A scan that was running when the radio went off goes on.
                if let wantedScan { line.ask(.startScan(wantedScan)) }
                resumeRestored()
            } else if !line.isRestoring {
                recent.forgetAll()
                for peripheral in peripherals.values { peripheral.object?.radioGone() }
                if line.state.rawValue < CBManagerState.poweredOff.rawValue { peripherals.removeAll() }
            }
        }
        delegate?.centralManagerDidUpdateState(self)
    }

    func scanStarted(_ filter: ScanFilter, _ answer: HostLine.Answer) {
        guard case .failure(let failure) = answer, !failure.endsLink else { return }
        line.lock.withLock { if wantedScan == filter { wantedScan = nil } }
        line.note("\(self) could not scan: \(failure)")
    }

    private func discovered(_ discovery: Discovery) {
        typealias Heard = (CBPeripheral, [String: Any], isRenamed: Bool)
        let heard = line.lock.withLock { () -> Heard? in
            guard scans else { return nil }
            if let known = recent.entry(saying: discovery) { return (known.peripheral, known.advertisement, false) }
            let found = peripheral(for: discovery.peer)
            let advertisement = advertisementDictionary(discovery)
            if found.linkState == .disconnected { recent.note(found, discovery, advertisement) }
            let name = advertisement[CBAdvertisementDataLocalNameKey] as? String
            return (found, advertisement, found.setAdvertisedName(name))
        }
        guard let (found, advertisement, isRenamed) = heard else { return }
        if isRenamed { found.delegate?.peripheralDidUpdateName(found) }
        delegate?.centralManager(
            self, didDiscover: found, advertisementData: advertisement, rssi: RecentDevices.number(discovery.rssi))
    }

    private func nameChanged(_ peer: PeerID, _ name: String) {
        let renamed: CBPeripheral? = line.lock.withLock {
            var known = memory.knowledge[peer] ?? PeerKnowledge(peer: peer)
            known.name = name
            memory.remember(known, isInUse: isInUse)
            let peripheral = peripherals[peer]?.object
            let old = peripheral?.currentName
            if let adapter = line.adapterAddress { line.program.peers.named(peer, name, at: adapter) }
            guard let peripheral else { return nil }
            peripheral.systemName = name
            return old == name ? nil : peripheral
        }
        if let renamed { renamed.delegate?.peripheralDidUpdateName(renamed) }
    }

    private func peerKnown(_ new: PeerKnowledge) {
        let event: (CBConnectionEvent, CBPeripheral)? = line.lock.withLock {
            let old = memory.remember(new, isInUse: isInUse)
            guard line.state == .poweredOn else { return nil }
            let identifier = learn(new.peer)
            guard new.isConnected != (old?.isConnected ?? false), let connectionEvents,
                connectionEvents.admits(identifier, services: new.services + (old?.services ?? []))
            else { return nil }
            return (new.isConnected ? .peerConnected : .peerDisconnected, peripheral(for: new.peer))
        }
        if let name = new.name { nameChanged(new.peer, name) }
        guard let (kind, peripheral) = event else { return }
        delegate?.centralManager(self, connectionEventDidOccur: kind, for: peripheral)
    }
}
