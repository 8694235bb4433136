package import ATT
package import BluetoothTypes

/// What a GATT client can do with its peer. Each procedure takes as many requests as it needs, and ends once.
///
/// Source: Core 6.0, Vol 3, Part G, 4.
package enum GATTProcedure: Equatable, Sendable {
    /// 4.3.1. Answer: `.mtu`, ATT_MTU from now on. Once a link; asked again, it answers at once.
    case exchangeMTU
    /// 4.4.1, or 4.4.2 if it is about one UUID. Answer: `.services`, in handle order.
    case discoverPrimaryServices(only: [BluetoothUUID]?)
    /// 4.5.1, in the handles of a service. Answer: `.includes`.
    case findIncludedServices(ClosedRange<UInt16>)
    /// 4.6.1, in the handles of a service. Answer: `.characteristics`.
    case discoverCharacteristics(ClosedRange<UInt16>)
    /// 4.7.1. Answer: `.descriptors`.
    case discoverDescriptors(GATTCharacteristic)
    /// 4.8.1, and 4.8.3 for what did not fit into one answer. Answer: `.value`.
    case read(UInt16)
    /// 4.8.2. Answer: `.values`, or the peer's error if there is not even one.
    case readByUUID(BluetoothUUID, ClosedRange<UInt16>)
    /// 4.8.2 of Database Hash, in all handles (7.3). What was kept of the peer's attributes counts from then on if the
    /// hash is the same. Answer: `.value`, empty if the peer has none.
    case readDatabaseHash
    /// 4.8.4, of two handles or more. Answer: `.value`, the values one behind the other.
    case readMultiple([UInt16])
    /// 4.8.5, of two handles or more. Answer: `.values`; the last one may be cut short.
    case readMultipleVariable([UInt16])
    /// 4.9.3, or 4.9.4 if the value does not fit into one request. Answer: `.done`.
    case write(UInt16, value: [UInt8])
    /// 4.9.4, however short the value is. Answer: `.done`.
    case writeLong(UInt16, value: [UInt8])
    /// 4.9.5: all the parts, or none. Answer: `.done`.
    case reliableWrite([GATTWritePart])
    /// 4.12.3 of the configuration descriptor, which is looked for first if it is not known. Answer: `.done`.
    case subscribe(GATTCharacteristic, GATTSubscription)
}

extension GATTProcedure {
    /// What it does to the peer, and so what it must not overtake.
    enum Influence {
        /// Nothing.
        case none
        /// It changes values.
        case writes
        /// It is about the whole link, or about what all others mean.
        case all
    }

    var influence: Influence {
        switch self {
        case .exchangeMTU, .readDatabaseHash: .all
        case .discoverPrimaryServices, .findIncludedServices, .discoverCharacteristics, .discoverDescriptors, .read,
            .readByUUID, .readMultiple, .readMultipleVariable:
            .none
        case .write, .writeLong, .reliableWrite, .subscribe: .writes
        }
    }

    /// Whether it uses the queue of prepared writes, of which a peer has one for all bearers.
    func usesQueue(mtu: Int) -> Bool {
        switch self {
        case .writeLong, .reliableWrite: true
        case .write(_, let value): value.count > mtu - 3
        default: false
        }
    }

    /// Whether a bearer with this ATT_MTU does for it what the fixed one with its own would do.
    func fits(mtu: Int, fixed: Int) -> Bool {
        switch self {
        case .exchangeMTU: false
        case .write(_, let value): value.count <= mtu - 3 || value.count > fixed - 3
        case .readMultiple, .readMultipleVariable: mtu >= fixed
        default: true
        }
    }
}

package enum GATTAnswer: Equatable, Sendable {
    case done
    case mtu(Int)
    case services([GATTService])
    case includes([GATTInclude])
    case characteristics([GATTCharacteristic])
    case descriptors([GATTDescriptor])
    case value([UInt8])
    case values([GATTValue])
}

package enum GATTFailure: Error, Equatable, Sendable {
    /// The peer's Error Response, or what it would be: a value that no attribute can hold is not even sent.
    case refused(ATTErrorCode)
    /// The peer's answer breaks the protocol. The text says how. Only this procedure ends.
    case illegalAnswer(String)
    /// The characteristic has no Client Characteristic Configuration descriptor.
    case noConfigurationDescriptor
    /// The procedure can't be asked for like this. The text says why.
    case invalidParameters(String)
    /// No answer within thirty seconds: the bearer is lost.
    case timedOut
    /// The peer closed the channel on which it had been asked, and whether it did what it was asked is not known.
    case bearerLost
    /// The link ended.
    case linkLost
}
