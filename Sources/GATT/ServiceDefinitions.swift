import ATT
package import BluetoothTypes

/// A service to be added to a database.
package struct GATTServiceDefinition: Equatable, Sendable {
    package var uuid: BluetoothUUID
    package var isPrimary: Bool
    /// Services added before, by the handles of their declarations.
    package var includedServices: [UInt16]
    package var characteristics: [GATTCharacteristicDefinition]

    package init(
        uuid: BluetoothUUID, isPrimary: Bool = true, includedServices: [UInt16] = [],
        characteristics: [GATTCharacteristicDefinition] = []
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.includedServices = includedServices
        self.characteristics = characteristics
    }
}

package struct GATTCharacteristicDefinition: Equatable, Sendable {
    package var uuid: BluetoothUUID
    /// With notify or indicate, the database adds the configuration descriptor.
    package var properties: GATTProperties
    package var permissions: GATTPermissions
    /// A value for the database to keep; `nil` asks the owner at every read and write.
    package var value: [UInt8]?
    package var descriptors: [GATTDescriptorDefinition]
    /// Only over an encrypted link may a peer subscribe.
    package var subscriptionNeedsEncryption: Bool

    package init(
        uuid: BluetoothUUID, properties: GATTProperties, permissions: GATTPermissions, value: [UInt8]? = nil,
        descriptors: [GATTDescriptorDefinition] = [], subscriptionNeedsEncryption: Bool = false
    ) {
        self.uuid = uuid
        self.properties = properties
        self.permissions = permissions
        self.value = value
        self.descriptors = descriptors
        self.subscriptionNeedsEncryption = subscriptionNeedsEncryption
    }
}

/// A descriptor with a value that never changes.
package struct GATTDescriptorDefinition: Equatable, Sendable {
    package var uuid: BluetoothUUID
    package var value: [UInt8]

    package init(uuid: BluetoothUUID, value: [UInt8]) {
        self.uuid = uuid
        self.value = value
    }
}

/// Where a service ended up.
package struct GATTPlacement: Equatable, Sendable {
    package var handles: ClosedRange<UInt16>
    /// The value handles of its characteristics, in the order of the definition.
    package var characteristics: [UInt16]
}

extension AttributeDatabase {
    /// Adds a service behind all others, or in the first gap when no handles are left there.
    ///
    /// Source: Core 6.0, Vol 3, Part G, 3.1 (service), 3.2 (include), 3.3 (characteristic).
    package mutating func add(_ service: GATTServiceDefinition) throws(AttributeDatabaseError) -> GATTPlacement {
        var builder = ServiceBuilder()
        let serviceType = service.isPrimary ? GATTAttributeType.primaryService : GATTAttributeType.secondaryService
        builder.declare(serviceType, service.uuid.attributeForm.octets)
        for handle in service.includedServices { try builder.include(declaration(of: handle)) }
        for characteristic in service.characteristics { try builder.add(characteristic) }

        let count = builder.attributes.count
        guard count <= 0xFFFF, let first = gap(of: UInt32(count)) else { throw .noHandlesLeft }
        nextHandle = max(nextHandle, UInt32(first) + UInt32(count))
        let attributes = builder.attributes(from: first)
        insert(attributes)
        let last = attributes[count - 1].handle
        return GATTPlacement(
            handles: first...last, characteristics: builder.valueIndices.map { attributes[$0].handle })
    }

    /// Removes the service with its declaration at `handle`.
    ///
    /// - Returns: the handles that it had; `nil` if there is no such service.
    @discardableResult
    package mutating func removeService(at handle: UInt16) -> ClosedRange<UInt16>? {
        guard let service = try? declaration(of: handle) else { return nil }
        let range = service.handle...service.groupEnd
        remove(range)
        return range
    }

    private func declaration(of handle: UInt16) throws(AttributeDatabaseError) -> GATTAttribute {
        guard let index = index(of: handle), attributes[index].opensService else { throw .unknownService(handle) }
        return attributes[index]
    }

    private func gap(of count: UInt32) -> UInt16? {
        if nextHandle + count - 1 <= 0xFFFF { return UInt16(nextHandle) }
        var start: UInt32 = 1
        for service in attributes where service.opensService {
            if UInt32(service.handle) >= start + count { return UInt16(start) }
            start = UInt32(service.groupEnd) + 1
        }
        return start + count - 1 <= 0xFFFF ? UInt16(start) : nil
    }
}

extension GATTAttribute {
    var opensService: Bool { type == GATTAttributeType.primaryService || type == GATTAttributeType.secondaryService }
}

/// Lays out a service's attributes while their handles are not known yet: they count from 0.
private struct ServiceBuilder {
    private(set) var attributes: [GATTAttribute] = []
    private(set) var valueIndices: [Int] = []

    mutating func declare(_ type: BluetoothUUID, _ value: [UInt8]) {
        append(type, .readable, .stored(value))
    }

    mutating func include(_ service: GATTAttribute) {
        guard case .stored(let uuid) = service.content else { return }
        let octets = service.handle.octets + service.groupEnd.octets
        declare(GATTAttributeType.include, uuid.count == 2 ? octets + uuid : octets)
    }

    mutating func add(_ characteristic: GATTCharacteristicDefinition) throws(AttributeDatabaseError) {
        let tooLong = ([characteristic.value ?? []] + characteristic.descriptors.map(\.value))
            .first { $0.count > ATTLimits.maximumValueLength }
        if let tooLong { throw .valueTooLong(octets: tooLong.count) }

        let declaration = attributes.count
        declare(GATTAttributeType.characteristic, [characteristic.properties.rawValue])
        valueIndices.append(attributes.count)
        append(
            characteristic.uuid.attributeForm,
            characteristic.permissions.union(
                characteristic.subscriptionNeedsEncryption ? .notifyEncryptionRequired : []),
            characteristic.value.map { .stored($0) } ?? .dynamic)

        var allowed: GATTSubscription = []
        if characteristic.properties.contains(.notify) { allowed.insert(.notifications) }
        if characteristic.properties.contains(.indicate) { allowed.insert(.indications) }
        if !allowed.isEmpty {
            let configuration = GATTAttribute.Content.configuration(of: UInt16(declaration + 1), allowed: allowed)
            let permissions: GATTPermissions =
                characteristic.subscriptionNeedsEncryption
                ? [.readable, .writeEncryptionRequired] : [.readable, .writeable]
            append(GATTAttributeType.clientCharacteristicConfiguration, permissions, configuration)
        }
        // Source: 3.3.3.1. Bit 0 is Reliable Write, which this server does for every value.
        let extended = GATTAttributeType.extendedProperties
        if characteristic.properties.contains(.extendedProperties),
            !characteristic.descriptors.contains(where: { $0.uuid == extended })
        {
            declare(extended, [0x01, 0x00])
        }
        for descriptor in characteristic.descriptors { declare(descriptor.uuid.attributeForm, descriptor.value) }
        attributes[declaration].groupEnd = UInt16(truncatingIfNeeded: attributes.count - 1)
    }

    /// The same attributes with their handles; now the declarations can name them.
    func attributes(from first: UInt16) -> [GATTAttribute] {
        var placed = attributes
        for index in placed.indices {
            placed[index].handle += first
            placed[index].groupEnd += first
            if case .configuration(let value, let allowed) = placed[index].content {
                placed[index].content = .configuration(of: value + first, allowed: allowed)
            }
        }
        placed[0].groupEnd = first + UInt16(placed.count - 1)
        for value in valueIndices {
            guard case .stored(let properties) = placed[value - 1].content else { continue }
            placed[value - 1].content = .stored(properties + placed[value].handle.octets + placed[value].type.octets)
        }
        return placed
    }

    private mutating func append(
        _ type: BluetoothUUID, _ permissions: GATTPermissions, _ content: GATTAttribute.Content
    ) {
        let index = UInt16(truncatingIfNeeded: attributes.count)
        attributes.append(GATTAttribute(handle: index, type: type, permissions: permissions, content: content))
    }
}

extension UInt16 {
    /// Least significant octet first.
    var octets: [UInt8] { [UInt8(truncatingIfNeeded: self), UInt8(truncatingIfNeeded: self >> 8)] }
}
