import BluetoothTypes
import HostInterface

/// What a peripheral manager that was restored finds again. No daemon publishes or advertises while the program is not
/// there: its services are published anew, in the same order, and then advertised, when the radio is on. The links
/// of its centrals have ended with the last run: the app is told that they have unsubscribed.
extension CBPeripheralManager {
    func restoreState(_ options: [String: Any]?) {
        guard line.claimPlace(as: .peripheral, of: self, options?[CBPeripheralManagerOptionRestoreIdentifierKey])
        else { return }
        if let record = line.restoredRecord(PeripheralRecord.self), !record.isEmpty {
            line.isRestoring = true
            let state = line.lock.withLock { RestoredState(dictionary: adopt(record)) }
            line.later { [weak self] in
                guard let self else { return }
                delegate?.peripheralManager(self, willRestoreState: state.dictionary)
            }
        }
        line.keepRecord { [weak self] in
            let record = self.map { PeripheralRecord($0) }
            return record?.isEmpty == true ? nil : record
        }
    }

    /// Makes objects of a record. Called with the lock held.
    ///
    /// - Returns: what the delegate is told.
    private func adopt(_ record: PeripheralRecord) -> [String: Any] {
        var dictionary: [String: Any] = [:]
        var services: [CBMutableService?] = []
        for entry in record.services {
            let service = entry.service
            services.append(service)
            guard let service else { continue }
            let included = entry.included.filter { $0 >= 0 && $0 < services.count - 1 }.compactMap { services[$0] }
            if !included.isEmpty { service.includedServices = included }
            adopt(service, entry)
        }
        let adopted = services.compactMap { $0 }
        if !adopted.isEmpty { dictionary[CBPeripheralManagerRestoredStateServicesKey] = adopted }
        if let record = record.advertisement {
            let content = record.content
            advertisement = content
            advertisingNumber += 1
            if record.isAnnounced { announcedAdvertising = advertisingNumber }
            // It is on for the app, which need not ask for it, also where the answer is still to come.
            advertising = .on
            isAdvertisingRestored = true
            var data: [String: Any] = [:]
            data[CBAdvertisementDataLocalNameKey] = content.localName
            if !content.services.isEmpty {
                data[CBAdvertisementDataServiceUUIDsKey] = content.services.map(CBUUID.init)
            }
            dictionary[CBPeripheralManagerRestoredStateAdvertisementDataKey] = data
        }
        return dictionary
    }

    private func adopt(_ service: CBMutableService, _ entry: PeripheralRecord.Service) {
        let characteristics = (service.characteristics ?? []).compactMap { $0 as? CBMutableCharacteristic }
        addLocal(service, characteristics, entry)
        let index = localServices.count - 1
        localServices[index].isAnnounced = entry.isAnnounced
        localServices[index].isAsked = false
        localServices[index].isRestored = true
        for (characteristic, record) in zip(characteristics, entry.characteristics) {
            for subscriber in record.subscribers {
                guard let peer = subscriber.peer.peer, (23...517).contains(subscriber.mtu) else { continue }
                let central =
                    centrals[peer]?.object
                    ?? CBCentral(
                        peer: peer, identifier: subscriber.peer.identifier, mtu: subscriber.mtu, lock: line.lock)
                centrals[peer] = WeakCentral(object: central)
                characteristic.lock.withLock { characteristic.subscribers.append(central) }
                restoredSubscribers.append(Subscription(central: central, characteristic: characteristic))
            }
        }
    }

    /// The radio is on: what was restored goes on, one service after the other, for one may include another. Called
    /// with the lock held.
    func resumeRestored() {
        guard line.state == .poweredOn else { return }
        while let index = localServices.firstIndex(where: { !$0.isAsked }) {
            localServices[index].isAsked = true
            let service = localServices[index].service
            do throws(Refusal) {
                return ask(toAdd: service, localServices[index].number, try define(service))
            } catch {
                localServices.remove(at: index)
                line.note("\(service) was published before and cannot be again: \(error.reason)")
            }
        }
        guard isAdvertisingRestored, let advertisement else { return }
        isAdvertisingRestored = false
        guard advertising != .off else { return }
        askToAdvertise(advertisement)
    }

    /// Tells the app who is not subscribed any more.
    func tellOfLostSubscribers() {
        let lost = line.lock.withLock {
            defer { restoredSubscribers = [] }
            return restoredSubscribers
        }
        for subscription in lost {
            unsubscribed(subscription.central.peer, subscription.characteristic)
        }
    }
}

/// That a central wants to be told of a characteristic's values.
struct Subscription {
    let central: CBCentral
    let characteristic: CBMutableCharacteristic
}
