package import BluetoothTypes

/// The types of attributes that carry the structure of a GATT database (Assigned Numbers, 3.6, 3.7 and 3.8).
package enum GATTAttributeType {
    package static let primaryService = BluetoothUUID.uuid16(0x2800)
    package static let secondaryService = BluetoothUUID.uuid16(0x2801)
    package static let include = BluetoothUUID.uuid16(0x2802)
    package static let characteristic = BluetoothUUID.uuid16(0x2803)
    package static let extendedProperties = BluetoothUUID.uuid16(0x2900)
    package static let userDescription = BluetoothUUID.uuid16(0x2901)
    package static let clientCharacteristicConfiguration = BluetoothUUID.uuid16(0x2902)
    package static let serverCharacteristicConfiguration = BluetoothUUID.uuid16(0x2903)
    package static let presentationFormat = BluetoothUUID.uuid16(0x2904)
    package static let aggregateFormat = BluetoothUUID.uuid16(0x2905)

    package static let genericAccessService = BluetoothUUID.uuid16(0x1800)
    package static let genericAttributeService = BluetoothUUID.uuid16(0x1801)
    package static let deviceName = BluetoothUUID.uuid16(0x2A00)
    package static let appearance = BluetoothUUID.uuid16(0x2A01)
    package static let serviceChanged = BluetoothUUID.uuid16(0x2A05)
    package static let clientSupportedFeatures = BluetoothUUID.uuid16(0x2B29)
    package static let databaseHash = BluetoothUUID.uuid16(0x2B2A)
    package static let serverSupportedFeatures = BluetoothUUID.uuid16(0x2B3A)
}

/// What can be done with a characteristic's value.
///
/// Source: Core 6.0, Vol 3, Part G, 3.3.1.1.
package struct GATTProperties: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let broadcast = GATTProperties(rawValue: 0x01)
    package static let read = GATTProperties(rawValue: 0x02)
    package static let writeWithoutResponse = GATTProperties(rawValue: 0x04)
    package static let write = GATTProperties(rawValue: 0x08)
    package static let notify = GATTProperties(rawValue: 0x10)
    package static let indicate = GATTProperties(rawValue: 0x20)
    package static let authenticatedSignedWrites = GATTProperties(rawValue: 0x40)
    package static let extendedProperties = GATTProperties(rawValue: 0x80)
}

/// The bits of a Client Characteristic Configuration descriptor.
///
/// Source: Core 6.0, Vol 3, Part G, 3.3.3.3.
package struct GATTSubscription: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let notifications = GATTSubscription(rawValue: 0x0001)
    package static let indications = GATTSubscription(rawValue: 0x0002)

    /// As it travels, least significant octet first.
    var octets: [UInt8] { [UInt8(truncatingIfNeeded: rawValue), UInt8(truncatingIfNeeded: rawValue >> 8)] }
}
