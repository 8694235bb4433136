package import HostInterface

/// A remote device, whichever role it plays.
// `@unchecked`: stored properties are constants.
open class CBPeer: NSObject, NSCopying, @unchecked Sendable {
    let peer: PeerID
    private let fixedIdentifier: UUID

    init(peer: PeerID, identifier: UUID) {
        self.peer = peer
        fixedIdentifier = identifier
        super.init()
    }

    /// The name of this device on this host: the same at each meeting, another on each host, and not its address.
    open var identifier: UUID { fixedIdentifier }

    /// The object itself: a device is one object.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// The address under which the host knows the device.
    package var hostPeer: PeerID { peer }
}
