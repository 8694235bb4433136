import BluetoothTypes
import HostInterface

/// What a central manager that was restored finds again. No daemon holds links while the program is not there, so they
/// have ended with it: what was connected is `.connecting`, with its services, and is connected anew when the radio
/// is on.
extension CBCentralManager {
    func restoreState(_ options: [String: Any]?) {
        guard line.claimPlace(as: .central, of: self, options?[CBCentralManagerOptionRestoreIdentifierKey]) else {
            return
        }
        if let record = line.restoredRecord(CentralRecord.self), !record.isEmpty {
            line.isRestoring = true
            let state = line.lock.withLock { RestoredState(dictionary: adopt(record)) }
            line.later { [weak self] in
                guard let self else { return }
                delegate?.centralManager(self, willRestoreState: state.dictionary)
            }
        }
        line.keepRecord { [weak self] in
            let record = self.map { CentralRecord($0) }
            return record?.isEmpty == true ? nil : record
        }
    }

    /// Makes objects of a record. Called with the lock held.
    ///
    /// - Returns: what the delegate is told. It alone holds the peripherals until the app does.
    private func adopt(_ record: CentralRecord) -> [String: Any] {
        var dictionary: [String: Any] = [:]
        if let scan = record.scan {
            let filter = scan.filter
            wantedScan = filter
            if !filter.services.isEmpty {
                dictionary[CBCentralManagerRestoredStateScanServicesKey] = filter.services.map(CBUUID.init)
            }
            var options: [String: Any] = [
                CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: filter.allowDuplicates)
            ]
            if !filter.solicitedServices.isEmpty {
                options[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] =
                    filter.solicitedServices.map(CBUUID.init)
            }
            dictionary[CBCentralManagerRestoredStateScanOptionsKey] = options
        }
        let found = record.peripherals.compactMap(adopt)
        if !found.isEmpty { dictionary[CBCentralManagerRestoredStatePeripheralsKey] = found }
        return dictionary
    }

    private func adopt(_ record: CentralRecord.Peripheral) -> CBPeripheral? {
        guard let peer = record.peer.peer, peripherals[peer] == nil else { return nil }
        let peripheral = CBPeripheral(peer: peer, identifier: record.peer.identifier, manager: self)
        peripherals[peer] = WeakPeripheral(object: peripheral)
        memory.remember(record.peer.identifier, of: peer, seenBy: nil, isInUse: isInUse)
        peripheral.systemName = record.systemName
        peripheral.advertisedName = record.advertisedName
        peripheral.linkState = .connecting
        peripheral.options = ConnectOptions(startDelay: .zero, reconnects: record.reconnects)
        peripheral.adopt(record.services)
        return peripheral
    }

    /// The radio is on: what was restored goes on. Called with the lock held.
    func resumeRestored() {
        for (_, entry) in peripherals.sorted(by: { $0.key < $1.key }) { entry.object?.resumeRestored() }
    }
}

extension CBPeripheral {
    fileprivate func adopt(_ records: [CentralRecord.Service]?) {
        isAwaitingRadio = true
        guard let records else { return }
        for record in records {
            guard let remote = record.remote, knownServices[record.first] == nil else { continue }
            let service = CBService(remote: remote, of: self, lock: line.lock)
            knownServices[record.first] = service
            service.discoveredCharacteristics = record.characteristics?.compactMap { adopt($0, of: service) }
        }
        for record in records {
            guard let included = record.included else { continue }
            knownServices[record.first]?.discoveredIncludedServices = included.compactMap { knownServices[$0] }
        }
        foundServices = records.filter(\.isListed).compactMap { knownServices[$0.first] }
        restoredLink = RestoredLink()
    }

    private func adopt(_ record: CentralRecord.Characteristic, of service: CBService) -> CBCharacteristic? {
        guard let remote = record.remote, knownCharacteristics[remote.value] == nil else { return nil }
        let characteristic = CBCharacteristic(remote: remote, of: service)
        knownCharacteristics[remote.value] = characteristic
        characteristic.isSubscribed = record.isNotifying
        characteristic.currentDescriptors = record.descriptors?.compactMap { descriptor in
            descriptor.remote.map { CBDescriptor(remote: $0, of: characteristic) }
        }
        return characteristic
    }
}
