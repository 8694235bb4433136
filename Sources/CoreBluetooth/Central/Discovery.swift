import BluetoothTypes
import HostInterface

/// Discovery on a link. What is found adds to what is known: an attribute is one object, told by its handle, as long
/// as the link lasts and the device does not say that it has changed.
extension CBPeripheral {
    func findServices(_ serviceUUIDs: [CBUUID]?) {
        checkListener("Discovering services for peripheral", "peripheral:didDiscoverServices:")
        let only = selection(serviceUUIDs).map { Array($0.sorted { $0.full < $1.full }) }
        ask(.discoverServices(peer, only: only)) { peripheral, answer in
            if case .success(.services(let found)) = answer { peripheral.take(found) }
            peripheral.delegate?.peripheral(peripheral, didDiscoverServices: answer.error)
        }
    }

    func findIncludedServices(_ includedServiceUUIDs: [CBUUID]?, of service: CBService) {
        guard isConnected() else { return }
        guard let remote = valid(service) else {
            return answer {
                $0.delegate?.peripheral(
                    $0, didDiscoverIncludedServicesFor: service, error: CBError(.invalidHandle))
            }
        }
        checkListener(
            "Discovering included services for peripheral", "peripheral:didDiscoverIncludedServicesForService:error:")
        let wanted = selection(includedServiceUUIDs)
        ask(.discoverIncludedServices(peer, of: remote)) { peripheral, answer in
            if case .success(.includedServices(let found)) = answer {
                peripheral.take(found.filter { wanted?.contains($0.uuid) ?? true }, includedIn: service)
            }
            peripheral.delegate?.peripheral(
                peripheral, didDiscoverIncludedServicesFor: service, error: answer.error)
        }
    }

    func findCharacteristics(_ characteristicUUIDs: [CBUUID]?, of service: CBService) {
        guard isConnected() else { return }
        guard let remote = valid(service) else {
            return answer {
                $0.delegate?.peripheral($0, didDiscoverCharacteristicsFor: service, error: CBError(.invalidHandle))
            }
        }
        checkListener(
            "Discovering characteristics on peripheral", "peripheral:didDiscoverCharacteristicsForService:error:")
        let wanted = selection(characteristicUUIDs)
        ask(.discoverCharacteristics(peer, of: remote)) { peripheral, answer in
            if case .success(.characteristics(let found)) = answer {
                peripheral.take(found.filter { wanted?.contains($0.uuid) ?? true }, of: service)
            }
            peripheral.delegate?.peripheral(peripheral, didDiscoverCharacteristicsFor: service, error: answer.error)
        }
    }

    func findDescriptors(of characteristic: CBCharacteristic) {
        guard isConnected() else { return }
        guard let remote = valid(characteristic) else {
            return answer {
                $0.delegate?.peripheral(
                    $0, didDiscoverDescriptorsFor: characteristic, error: CBError(.invalidHandle))
            }
        }
        checkListener(
            "Discovering characteristic descriptors for peripheral",
            "peripheral:didDiscoverDescriptorsForCharacteristic:error:")
        ask(.discoverDescriptors(peer, of: remote)) { peripheral, answer in
            if case .success(.descriptors(let found)) = answer { peripheral.take(found, of: characteristic) }
            peripheral.delegate?.peripheral(
                peripheral, didDiscoverDescriptorsFor: characteristic, error: answer.error)
        }
    }

    private func selection(_ uuids: [CBUUID]?) -> Set<BluetoothUUID>? {
        guard let uuids, !uuids.isEmpty else { return nil }
        return Set(uuids.map(\.bluetoothUUID))
    }
}

// MARK: - What was found

extension CBPeripheral {
    private func take(_ found: [RemoteService]) {
        line.lock.withLock {
            let hidden: Set<BluetoothUUID> = [.genericAccess, .genericAttribute]
            let objects = found.filter { !hidden.contains($0.uuid) }.map(object)
            foundServices = merged(foundServices, with: objects) { $0.remote?.handles.lowerBound ?? 0 }
        }
    }

    private func take(_ found: [RemoteService], includedIn service: CBService) {
        line.lock.withLock {
            let objects = found.map(object)
            service.discoveredIncludedServices = merged(service.discoveredIncludedServices, with: objects) {
                $0.remote?.handles.lowerBound ?? 0
            }
        }
    }

    /// The object of a service. Called with the lock held.
    private func object(_ remote: RemoteService) -> CBService {
        let start = remote.handles.lowerBound
        if let known = knownServices[start], known.remote?.uuid == remote.uuid { return known }
        let service = CBService(remote: remote, of: self, lock: line.lock)
        knownServices[start] = service
        return service
    }

    private func take(_ found: [RemoteCharacteristic], of service: CBService) {
        line.lock.withLock {
            let objects = found.map { remote -> CBCharacteristic in
                if let known = knownCharacteristics[remote.value] { return known }
                let characteristic = CBCharacteristic(remote: remote, of: service)
                knownCharacteristics[remote.value] = characteristic
                return characteristic
            }
            service.discoveredCharacteristics = merged(service.discoveredCharacteristics, with: objects) {
                $0.remote?.value.rawValue ?? 0
            }
        }
    }

    private func take(_ found: [RemoteDescriptor], of characteristic: CBCharacteristic) {
        line.lock.withLock {
            let known = characteristic.currentDescriptors ?? []
            let objects = found.map { remote in
                known.first { $0.remote?.handle == remote.handle } ?? CBDescriptor(remote: remote, of: characteristic)
            }
            characteristic.currentDescriptors = merged(known, with: objects) { $0.remote?.handle.rawValue ?? 0 }
        }
    }

    /// Adds what is new, in the order of the handles.
    private func merged<Object: AnyObject>(
        _ known: [Object]?, with found: [Object], handle: (Object) -> UInt16
    ) -> [Object] {
        let known = known ?? []
        let present = Set(known.map(ObjectIdentifier.init))
        return (known + found.filter { !present.contains(ObjectIdentifier($0)) }).sorted { handle($0) < handle($1) }
    }

    /// Voids the services in a range that the device has changed.
    func servicesChanged(_ handles: ClosedRange<UInt16>) {
        let invalidated: [CBService]? = line.lock.withLock {
            guard linkState == .connected, let found = foundServices else { return nil }
            for (start, service) in knownServices where service.remote?.handles.overlaps(handles) ?? false {
                knownServices[start] = nil
            }
            for (handle, characteristic) in knownCharacteristics where handles.contains(handle.rawValue) {
                characteristic.isSubscribed = false
                knownCharacteristics[handle] = nil
            }
            foundServices = found.filter { knownServices[$0.remote?.handles.lowerBound ?? 0] === $0 }
            return found.filter { knownServices[$0.remote?.handles.lowerBound ?? 0] !== $0 }
        }
        guard let invalidated else { return }
        delegate?.peripheral(self, didModifyServices: invalidated)
    }
}

// MARK: - What is valid

extension CBPeripheral {
    /// Where the service stands; `nil`, and a line in the log, if it is void or another device's.
    func valid(_ service: CBService) -> RemoteService? {
        let remote = line.lock.withLock {
            service.remote.flatMap { knownServices[$0.handles.lowerBound] === service ? $0 : nil }
        }
        if remote == nil { line.misuse("\(service) is not a valid service for peripheral \(self)") }
        return remote
    }

    func valid(_ characteristic: CBCharacteristic) -> RemoteCharacteristic? {
        let remote = line.lock.withLock {
            characteristic.remote.flatMap { knownCharacteristics[$0.value] === characteristic ? $0 : nil }
        }
        if remote == nil { line.misuse("\(characteristic) is not a valid characteristic for peripheral \(self)") }
        return remote
    }

    func valid(_ descriptor: CBDescriptor) -> RemoteDescriptor? {
        guard let remote = descriptor.remote, let characteristic = descriptor.characteristic,
            valid(characteristic) != nil
        else {
            line.misuse("\(descriptor) is not a valid descriptor for peripheral \(self)")
            return nil
        }
        return remote
    }
}

extension BluetoothUUID {
    // Bluetooth Assigned Numbers, 3.4.
    static let genericAccess = BluetoothUUID.uuid16(0x1800)
    static let genericAttribute = BluetoothUUID.uuid16(0x1801)
}
