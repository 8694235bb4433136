import Backends
import HostInterface

/// A peripheral's link:
///
///     disconnected --connect--> connecting --linked--> connected --cancel--> disconnecting --> disconnected
///          ^                        |                      |
///          +----- failed, lost, cancelled, radio off ------+
extension CBPeripheral {
    /// Called with the lock held.
    var currentName: String? {
        // Looked for when it is asked for: many devices pass by.
        if systemName == nil, !hasLookedForName, let adapter = line.adapterAddress {
            hasLookedForName = true
            systemName = line.program.peers.name(of: peer, at: adapter)
        }
        return systemName ?? advertisedName
    }

    /// Takes the name that an advertisement carries; true if an already known name changes by it. Called with the
    /// lock held.
    func setAdvertisedName(_ name: String?) -> Bool {
        guard let name, name != advertisedName else { return false }
        // The first one changes none: what was read from the device itself wins.
        guard advertisedName != nil else {
            advertisedName = name
            return false
        }
        let old = currentName
        advertisedName = name
        return old != nil && old != currentName
    }

    // MARK: Connecting

    func connect(_ options: ConnectOptions) {
        line.lock.withLock {
            manager?.recent.forget(peer)
            keepMeeting()
            switch linkState {
            case .connecting: self.options = options
            case .connected:
                self.options = options
                later { peripheral, manager in
                    if peripheral.state == .connected {
                        manager.delegate?.centralManager(manager, didConnect: peripheral)
                    }
                }
            case .disconnecting: nextConnection = options
            case .disconnected: begin(options)
            }
        }
    }

    private func begin(_ options: ConnectOptions) {
        self.options = options
        linkState = .connecting
        linkNumber += 1
        let number = linkNumber
        guard options.startDelay > .zero else { return attempt(number) }
        line.place.schedule(after: options.startDelay) { [weak self] in
            guard let self else { return }
            line.lock.withLock {
                if self.linkNumber == number && self.linkState == .connecting { self.attempt(number) }
            }
        }
    }

    func attempt(_ number: Int) {
        line.ask(.connect(peer)) { [weak self] answer in self?.connectAnswered(number, answer) }
    }

    private func connectAnswered(_ number: Int, _ answer: HostLine.Answer) {
        let isCurrent = line.lock.withLock {
            // After a cancel it is the cancel's answer that counts.
            guard linkNumber == number, linkState == .connecting else { return false }
            if case .success(.connected(let mtu)) = answer {
                guard restoredLink == nil else {
                    confirmRestored(number, mtu: mtu)
                    return false
                }
                linkState = .connected
                self.mtu = mtu
                writes = SendQueue()
            } else {
                linkGone()
                owesEnd = answer.isFailureToTell
            }
            return true
        }
        guard isCurrent, let manager else { return }
        switch answer {
        case .success: manager.delegate?.centralManager(manager, didConnect: self)
        case .failure(.notPowered), .failure(.sessionLost): break  // The state's update tells it.
        case .failure(let failure):
            manager.delegate?.centralManager(manager, didFailToConnect: self, error: failure.error)
            line.lock.withLock { owesEnd = false }
        }
    }

    // MARK: Disconnecting

    func cancelConnection() {
        line.lock.withLock {
            nextConnection = nil
            options.reconnects = false
            guard linkState == .connecting || linkState == .connected else { return }
            linkState = .disconnecting
            let number = linkNumber
            // The host answers also if it has not heard of the attempt, as while a start is delayed.
            line.ask(.disconnect(peer)) { [weak self] answer in self?.cancelAnswered(number, answer) }
        }
    }

    private func cancelAnswered(_ number: Int, _ answer: HostLine.Answer) {
        let isCurrent = line.lock.withLock { linkNumber == number && linkState == .disconnecting }
        guard isCurrent else { return }
        if case .failure(.notPowered) = answer { return radioGone() }
        ended(error: nil)
    }

    /// The link ended without this app's asking for it.
    func linkLost(_ failure: HostFailure) {
        if line.lock.withLock({ retriesRestored() }) { return }
        switch line.lock.withLock({ linkState }) {
        case .connected: ended(error: failure.error)
        case .disconnecting: ended(error: nil)
        case .connecting, .disconnected: break
        }
    }

    private func ended(error: (any Error)?) {
        let isReconnecting = line.lock.withLock {
            linkGone()
            owesEnd = error != nil
            let reconnects = error != nil && options.reconnects
            if reconnects { begin(ConnectOptions(startDelay: .zero, reconnects: true)) }
            manager?.currentDisconnection = DisconnectionDetail(
                timestamp: line.place.secondsSince2001, isReconnecting: reconnects)
            return reconnects
        }
        if let manager { manager.delegate?.centralManager(manager, didDisconnectPeripheral: self, error: error) }
        line.lock.withLock {
            owesEnd = false
            guard !isReconnecting else { return }
            guard linkState == .disconnected, let next = nextConnection else { return }
            nextConnection = nil
            begin(next)
        }
    }

    /// The radio is off: the link has ended, and a connection that was to follow it will not.
    func radioGone() {
        line.lock.withLock {
            nextConnection = nil
            linkGone()
        }
    }

    /// Forgets the link, and with it what was discovered on it. Called with the lock held.
    func linkGone() {
        linkState = .disconnected
        linkNumber += 1
        mtu = 0
        writes = SendQueue()
        isAwaitingRadio = false
        restoredLink = nil
        owesEnd = false
        forgetAttributes()
    }

    /// Forgets what was discovered. Called with the lock held.
    func forgetAttributes() {
        for characteristic in knownCharacteristics.values { characteristic.isSubscribed = false }
        foundServices = nil
        knownServices.removeAll()
        knownCharacteristics.removeAll()
    }

    func mtuChanged(_ mtu: Int) {
        line.lock.withLock { if linkState == .connected || restoredLink != nil { self.mtu = mtu } }
    }

    // MARK: Asking

    /// Whether there is a link; a command without one is reported as a misuse.
    func isConnected() -> Bool {
        if line.lock.withLock({ linkState == .connected }) { return true }
        line.misuse("\(self) can only accept commands while in the connected state")
        return false
    }

    /// Asks the host on this link. `then` is called with the answer, unless the link has ended meanwhile: then
    /// nothing is answered.
    func ask(_ request: HostRequest, then: @escaping (CBPeripheral, HostLine.Answer) -> Void) {
        guard isConnected() else { return }
        line.lock.withLock {
            let number = linkNumber
            line.ask(request) { [weak self] answer in
                guard let self, line.lock.withLock({ self.linkNumber == number && self.linkState == .connected })
                else { return }
                if case .failure(let failure) = answer, failure.endsLink { return }
                then(self, answer)
            }
        }
    }

    /// Calls back later, if the link is still there then.
    func answer(_ call: @escaping @Sendable (CBPeripheral) -> Void) {
        let number = line.lock.withLock { linkNumber }
        later { peripheral, _ in
            if peripheral.line.lock.withLock({ peripheral.linkNumber == number }) { call(peripheral) }
        }
    }

    func answerUnsupported(_ call: @escaping @Sendable (CBPeripheral) -> Void) {
        if isConnected() { answer(call) }
    }

    private func later(_ call: @escaping @Sendable (CBPeripheral, CBCentralManager) -> Void) {
        line.later { [weak self] in
            if let self, let manager { call(self, manager) }
        }
    }

}

extension HostLine.Answer {
    /// Whether it is a failure of which the app is told by itself, and not by the radio's state.
    fileprivate var isFailureToTell: Bool {
        switch self {
        case .success, .failure(.notPowered), .failure(.sessionLost): false
        case .failure: true
        }
    }
}

extension Result where Failure == HostFailure {
    /// Apple's error for a failure; `nil` for a success.
    var error: (any Error)? {
        switch self {
        case .success: nil
        case .failure(let failure): failure.error
        }
    }
}
