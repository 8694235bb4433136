import LinkLayer

/// One connection as HCI knows it.
final class Link {
    let handle: UInt16
    var connection: Connection
    /// The central's sleep clock accuracy, as a class.
    let clockAccuracyClass: UInt8
    /// Packets of the host that wait here, or wait for their acknowledgement.
    var heldPackets = 0
    /// In units of 10 ms.
    var authenticatedPayloadTimeout: UInt16 = 0x0BB8

    init(handle: UInt16, connection: Connection, clockAccuracyClass: UInt8) {
        self.handle = handle
        self.connection = connection
        self.clockAccuracyClass = clockAccuracyClass
    }
}
