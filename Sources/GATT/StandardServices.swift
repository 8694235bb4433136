import BluetoothTypes

/// What a server says that it can do, in Server Supported Features.
///
/// Source: Core 6.0, Vol 3, Part G, 7.4.
package struct GATTServerFeatures: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let enhancedBearers = GATTServerFeatures(rawValue: 0x01)
}

extension AttributeDatabase {
    /// A database with the two services that every server has: Generic Access and Generic Attribute.
    ///
    /// Generic Attribute holds Service Changed, for this database changes while peers are connected, and what clients
    /// need that keep what they discovered: Database Hash and Client Supported Features.
    ///
    /// - Parameters:
    ///   - deviceName: the name in UTF-8, cut to 248 octets (Core 6.0, Vol 3, Part C, 12.1).
    ///   - appearance: Assigned Numbers, 2.6; 0 is unknown.
    ///   - features: for Server Supported Features; without any, it is left out.
    /// - Source: Core 6.0, Vol 3, Part C, 12 and Part G, 7.
    package static func standard(
        deviceName: String, appearance: UInt16 = 0, features: GATTServerFeatures = []
    ) -> AttributeDatabase {
        var database = AttributeDatabase()
        let access = GATTServiceDefinition(
            uuid: GATTAttributeType.genericAccessService,
            characteristics: [
                GATTCharacteristicDefinition(
                    uuid: GATTAttributeType.deviceName, properties: .read, permissions: .readable,
                    value: cut(deviceName)),
                GATTCharacteristicDefinition(
                    uuid: GATTAttributeType.appearance, properties: .read, permissions: .readable,
                    value: appearance.octets),
            ])
        var attribute = GATTServiceDefinition(
            uuid: GATTAttributeType.genericAttributeService,
            characteristics: [
                GATTCharacteristicDefinition(
                    uuid: GATTAttributeType.serviceChanged, properties: .indicate, permissions: [], value: []),
                GATTCharacteristicDefinition(
                    uuid: GATTAttributeType.clientSupportedFeatures, properties: [.read, .write],
                    permissions: [.readable, .writeable]),
                GATTCharacteristicDefinition(
                    uuid: GATTAttributeType.databaseHash, properties: .read, permissions: .readable),
            ])
        if !features.isEmpty {
            attribute.characteristics.append(
                GATTCharacteristicDefinition(
                    uuid: GATTAttributeType.serverSupportedFeatures, properties: .read, permissions: .readable,
                    value: [features.rawValue]))
        }
        for service in [access, attribute] {
            do throws(AttributeDatabaseError) {
                _ = try database.add(service)
            } catch {
                preconditionFailure("An empty database refuses its first services: \(error)")
            }
        }
        database.serve(.clientFeatures, at: GATTAttributeType.clientSupportedFeatures)
        database.serve(.databaseHash, at: GATTAttributeType.databaseHash)
        return database
    }

    /// Changes the GAP Device Name.
    package mutating func setDeviceName(_ name: String) {
        guard let handle = valueHandle(of: GATTAttributeType.deviceName) else { return }
        store(Self.cut(name), at: handle)
    }

    /// Where Service Changed stands, to be indicated with ``serviceChangedValue(_:)`` when services come or go.
    package var serviceChangedHandle: UInt16? { valueHandle(of: GATTAttributeType.serviceChanged) }

    /// Source: Core 6.0, Vol 3, Part G, 7.1.
    static func serviceChangedValue(_ range: ClosedRange<UInt16>) -> [UInt8] {
        range.lowerBound.octets + range.upperBound.octets
    }

    /// At most 248 octets, and no broken character at the end.
    private static func cut(_ name: String) -> [UInt8] {
        var name = name[...]
        while name.utf8.count > 248 { name.removeLast() }
        return Array(name.utf8)
    }
}
