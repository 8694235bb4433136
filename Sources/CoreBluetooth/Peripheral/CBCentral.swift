import HostInterface

/// A remote device that uses this device's services.
// `@unchecked`: what changes is read and written under the manager's lock.
open class CBCentral: CBPeer, @unchecked Sendable {
    private let lock: StateLock
    private var mtu: Int

    init(peer: PeerID, identifier: UUID, mtu: Int, lock: StateLock) {
        self.lock = lock
        self.mtu = mtu
        super.init(peer: peer, identifier: identifier)
    }

    /// How many octets of a value one notification or indication to this central carries: ATT_MTU - 3.
    open var maximumUpdateValueLength: Int { lock.withLock { mtu - 3 } }

    func update(mtu: Int) { lock.withLock { self.mtu = mtu } }

    open override var description: String {
        "<CBCentral: \(address(of: self)), identifier = \(identifier.uuidString), "
            + "MTU = \(maximumUpdateValueLength + 3)>"
    }
}
