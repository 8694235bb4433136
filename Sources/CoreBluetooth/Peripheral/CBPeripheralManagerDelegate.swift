/// What a ``CBPeripheralManager`` tells. All calls come on the manager's queue, one after the other.
///
/// Only ``peripheralManagerDidUpdateState(_:)`` must be there. Swift chooses the optional methods where a type
/// states its conformance, so they must stand in that type and not in a subclass of it.
public protocol CBPeripheralManagerDelegate: NSObjectProtocol {
    /// The radio's state has changed, or is known for the first time.
    ///
    /// Below `.poweredOn`, advertising has stopped and centrals are disconnected. Below `.poweredOff`, the published
    /// services are gone too.
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager)

    /// The system brings back what an earlier process had published. Not called yet.
    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any])

    /// Answers ``CBPeripheralManager/startAdvertising(_:)``.
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?)

    /// Answers ``CBPeripheralManager/add(_:)``.
    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?)

    /// A central wants to be told of each new value.
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic)

    /// A central does not want it any more, or has left.
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic)

    /// A central reads a value that the app provides. Answer by ``CBPeripheralManager/respond(to:withResult:)``.
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest)

    /// A central writes: apply all parts or none, and answer once, with the first request or the one that fails.
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest])

    /// There is room again for ``CBPeripheralManager/updateValue(_:for:onSubscribedCentrals:)``.
    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager)

    /// Answers ``CBPeripheralManager/publishL2CAPChannel(withEncryption:)``.
    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?)

    /// Answers ``CBPeripheralManager/unpublishL2CAPChannel(_:)``.
    func peripheralManager(
        _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?)

    /// A central has opened a channel.
    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?)
}

extension CBPeripheralManagerDelegate {
    public func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {}

    public func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {}

    public func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {}

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {}

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {}

    // A delegate without this method must not leave the central waiting for 30 seconds.
    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        peripheral.line.warn(
            "The delegate for \(peripheral) does not implement -[peripheralManager:didReceiveReadRequest:]")
        peripheral.respond(to: request, withResult: .requestNotSupported)
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        peripheral.line.warn(
            "The delegate for \(peripheral) does not implement -[peripheralManager:didReceiveWriteRequests:]")
        if let first = requests.first { peripheral.respond(to: first, withResult: .requestNotSupported) }
    }

    public func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {}

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {}

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {}

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
    ) {}
}
