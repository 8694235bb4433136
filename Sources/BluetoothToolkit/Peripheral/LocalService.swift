public import CoreBluetooth

/// A service to publish, as a value.
// `@unchecked`: `CBUUID` does not change.
public struct LocalService: @unchecked Sendable {
    public var uuid: CBUUID
    public var isPrimary: Bool
    public var characteristics: [LocalCharacteristic]

    public init(_ uuid: CBUUID, isPrimary: Bool = true, characteristics: [LocalCharacteristic]) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.characteristics = characteristics
    }

    func makeService() -> CBMutableService {
        let service = CBMutableService(type: uuid, primary: isPrimary)
        service.characteristics = characteristics.map { $0.makeCharacteristic() }
        return service
    }
}

/// A characteristic to publish, as a value.
// `@unchecked`: `CBUUID` does not change.
public struct LocalCharacteristic: @unchecked Sendable {
    public var uuid: CBUUID
    public var properties: CBCharacteristicProperties
    public var permissions: CBAttributePermissions
    /// Served by the system, and constant; `nil` asks the program at each read and write.
    public var value: Data?
    /// What a person may read of it: the descriptor 0x2901.
    public var userDescription: String?

    /// - Parameters:
    ///   - uuid: its type.
    ///   - properties: what centrals may do with it.
    ///   - permissions: `nil` takes those that the properties need.
    ///   - value: served by the system, and constant; `nil` asks the program at each read and write.
    ///   - userDescription: what a person may read of it; `nil` for nothing.
    public init(
        _ uuid: CBUUID, _ properties: CBCharacteristicProperties, permissions: CBAttributePermissions? = nil,
        value: Data? = nil, userDescription: String? = nil
    ) {
        self.uuid = uuid
        self.properties = properties
        self.value = value
        self.userDescription = userDescription
        self.permissions = permissions ?? Self.permissions(for: properties)
    }

    private static func permissions(for properties: CBCharacteristicProperties) -> CBAttributePermissions {
        var permissions: CBAttributePermissions = []
        if properties.contains(.read) { permissions.insert(.readable) }
        if !properties.isDisjoint(with: [.write, .writeWithoutResponse]) { permissions.insert(.writeable) }
        return permissions
    }

    fileprivate func makeCharacteristic() -> CBMutableCharacteristic {
        let characteristic = CBMutableCharacteristic(
            type: uuid, properties: properties, value: value, permissions: permissions)
        if let userDescription {
            let type = CBUUID(string: CBUUIDCharacteristicUserDescriptionString)
            characteristic.descriptors = [CBMutableDescriptor(type: type, value: userDescription)]
        }
        return characteristic
    }
}

/// A service that is published.
// `@unchecked`: constants, and CoreBluetooth's object is used with the peripheral's lock held.
public struct PublishedService: @unchecked Sendable {
    public let uuid: CBUUID
    /// In the order of the definition.
    public let characteristics: [PublishedCharacteristic]
    let service: CBMutableService

    /// The first one of this kind; `nil` if there is none.
    public func characteristic(_ uuid: CBUUID) -> PublishedCharacteristic? {
        characteristics.first { $0.uuid == uuid }
    }
}

/// A characteristic that is published. Two are equal if they are the same one.
// `@unchecked`: constants, and CoreBluetooth's object is used with the peripheral's lock held.
public struct PublishedCharacteristic: @unchecked Sendable, Hashable {
    public var uuid: CBUUID { characteristic.uuid }
    let characteristic: CBCharacteristic

    /// The centrals that listen to it.
    public var subscribers: [RemoteCentral] {
        ((characteristic as? CBMutableCharacteristic)?.subscribedCentrals ?? []).map(RemoteCentral.init)
    }
}

/// A device that uses this one's services.
// `@unchecked`: CoreBluetooth's object guards itself.
public struct RemoteCentral: @unchecked Sendable, Hashable {
    let central: CBCentral

    /// This host's own name for it; not its address.
    public var identifier: UUID { central.identifier }
    /// How many octets of a value one notification carries.
    public var maximumUpdateLength: Int { central.maximumUpdateValueLength }
}
