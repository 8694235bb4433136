import BluetoothTypes
import HostInterface

/// A service that the app has added, as it was then.
struct LocalService {
    /// Which adding of which service it is: the same one may be added again while the first time is under way.
    let number: Int
    let service: CBMutableService
    let characteristics: [CBMutableCharacteristic]
    /// What it is restored from.
    let record: PeripheralRecord.Service
    /// Where it stands, once published.
    var handle: AttributeHandle?
    /// Whether the host was asked to publish it. One that was restored waits for the radio.
    var isAsked = true
    /// Whether it is of an earlier run of the program.
    var isRestored = false
    /// Whether the app was told that it is published.
    var isAnnounced = false
}

extension CBPeripheralManager {
    func publish(_ service: CBMutableService) {
        do throws(Refusal) {
            let isAdded = line.lock.withLock { localServices.contains { $0.service === service } }
            if isAdded { throw Refusal("it has been added already") }
            let definition = try define(service)
            line.lock.withLock {
                let characteristics = (service.characteristics ?? []).compactMap { $0 as? CBMutableCharacteristic }
                let record = PeripheralRecord.Service(service, characteristics)
                addLocal(service, characteristics, record)
                ask(toAdd: service, lastAdded, definition)
            }
        } catch {
            line.misuse("\(service) cannot be added: \(error.reason)")
            later { $0.delegate?.peripheralManager($0, didAdd: service, error: CBError(error.code)) }
        }
    }

    /// Called with the lock held.
    func addLocal(
        _ service: CBMutableService, _ characteristics: [CBMutableCharacteristic], _ record: PeripheralRecord.Service
    ) {
        lastAdded += 1
        localServices.append(
            LocalService(number: lastAdded, service: service, characteristics: characteristics, record: record))
    }

    func ask(toAdd service: CBMutableService, _ number: Int, _ definition: ServiceDefinition) {
        line.ask(.addService(definition)) { [weak self] answer in self?.published(service, number, answer) }
    }

    private func published(_ service: CBMutableService, _ number: Int, _ answer: HostLine.Answer) {
        let wasAnnounced = line.lock.withLock {
            defer { resumeRestored() }
            return place(number, answer)
        }
        // Of what it was told in an earlier run the app hears only what has gone wrong.
        if wasAnnounced, answer.error == nil || answer == .failure(.notPowered) { return }
        delegate?.peripheralManager(self, didAdd: service, error: answer.error)
        line.lock.withLock {
            guard let index = localServices.firstIndex(where: { $0.number == number }) else { return }
            localServices[index].isAnnounced = true
        }
    }

    /// Notes where a service stands, or that it stands nowhere. Called with the lock held.
    ///
    /// - Returns: whether the app was told of it in an earlier run.
    private func place(_ number: Int, _ answer: HostLine.Answer) -> Bool {
        let index = localServices.firstIndex { $0.number == number }
        let isWithdrawn = withdrawnWhileAdding.remove(number) != nil
        guard let index else {
            // With all services it is gone from the host already, and its handle may be another's.
            if isWithdrawn, case .success(.published(let place)) = answer { line.ask(.removeService(place.handle)) }
            return false
        }
        let wasAnnounced = localServices[index].isAnnounced
        if case .success(.published(let place)) = answer {
            localServices[index].handle = place.handle
            for (characteristic, handle) in zip(localServices[index].characteristics, place.characteristics) {
                characteristics[handle] = characteristic
                handles[ObjectIdentifier(characteristic)] = handle
            }
        } else if wasAnnounced, case .failure(.notPowered) = answer {
            // What was published in an earlier run waits for the radio again.
            localServices[index].isAsked = false
        } else {
            localServices.remove(at: index)
        }
        return wasAnnounced
    }

    func withdraw(_ service: CBMutableService) {
        line.lock.withLock {
            guard let index = localServices.firstIndex(where: { $0.service === service }) else {
                return line.misuse("\(service) is not published by \(self)")
            }
            let local = localServices.remove(at: index)
            forget(local)
            if let handle = local.handle {
                line.ask(.removeService(handle))
            } else if local.isAsked {
                // The answer to the adding removes it.
                withdrawnWhileAdding.insert(local.number)
            }
        }
    }

    /// Called with the lock held.
    func forgetServices() {
        for local in localServices { forget(local) }
        localServices.removeAll()
        withdrawnWhileAdding.removeAll()
    }

    private func forget(_ local: LocalService) {
        for characteristic in local.characteristics {
            if let handle = handles.removeValue(forKey: ObjectIdentifier(characteristic)) {
                characteristics[handle] = nil
            }
            characteristic.lock.withLock { characteristic.subscribers = [] }
        }
    }
}

// MARK: - Definition

/// Why a service cannot be published.
struct Refusal: Error {
    var code: CBError.Code
    var reason: String

    init(_ reason: String, _ code: CBError.Code = .invalidParameters) {
        self.code = code
        self.reason = reason
    }
}

extension CBPeripheralManager {
    func define(_ service: CBMutableService) throws(Refusal) -> ServiceDefinition {
        let uuid = service.uuid.bluetoothUUID
        if uuid == .genericAccess || uuid == .genericAttribute {
            throw Refusal("the system publishes \(service.uuid) itself", .uuidNotAllowed)
        }
        var definition = ServiceDefinition(uuid: uuid, isPrimary: service.isPrimary)
        for included in service.includedServices ?? [] {
            let handle = line.lock.withLock { localServices.first { $0.service === included }?.handle }
            guard let handle else { throw Refusal("\(included), which it includes, must be published before it") }
            definition.includedServices.append(handle)
        }
        var seen: [CBMutableCharacteristic] = []
        for characteristic in service.characteristics ?? [] {
            guard let characteristic = characteristic as? CBMutableCharacteristic else {
                throw Refusal("\(characteristic) belongs to a remote device")
            }
            guard isFree(characteristic, for: service), !seen.contains(where: { $0 === characteristic }) else {
                throw Refusal("\(characteristic) stands in a published service already; make one for each place")
            }
            seen.append(characteristic)
            definition.characteristics.append(try define(characteristic))
        }
        return definition
    }

    /// Whether no other service of this manager has it. One object cannot say for which of two places a value is.
    private func isFree(_ characteristic: CBMutableCharacteristic, for service: CBMutableService) -> Bool {
        line.lock.withLock {
            !localServices.contains { local in
                local.service !== service && local.characteristics.contains { $0 === characteristic }
            }
        }
    }

    private func define(_ characteristic: CBMutableCharacteristic) throws(Refusal) -> CharacteristicDefinition {
        let properties = characteristic.properties
        let permissions = characteristic.permissions
        if !properties.isDisjoint(with: [.broadcast, .extendedProperties]) {
            throw Refusal("\(characteristic) has a property that a local characteristic cannot have")
        }
        if characteristic.value != nil {
            let writes: CBCharacteristicProperties = [.write, .writeWithoutResponse, .authenticatedSignedWrites]
            if !properties.isDisjoint(with: writes)
                || !permissions.isDisjoint(with: [.writeable, .writeEncryptionRequired])
            {
                throw Refusal("Characteristics with cached values must be read-only; \(characteristic) is not")
            }
        }
        if let value = characteristic.value, value.count > longestValue {
            throw Refusal("\(characteristic) has a value of more than \(longestValue) octets")
        }
        warnOfContradictions(characteristic)
        var octet = UInt8(truncatingIfNeeded: properties.rawValue)
        if properties.contains(.notifyEncryptionRequired) { octet |= 0x10 }
        if properties.contains(.indicateEncryptionRequired) { octet |= 0x20 }
        var definition = CharacteristicDefinition(
            uuid: characteristic.uuid.bluetoothUUID, properties: octet,
            permissions: AttributePermissions(rawValue: UInt8(truncatingIfNeeded: permissions.rawValue)),
            value: characteristic.value.map { Array($0) },
            subscriptionNeedsEncryption: !properties.isDisjoint(
                with: [.notifyEncryptionRequired, .indicateEncryptionRequired]))
        for descriptor in characteristic.descriptors ?? [] {
            definition.descriptors.append(try define(descriptor))
        }
        return definition
    }

    private func define(_ descriptor: CBDescriptor) throws(Refusal) -> DescriptorDefinition {
        let uuid = descriptor.uuid.bluetoothUUID
        switch descriptor.value {
        case let text as String where uuid == .userDescription:
            return DescriptorDefinition(uuid: uuid, value: try short(Array(text.utf8), of: descriptor))
        case let data as Data where uuid == .presentationFormat:
            return DescriptorDefinition(uuid: uuid, value: try short(Array(data), of: descriptor))
        default:
            throw Refusal("\(descriptor) needs a value: a String for 2901, Data for 2904")
        }
    }

    private func short(_ value: [UInt8], of descriptor: CBDescriptor) throws(Refusal) -> [UInt8] {
        guard value.count <= longestValue else {
            throw Refusal("\(descriptor) has a value of more than \(longestValue) octets")
        }
        return value
    }

    /// What a central may do and what it is told that it can do are two things; they should agree.
    private func warnOfContradictions(_ characteristic: CBMutableCharacteristic) {
        let properties = characteristic.properties
        let permissions = characteristic.permissions
        let canRead = !permissions.isDisjoint(with: [.readable, .readEncryptionRequired])
        let canWrite = !permissions.isDisjoint(with: [.writeable, .writeEncryptionRequired])
        let offersWrite = !properties.isDisjoint(with: [.write, .writeWithoutResponse, .authenticatedSignedWrites])
        var contradictions: [String] = []
        if properties.contains(.read) && !canRead {
            contradictions.append("the property read but no permission readable: each read will be refused")
        }
        if offersWrite && !canWrite {
            contradictions.append("a property write but no permission writeable: each write will be refused")
        }
        if canWrite && !offersWrite {
            contradictions.append("the permission writeable but no property write: no central will try")
        }
        if canRead && !properties.contains(.read) {
            contradictions.append("the permission readable but no property read: no central will try")
        }
        for contradiction in contradictions { line.warn("\(characteristic) has \(contradiction)") }
    }
}
