package import BluetoothTypes

/// A service to publish. The host gives the handles and makes the configuration descriptors.
package struct ServiceDefinition: Equatable, Sendable {
    package var uuid: BluetoothUUID
    package var isPrimary: Bool
    /// Services published before, by their declaration's handle.
    package var includedServices: [AttributeHandle]
    package var characteristics: [CharacteristicDefinition]

    package init(
        uuid: BluetoothUUID, isPrimary: Bool = true, includedServices: [AttributeHandle] = [],
        characteristics: [CharacteristicDefinition] = []
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.includedServices = includedServices
        self.characteristics = characteristics
    }
}

package struct CharacteristicDefinition: Equatable, Sendable {
    package var uuid: BluetoothUUID
    /// The octet of Core 6.0, Vol 3, Part G, 3.3.1.1. With notify or indicate the host adds the descriptor 0x2902.
    package var properties: UInt8
    package var permissions: AttributePermissions
    /// A value that the host serves by itself; `nil` asks the client at every read and write.
    package var value: [UInt8]?
    package var descriptors: [DescriptorDefinition]
    /// Only over an encrypted link may a peer subscribe.
    package var subscriptionNeedsEncryption: Bool

    package init(
        uuid: BluetoothUUID, properties: UInt8, permissions: AttributePermissions, value: [UInt8]? = nil,
        descriptors: [DescriptorDefinition] = [], subscriptionNeedsEncryption: Bool = false
    ) {
        self.uuid = uuid
        self.properties = properties
        self.permissions = permissions
        self.value = value
        self.descriptors = descriptors
        self.subscriptionNeedsEncryption = subscriptionNeedsEncryption
    }
}

package struct DescriptorDefinition: Equatable, Sendable {
    package var uuid: BluetoothUUID
    package var value: [UInt8]

    package init(uuid: BluetoothUUID, value: [UInt8]) {
        self.uuid = uuid
        self.value = value
    }
}

/// What a peer may do with an attribute. Checked by the host; the client is asked only about what passes.
package struct AttributePermissions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let readable = AttributePermissions(rawValue: 0x01)
    package static let writeable = AttributePermissions(rawValue: 0x02)
    package static let readEncryptionRequired = AttributePermissions(rawValue: 0x04)
    package static let writeEncryptionRequired = AttributePermissions(rawValue: 0x08)
}

/// Where a published service ended up.
package struct PublishedService: Equatable, Sendable {
    /// The declaration's handle: the name of the service for `removeService` and as an included service.
    package var handle: AttributeHandle
    /// The value handles of its characteristics, in the order of the definition.
    package var characteristics: [AttributeHandle]

    package init(handle: AttributeHandle, characteristics: [AttributeHandle]) {
        self.handle = handle
        self.characteristics = characteristics
    }
}
