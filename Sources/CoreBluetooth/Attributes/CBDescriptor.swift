import BluetoothTypes
import HostInterface

/// What a characteristic says about itself.
open class CBDescriptor: CBAttribute, @unchecked Sendable {
    // Under `lock`.
    weak var owner: CBCharacteristic?
    var currentValue: Any?
    /// Where it stands at the peer; `nil` for a descriptor of this device.
    let remote: RemoteDescriptor?

    init(remote: RemoteDescriptor, of characteristic: CBCharacteristic) {
        self.remote = remote
        owner = characteristic
        super.init(uuid: CBUUID(remote.uuid), lock: characteristic.lock)
    }

    init(localType uuid: CBUUID, value: Any?) {
        remote = nil
        currentValue = value
        super.init(uuid: uuid, lock: StateLock())
    }

    /// The characteristic it belongs to; `nil` when that is gone.
    open weak var characteristic: CBCharacteristic? { lock.withLock { owner } }

    /// What was last read: `NSNumber` for 0x2900, 0x2902 and 0x2903, `String` for 0x2901, `Data` for all others.
    open var value: Any? { lock.withLock { currentValue } }

    open override var description: String {
        let content = value.map { "\($0)" } ?? "(null)"
        return "<CBDescriptor: \(address(of: self)), UUID = \(uuid), value = \(content)>"
    }
}

/// A descriptor of this device: a user description (0x2901, `String`) or a presentation format (0x2904, `Data`).
/// The others are made by the system from the characteristic's properties, and an attempt to make one ends the
/// program.
open class CBMutableDescriptor: CBDescriptor, @unchecked Sendable {
    /// - Parameters:
    ///   - UUID: 0x2901 or 0x2904.
    ///   - value: a `String` for 0x2901, `Data` for 0x2904. It cannot be changed afterwards.
    public init(type UUID: CBUUID, value: Any?) {
        precondition(
            UUID.bluetoothUUID == .userDescription || UUID.bluetoothUUID == .presentationFormat,
            "Only the Characteristic User Description and Characteristic Presentation Format descriptors are "
                + "currently supported.")
        super.init(localType: UUID, value: value)
    }
}

extension BluetoothUUID {
    // Bluetooth Assigned Numbers, 3.7.
    static let extendedProperties = BluetoothUUID.uuid16(0x2900)
    static let userDescription = BluetoothUUID.uuid16(0x2901)
    static let clientConfiguration = BluetoothUUID.uuid16(0x2902)
    static let serverConfiguration = BluetoothUUID.uuid16(0x2903)
    static let presentationFormat = BluetoothUUID.uuid16(0x2904)
}

/// A descriptor's octets as the type that its kind calls for.
func descriptorValue(_ octets: [UInt8], of kind: BluetoothUUID) -> Any {
    switch kind {
    case .extendedProperties, .clientConfiguration, .serverConfiguration:
        NSNumber(value: octets.prefix(2).reversed().reduce(UInt16(0)) { $0 << 8 | UInt16($1) })
    case .userDescription: String(decoding: octets, as: UTF8.self)
    default: Data(octets)
    }
}
