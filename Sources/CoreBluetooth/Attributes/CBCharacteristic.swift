import HostInterface

/// A characteristic: of a peer, found by ``CBPeripheral/discoverCharacteristics(_:for:)``, or of this device.
open class CBCharacteristic: CBAttribute, @unchecked Sendable {
    // Under `lock`, like everything that changes here.
    weak var owner: CBService?
    var currentProperties: CBCharacteristicProperties
    var currentValue: Data?
    var currentDescriptors: [CBDescriptor]? { didSet { lock.markChanged() } }
    var isSubscribed = false { didSet { lock.markChanged() } }
    /// Where it stands at the peer; `nil` for a characteristic of this device.
    let remote: RemoteCharacteristic?

    init(remote: RemoteCharacteristic, of service: CBService) {
        self.remote = remote
        owner = service
        currentProperties = CBCharacteristicProperties(rawValue: UInt(remote.properties))
        super.init(uuid: CBUUID(remote.uuid), lock: service.lock)
    }

    init(localType uuid: CBUUID, properties: CBCharacteristicProperties, value: Data?) {
        remote = nil
        currentProperties = properties
        currentValue = value
        super.init(uuid: uuid, lock: StateLock())
    }

    /// The service it belongs to; `nil` when that is gone.
    open weak var service: CBService? { lock.withLock { owner } }

    /// The handle of the value at the peer; `nil` for a characteristic of this device.
    package var valueHandle: UInt16? { remote?.value.rawValue }

    /// What can be done with it.
    open var properties: CBCharacteristicProperties { lock.withLock { currentProperties } }

    /// What was last read or notified. A write does not change it.
    open var value: Data? { lock.withLock { currentValue } }

    /// The descriptors, as far as discovered; `nil` before the first discovery.
    open var descriptors: [CBDescriptor]? { lock.withLock { currentDescriptors } }

    /// A leftover of an old API.
    @available(iOS, introduced: 5.0, deprecated: 8.0)
    @available(macOS, introduced: 10.9, deprecated: 10.13)
    open var isBroadcasted: Bool { false }

    /// Whether this app has notifications or indications of it switched on.
    open var isNotifying: Bool { lock.withLock { isSubscribed } }

    open override var description: String {
        let bits = "0x" + String(properties.rawValue, radix: 16, uppercase: true)
        let content = value.map { "{length = \($0.count), bytes = 0x\(hexadecimal($0))}" } ?? "(null)"
        return "<CBCharacteristic: \(address(of: self)), UUID = \(uuid), properties = \(bits), value = \(content), "
            + "notifying = \(isNotifying ? "YES" : "NO")>"
    }
}

/// A characteristic of this device, for ``CBMutableService/characteristics``.
///
/// With a value it is constant and served without asking the app; with `nil` the app is asked at every read and
/// write.
open class CBMutableCharacteristic: CBCharacteristic, @unchecked Sendable {
    // Under `lock`.
    private var currentPermissions: CBAttributePermissions
    var subscribers: [CBCentral] = []

    /// - Parameters:
    ///   - UUID: its kind.
    ///   - properties: what it says can be done with it. The broadcast and extended ones are the system's.
    ///   - value: a constant of at most 512 octets, or `nil` if the app is asked at each read and write.
    ///   - permissions: what a central may do. Properties say what it should try; both are needed.
    public init(
        type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?, permissions: CBAttributePermissions
    ) {
        currentPermissions = permissions
        super.init(localType: UUID, properties: properties, value: value)
    }

    /// What a central may do with the value.
    open var permissions: CBAttributePermissions {
        get { lock.withLock { currentPermissions } }
        set { lock.withLock { currentPermissions = newValue } }
    }

    /// The centrals that want to be told of each new value.
    open var subscribedCentrals: [CBCentral]? { lock.withLock { subscribers } }

    open override var properties: CBCharacteristicProperties {
        get { super.properties }
        set { lock.withLock { currentProperties = newValue } }
    }

    open override var value: Data? {
        get { super.value }
        set { lock.withLock { currentValue = newValue } }
    }

    open override var descriptors: [CBDescriptor]? {
        get { super.descriptors }
        set {
            lock.withLock { currentDescriptors = newValue }
            for descriptor in newValue ?? [] { descriptor.lock.withLock { descriptor.owner = self } }
        }
    }
}

/// What can be done with a characteristic's value. The lower eight travel to the peer.
///
/// Source: Core 6.0, Vol 3, Part G, 3.3.1.1.
public struct CBCharacteristicProperties: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Not for characteristics of this device.
    public static var broadcast: CBCharacteristicProperties { Self(rawValue: 0x001) }
    /// It can be read.
    public static var read: CBCharacteristicProperties { Self(rawValue: 0x002) }
    /// It can be written without response.
    public static var writeWithoutResponse: CBCharacteristicProperties { Self(rawValue: 0x004) }
    /// It can be written with response.
    public static var write: CBCharacteristicProperties { Self(rawValue: 0x008) }
    /// It tells of new values without confirmation.
    public static var notify: CBCharacteristicProperties { Self(rawValue: 0x010) }
    /// It tells of new values, and the receiver confirms each.
    public static var indicate: CBCharacteristicProperties { Self(rawValue: 0x020) }
    /// It can be written by a signed write.
    public static var authenticatedSignedWrites: CBCharacteristicProperties { Self(rawValue: 0x040) }
    /// Not for characteristics of this device.
    public static var extendedProperties: CBCharacteristicProperties { Self(rawValue: 0x080) }
    /// Notify, and only peers on an encrypted link may switch it on.
    public static var notifyEncryptionRequired: CBCharacteristicProperties { Self(rawValue: 0x100) }
    /// Indicate, and only peers on an encrypted link may switch it on.
    public static var indicateEncryptionRequired: CBCharacteristicProperties { Self(rawValue: 0x200) }
}

/// What a central may do with a value of this device.
public struct CBAttributePermissions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Read it.
    public static var readable: CBAttributePermissions { Self(rawValue: 0x01) }
    /// Write it.
    public static var writeable: CBAttributePermissions { Self(rawValue: 0x02) }
    /// Read it on an encrypted link; on another the central gets `insufficientEncryption`.
    public static var readEncryptionRequired: CBAttributePermissions { Self(rawValue: 0x04) }
    /// Write it on an encrypted link; on another the central gets `insufficientEncryption`.
    public static var writeEncryptionRequired: CBAttributePermissions { Self(rawValue: 0x08) }
}

/// Lower case, two digits an octet.
func hexadecimal(_ data: Data) -> String {
    data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
