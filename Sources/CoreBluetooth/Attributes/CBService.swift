import HostInterface

/// A service: of a peer, where it is found by ``CBPeripheral/discoverServices(_:)``, or of this device.
open class CBService: CBAttribute, @unchecked Sendable {
    // Under `lock`, like everything that changes here.
    weak var owner: CBPeripheral?
    var discoveredIncludedServices: [CBService]? { didSet { lock.markChanged() } }
    var discoveredCharacteristics: [CBCharacteristic]? { didSet { lock.markChanged() } }
    /// Where it stands at the peer; `nil` for a service of this device.
    let remote: RemoteService?
    private let primary: Bool

    init(remote: RemoteService, of peripheral: CBPeripheral, lock: StateLock) {
        self.remote = remote
        primary = remote.isPrimary
        owner = peripheral
        super.init(uuid: CBUUID(remote.uuid), lock: lock)
    }

    init(localType uuid: CBUUID, primary: Bool) {
        remote = nil
        self.primary = primary
        super.init(uuid: uuid, lock: StateLock())
    }

    /// Whose service it is; `nil` for a service of this device, and when the peripheral is gone.
    open weak var peripheral: CBPeripheral? { lock.withLock { owner } }

    /// Whether it stands for what the device does, and not only as a part of another service.
    open var isPrimary: Bool { primary }

    /// The services that this one includes, as far as discovered; `nil` before the first discovery.
    open var includedServices: [CBService]? { lock.withLock { discoveredIncludedServices } }

    /// The characteristics, as far as discovered, in the order of the peer; `nil` before the first discovery.
    open var characteristics: [CBCharacteristic]? { lock.withLock { discoveredCharacteristics } }

    open override var description: String {
        "<CBService: \(address(of: self)), isPrimary = \(isPrimary ? "YES" : "NO"), UUID = \(uuid)>"
    }
}

/// A service of this device, to be published by ``CBPeripheralManager/add(_:)``. What is changed after that has no
/// effect on what is published.
open class CBMutableService: CBService, @unchecked Sendable {
    /// - Parameters:
    ///   - UUID: its kind.
    ///   - isPrimary: whether it stands for what the device does; a service that is only a part of another is not.
    public init(type UUID: CBUUID, primary isPrimary: Bool) {
        super.init(localType: UUID, primary: isPrimary)
    }

    /// Services that this one includes. They must be published before it.
    open override var includedServices: [CBService]? {
        get { super.includedServices }
        set { lock.withLock { discoveredIncludedServices = newValue } }
    }

    /// The characteristics, in the order in which centrals find them. Set before ``CBPeripheralManager/add(_:)``.
    open override var characteristics: [CBCharacteristic]? {
        get { super.characteristics }
        set {
            lock.withLock { discoveredCharacteristics = newValue }
            for characteristic in newValue ?? [] {
                characteristic.lock.withLock { characteristic.owner = self }
            }
        }
    }
}

/// How an object is told apart in the log: by where it lies in memory.
func address(of object: AnyObject) -> String {
    "0x" + String(UInt(bitPattern: ObjectIdentifier(object)), radix: 16)
}
