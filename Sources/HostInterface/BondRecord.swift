package import BluetoothCrypto
package import BluetoothTypes

/// A bond as it is kept: the keys, and what else outlives the link with a bonded peer.
package struct BondRecord: Equatable, Sendable {
    /// A subscription of a bonded client (Core 6.0, Vol 3, Part G, 3.3.3.3).
    package struct Subscription: Hashable, Sendable {
        /// The handle of the characteristic's value, and its type, by which a moved characteristic is found out.
        package var handle: UInt16
        package var uuid: BluetoothUUID
        package var kind: UInt16

        package init(handle: UInt16, uuid: BluetoothUUID, kind: UInt16) {
            self.handle = handle
            self.uuid = uuid
            self.kind = kind
        }
    }

    /// `bond.address` is the identity address, and the record's key.
    package var bond: Bond
    /// By which name the clients of the host know the peer: the address at which they met it first.
    package var peer: PeerID
    /// The peer's GAP Device Name, if known.
    package var name: String?
    /// What the peer is subscribed to here, by handle.
    package var subscriptions: [Subscription] = []
    /// What the peer, as a client, has said that it can do (Core 6.0, Vol 3, Part G, 7.2).
    package var clientFeatures: UInt8 = 0
    /// The Database Hash of this adapter's attributes as the peer knows them; `nil` if that is not known. When it comes
    /// back and they are others, it is told before anything else (Core 6.0, Vol 3, Part G, 2.5.2).
    package var knownDatabase: [UInt8]?
    /// What is known of the peer's attributes, as the host writes it down.
    package var remoteDatabase: [UInt8]?
    /// The next counter to sign with, and the least that the peer may sign with (Core 6.0, Vol 3, Part H, 2.4.5).
    package var localSignCounter: UInt32 = 0
    package var peerSignCounter: UInt32 = 0

    package init(bond: Bond, peer: PeerID? = nil, name: String? = nil) {
        self.bond = bond
        self.peer = peer ?? PeerID(bond.address)
        self.name = name
    }

    package var identity: DeviceAddress { bond.address }
}
