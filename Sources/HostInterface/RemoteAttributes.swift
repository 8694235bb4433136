package import BluetoothTypes

/// A new value for an attribute of a peer.
package struct AttributeWrite: Equatable, Sendable {
    package var handle: AttributeHandle
    package var value: [UInt8]

    package init(_ handle: AttributeHandle, _ value: [UInt8]) {
        self.handle = handle
        self.value = value
    }
}

/// A service of a peer, by its handles.
package struct RemoteService: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var handles: ClosedRange<UInt16>
    package var isPrimary: Bool

    package init(uuid: BluetoothUUID, handles: ClosedRange<UInt16>, isPrimary: Bool = true) {
        self.uuid = uuid
        self.handles = handles
        self.isPrimary = isPrimary
    }
}

/// A characteristic of a peer, by its handles.
package struct RemoteCharacteristic: Hashable, Sendable {
    package var uuid: BluetoothUUID
    /// Where its declaration stands.
    package var declaration: AttributeHandle
    /// Where its value stands.
    package var value: AttributeHandle
    /// The last handle that belongs to it: just before the next declaration, or the service's last.
    package var end: AttributeHandle
    /// The octet of Core 6.0, Vol 3, Part G, 3.3.1.1.
    package var properties: UInt8

    package init(
        uuid: BluetoothUUID, declaration: AttributeHandle, value: AttributeHandle, end: AttributeHandle,
        properties: UInt8
    ) {
        self.uuid = uuid
        self.declaration = declaration
        self.value = value
        self.end = end
        self.properties = properties
    }
}

/// A descriptor of a peer.
package struct RemoteDescriptor: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var handle: AttributeHandle

    package init(uuid: BluetoothUUID, handle: AttributeHandle) {
        self.uuid = uuid
        self.handle = handle
    }
}
