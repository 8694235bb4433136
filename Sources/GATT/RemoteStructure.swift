package import BluetoothTypes

/// A service of a peer.
package struct GATTService: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var handles: ClosedRange<UInt16>

    package init(uuid: BluetoothUUID, handles: ClosedRange<UInt16>) {
        self.uuid = uuid
        self.handles = handles
    }
}

/// An include declaration of a peer: where it stands, and the service that it names. Whether that one is primary,
/// the declaration does not tell.
package struct GATTInclude: Hashable, Sendable {
    package var declaration: UInt16
    package var service: GATTService

    package init(declaration: UInt16, service: GATTService) {
        self.declaration = declaration
        self.service = service
    }
}

/// A characteristic of a peer.
package struct GATTCharacteristic: Hashable, Sendable {
    package var uuid: BluetoothUUID
    /// Where its declaration stands.
    package var declaration: UInt16
    /// Where its value stands.
    package var value: UInt16
    /// The last handle that belongs to it: just before the next declaration, or the last of the range searched.
    package var end: UInt16
    package var properties: GATTProperties

    package init(
        uuid: BluetoothUUID, declaration: UInt16, value: UInt16, end: UInt16, properties: GATTProperties
    ) {
        self.uuid = uuid
        self.declaration = declaration
        self.value = value
        self.end = end
        self.properties = properties
    }
}

/// A descriptor of a peer.
package struct GATTDescriptor: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var handle: UInt16

    package init(uuid: BluetoothUUID, handle: UInt16) {
        self.uuid = uuid
        self.handle = handle
    }
}

/// A value and the handle at which it was found.
package struct GATTValue: Hashable, Sendable {
    package var handle: UInt16
    package var value: [UInt8]

    package init(handle: UInt16, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }
}

/// A part of a value to be written.
package struct GATTWritePart: Hashable, Sendable {
    package var handle: UInt16
    package var offset: Int
    package var value: [UInt8]

    package init(handle: UInt16, offset: Int, value: [UInt8]) {
        self.handle = handle
        self.offset = offset
        self.value = value
    }
}
