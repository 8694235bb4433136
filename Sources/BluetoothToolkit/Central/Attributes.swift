public import CoreBluetooth

/// A service of a peer, on one link.
// `@unchecked`: constants, and CoreBluetooth's object is used with the central's lock held.
public struct RemoteService: @unchecked Sendable {
    public let uuid: CBUUID
    public let isPrimary: Bool
    /// In the order of the peer; filled by ``RemotePeripheral/discover(_:within:)``.
    public internal(set) var characteristics: [RemoteCharacteristic]
    let service: CBService
    let linkNumber: Int
}

/// A characteristic of a peer, on one link.
// `@unchecked`: constants, and CoreBluetooth's object is used with the central's lock held.
public struct RemoteCharacteristic: @unchecked Sendable {
    public let uuid: CBUUID
    public let service: CBUUID
    public let properties: CBCharacteristicProperties
    let characteristic: CBCharacteristic
    let linkNumber: Int
    /// For tools of this package that show more than Apple's API tells.
    package var coreBluetoothCharacteristic: CBCharacteristic { characteristic }
}

/// A descriptor of a peer, on one link.
// `@unchecked`: constants, and CoreBluetooth's object is used with the central's lock held.
public struct RemoteDescriptor: @unchecked Sendable {
    public let uuid: CBUUID
    let descriptor: CBDescriptor
    let linkNumber: Int
}

extension RemotePeripheral {
    /// Finds services and all their characteristics.
    ///
    /// - Parameters:
    ///   - services: only these; `nil` means all.
    ///   - limit: how long it may take; `nil` is for ever.
    public func discover(
        _ services: [CBUUID]? = nil, within limit: Duration? = Central.defaultLimit
    ) async throws -> [RemoteService] {
        let deadline = Deadline(limit, by: time)
        var found = try await discoverServices(services, within: deadline.left)
        for index in found.indices {
            found[index].characteristics = try await discoverCharacteristics(
                of: found[index], within: deadline.left)
        }
        return found
    }

    /// Finds services; their characteristics stay unknown.
    public func discoverServices(
        _ services: [CBUUID]? = nil, within limit: Duration? = Central.defaultLimit
    ) async throws -> [RemoteService] {
        _ = try await ask(.services, nil, within: limit) { $0.discoverServices(services) }
        return try lock.withLock {
            try checkLink()
            return (peripheral.services ?? [])
                .filter { service in services?.contains(service.uuid) ?? true }
                .map {
                    RemoteService(
                        uuid: $0.uuid, isPrimary: $0.isPrimary, characteristics: [], service: $0,
                        linkNumber: linkNumber)
                }
        }
    }

    public func discoverCharacteristics(
        _ characteristics: [CBUUID]? = nil, of service: RemoteService, within limit: Duration? = Central.defaultLimit
    ) async throws -> [RemoteCharacteristic] {
        let object = service.service
        _ = try await ask(.characteristics, object, within: limit) { [self] in
            try checkCurrent(service.linkNumber)
        } start: {
            $0.discoverCharacteristics(characteristics, for: object)
        }
        return try lock.withLock {
            try checkLink()
            return (object.characteristics ?? [])
                .filter { characteristics?.contains($0.uuid) ?? true }
                .map {
                    RemoteCharacteristic(
                        uuid: $0.uuid, service: object.uuid, properties: $0.properties, characteristic: $0,
                        linkNumber: linkNumber)
                }
        }
    }

    public func discoverDescriptors(
        of characteristic: RemoteCharacteristic, within limit: Duration? = Central.defaultLimit
    ) async throws -> [RemoteDescriptor] {
        let object = characteristic.characteristic
        _ = try await ask(.descriptors, object, within: limit) { [self] in
            try checkCurrent(characteristic.linkNumber)
        } start: {
            $0.discoverDescriptors(for: object)
        }
        return try lock.withLock {
            try checkLink()
            return (object.descriptors ?? []).map {
                RemoteDescriptor(uuid: $0.uuid, descriptor: $0, linkNumber: linkNumber)
            }
        }
    }

    /// Finds one characteristic; what is known of this link already is not asked for again.
    ///
    /// - Throws: ``ToolkitError/notFound(_:)``.
    public func characteristic(
        _ uuid: CBUUID, in service: CBUUID, within limit: Duration? = Central.defaultLimit
    ) async throws -> RemoteCharacteristic {
        if let known = knownCharacteristic(uuid, in: service) { return known }
        let deadline = Deadline(limit, by: time)
        let services = try await discoverServices([service], within: deadline.left)
        guard !services.isEmpty else { throw ToolkitError.notFound("service \(service.uuidString)") }
        for found in services {
            if let match = try await discoverCharacteristics([uuid], of: found, within: deadline.left).first {
                return match
            }
        }
        throw ToolkitError.notFound("characteristic \(uuid.uuidString) in the service \(service.uuidString)")
    }

    private func knownCharacteristic(_ uuid: CBUUID, in service: CBUUID) -> RemoteCharacteristic? {
        lock.withLock {
            guard phase == .connected else { return nil }
            for known in peripheral.services ?? [] where known.uuid == service {
                guard let match = known.characteristics?.first(where: { $0.uuid == uuid }) else { continue }
                return RemoteCharacteristic(
                    uuid: match.uuid, service: known.uuid, properties: match.properties, characteristic: match,
                    linkNumber: linkNumber)
            }
            return nil
        }
    }

    /// Throws if an attribute was found on an earlier link.
    func checkCurrent(_ number: Int) throws {
        if number != linkNumber { throw ToolkitError.outdated }
    }

    /// The peer has changed its services: what was subscribed to in them is void.
    func servicesChanged(_ services: [CBService]) {
        lock.withLock {
            let gone = Set(services.flatMap { $0.characteristics ?? [] }.map { ObjectIdentifier($0) })
            let ended = subscriptions.filter { gone.contains(ObjectIdentifier($0.characteristic)) }
            subscriptions.removeAll { gone.contains(ObjectIdentifier($0.characteristic)) }
            for subscription in ended { subscription.finish(ToolkitError.outdated) }
        }
    }
}
