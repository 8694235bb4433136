import Backends
import HostInterface

/// A manager does not keep the centrals alive that the app does not hold, but for those that subscribe.
struct WeakCentral {
    weak var object: CBCentral?
}

/// What a host's events do to a peripheral manager.
extension CBPeripheralManager {
    func handle(_ event: HostEvent) {
        switch event {
        case .state(let state): adapterChanged(state)
        case .readRequested(let request): readRequested(request)
        case .writeRequested(let request): writeRequested(request)
        case .subscribed(let peer, let handle, let mtu): subscribed(peer, handle, mtu)
        case .unsubscribed(let peer, let handle): unsubscribed(peer, handle)
        case .centralMTUChanged(let peer, let mtu):
            line.lock.withLock { centrals[peer]?.object }?.update(mtu: mtu)
        case .channelOpened(let channel): channelOpened(channel)
        case .channelReceived(let number, let octets): line.channels.received(octets, on: number)
        case .channelClosed(let number, let failure): line.channels.closed(number, failure)
        case .answer: break  // The line takes it to whoever asked.
        case .discovered, .disconnected, .mtuChanged, .notified, .nameChanged, .servicesChanged, .peerKnown,
            .periodicReport, .synchronizationLost:
            break  // This session uses no one's services.
        case .security(let event): line.security(event)
        }
    }

    private func adapterChanged(_ state: AdapterState) {
        line.lock.withLock {
            line.setAdapter(state)
            if line.state == .poweredOn {
                if mustClearDatabase { line.ask(.removeAllServices) }
                mustClearDatabase = false
                for psm in lostChannels.sorted() { line.ask(.unpublishChannel(psm: psm)) }
                lostChannels = []
                resumeRestored()
            } else {
                owesReadiness = false
                for characteristic in characteristics.values {
                    characteristic.lock.withLock { characteristic.subscribers = [] }
                }
                // Powered off, advertising pauses; below that it has stopped.
                if line.state.rawValue < CBManagerState.poweredOff.rawValue, !line.isRestoring {
                    advertising = .off
                    mustClearDatabase =
                        mustClearDatabase || !localServices.isEmpty || !withdrawnWhileAdding.isEmpty
                    forgetServices()
                    lostChannels.formUnion(publishedChannels)
                    publishedChannels = []
                }
            }
        }
        delegate?.peripheralManagerDidUpdateState(self)
        tellOfLostSubscribers()
    }

    /// A manager that goes takes its services with it, and no callback tells.
    func warnOfEnd() {
        line.warnIfNeverHeard(self)
        let subscribed = characteristics.values.count { !$0.subscribers.isEmpty }
        guard advertising != .off || subscribed > 0 else { return }
        line.warn(
            "\(self) is being deallocated while it \(advertising == .off ? "has subscribers" : "advertises"); its "
                + "services go. Did you forget to keep a reference to the manager?")
    }

    /// The one object that stands for `peer` in this manager. Called with the lock held.
    func central(_ peer: PeerID, mtu: Int) -> CBCentral? {
        if let known = centrals[peer]?.object {
            known.update(mtu: mtu)
            return known
        }
        guard let adapter = line.adapterAddress else { return nil }
        let central = CBCentral(
            peer: peer, identifier: UUID(peer: peer, seenBy: adapter), mtu: mtu, lock: line.lock)
        centrals[peer] = WeakCentral(object: central)
        return central
    }

    // MARK: Subscriptions

    private func subscribed(_ peer: PeerID, _ handle: AttributeHandle, _ mtu: Int) {
        let pair: (CBCentral, CBMutableCharacteristic)? = line.lock.withLock {
            guard let characteristic = characteristics[handle], let central = central(peer, mtu: mtu)
            else { return nil }
            characteristic.lock.withLock {
                if !characteristic.subscribers.contains(central) { characteristic.subscribers.append(central) }
            }
            line.lock.markChanged()
            return (central, characteristic)
        }
        guard let (central, characteristic) = pair else { return }
        delegate?.peripheralManager(self, central: central, didSubscribeTo: characteristic)
    }

    private func unsubscribed(_ peer: PeerID, _ handle: AttributeHandle) {
        if let characteristic = line.lock.withLock({ characteristics[handle] }) { unsubscribed(peer, characteristic) }
    }

    func unsubscribed(_ peer: PeerID, _ characteristic: CBMutableCharacteristic) {
        let central: CBCentral? = line.lock.withLock {
            let central: CBCentral? = characteristic.lock.withLock {
                let index = characteristic.subscribers.firstIndex { $0.peer == peer }
                return index.map { characteristic.subscribers.remove(at: $0) }
            }
            if let central { leavingSubscribers.append(Subscription(central: central, characteristic: characteristic)) }
            return central
        }
        guard let central else { return }
        delegate?.peripheralManager(self, central: central, didUnsubscribeFrom: characteristic)
        line.lock.withLock {
            leavingSubscribers.removeAll { $0.characteristic === characteristic && $0.central === central }
        }
    }

    func update(_ value: Data, for characteristic: CBMutableCharacteristic, to centrals: [CBCentral]?) -> Bool {
        line.lock.withLock {
            guard let handle = handles[ObjectIdentifier(characteristic)] else {
                line.misuse("\(characteristic) is not published by \(self)")
                return false
            }
            let subscribers = characteristic.lock.withLock { characteristic.subscribers }
            let chosen = centrals.map { wanted in subscribers.filter { wanted.contains($0) } }
            guard !(chosen ?? subscribers).isEmpty else { return true }
            guard !updates.isFull, updates.enter() else {
                owesReadiness = true
                return false
            }
            line.ask(.notify(handle, value: Array(value), to: chosen?.map(\.peer))) { [weak self] _ in
                self?.updateSent()
            }
            return true
        }
    }

    private func updateSent() {
        let isReady = line.lock.withLock {
            let hasRoom = updates.leave()
            defer { if hasRoom { owesReadiness = false } }
            return hasRoom && owesReadiness
        }
        if isReady { delegate?.peripheralManagerIsReady(toUpdateSubscribers: self) }
    }

    // MARK: Requests

    private func readRequested(_ request: ServerReadRequest) {
        let exchange = RequestExchange(id: request.id, isRead: true, needsResponse: true, line: line)
        let found: CBATTRequest? = line.lock.withLock {
            guard let characteristic = characteristics[request.characteristic],
                let central = central(request.central, mtu: request.mtu)
            else { return nil }
            return CBATTRequest(
                exchange, central: central, characteristic: characteristic, offset: request.offset, value: nil)
        }
        guard let found else { return reject(exchange, .invalidHandle) }
        guard let delegate else { return reject(exchange, .requestNotSupported) }
        delegate.peripheralManager(self, didReceiveRead: found)
        exchange.remindLater()
    }

    private func writeRequested(_ request: ServerWriteRequest) {
        let exchange = RequestExchange(
            id: request.id, isRead: false, needsResponse: request.needsResponse, line: line)
        let found: [CBATTRequest]? = line.lock.withLock {
            guard let central = central(request.central, mtu: request.mtu) else { return nil }
            var parts: [CBATTRequest] = []
            for part in request.parts {
                guard let characteristic = characteristics[part.characteristic] else { return nil }
                parts.append(
                    CBATTRequest(
                        exchange, central: central, characteristic: characteristic, offset: part.offset,
                        value: Data(part.value)))
            }
            return parts
        }
        guard let found else { return reject(exchange, .invalidHandle) }
        guard let delegate else { return reject(exchange, .requestNotSupported) }
        delegate.peripheralManager(self, didReceiveWrite: found)
        exchange.remindLater()
    }

    private func reject(_ exchange: RequestExchange, _ code: CBATTError.Code) {
        guard exchange.answerOnce(), exchange.needsResponse else { return }
        line.ask(.respond(exchange.id, errorCode: UInt8(truncatingIfNeeded: code.rawValue), value: []))
    }

    func answer(_ request: CBATTRequest, _ result: CBATTError.Code) {
        let exchange = request.exchange
        guard exchange.line === line else { return line.misuse("\(request) was not made by \(self)") }
        guard exchange.answerOnce() else {
            if exchange.needsResponse { line.misuse("\(request) has been answered already") }
            return
        }
        guard exchange.needsResponse else { return }
        guard let code = UInt8(exactly: result.rawValue) else {
            line.misuse("\(result.rawValue) is not a result that a central can be told; it is one octet")
            return reject(
                RequestExchange(id: exchange.id, isRead: true, needsResponse: true, line: line), .unlikelyError)
        }
        let value = exchange.isRead && code == 0 ? request.value.map { Array($0) } ?? [] : []
        line.ask(.respond(exchange.id, errorCode: code, value: value))
    }
}
