package import BluetoothTypes

/// A peer as the host knows it: by its identity address, stable across its changing addresses.
package struct PeerID: Hashable, Sendable, Comparable {
    package let address: DeviceAddress
    package init(_ address: DeviceAddress) { self.address = address }
    package static func < (left: PeerID, right: PeerID) -> Bool { left.address < right.address }
}

/// An attribute of a peer or of the local database: its handle.
package struct AttributeHandle: RawRepresentable, Hashable, Sendable, Comparable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    package static func < (left: AttributeHandle, right: AttributeHandle) -> Bool { left.rawValue < right.rawValue }
}

/// The number under which a client's request is answered. The client chooses it; it must not be in use.
package struct RequestNumber: Hashable, Sendable {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// The number of a remote client's question to this server.
package struct ServerRequestID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}
