import BluetoothCrypto
import BluetoothTypes

extension AttributeDatabase {
    /// The value of Database Hash: 16 octets that differ when the structure of two databases does, whatever the values
    /// are. The least significant octet goes first, as in each number of the protocol (Core 6.0, Vol 3, Part F, 3.3.1).
    ///
    /// Source: Core 6.0, Vol 3, Part G, 7.3.
    package var hash: [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(attributes.count * 12)
        for attribute in attributes {
            switch attribute.type {
            case GATTAttributeType.primaryService, GATTAttributeType.secondaryService, GATTAttributeType.include,
                GATTAttributeType.characteristic, GATTAttributeType.extendedProperties:
                message += attribute.handle.octets + attribute.type.octets
                if case .stored(let value) = attribute.content { message += value }
            case GATTAttributeType.userDescription, GATTAttributeType.clientCharacteristicConfiguration,
                GATTAttributeType.serverCharacteristicConfiguration, GATTAttributeType.presentationFormat,
                GATTAttributeType.aggregateFormat:
                message += attribute.handle.octets + attribute.type.octets
            default: break
            }
        }
        return aesCMAC(SecretKey(0), message).octets.reversed()
    }
}
