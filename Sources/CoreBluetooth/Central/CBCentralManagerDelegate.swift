/// What a ``CBCentralManager`` tells. All calls come on the manager's queue, one after the other.
///
/// Only ``centralManagerDidUpdateState(_:)`` must be there. Swift chooses the optional methods where a type states
/// its conformance, so they must stand in that type and not in a subclass of it.
public protocol CBCentralManagerDelegate: NSObjectProtocol {
    /// The radio's state has changed, or is known for the first time.
    ///
    /// Below `.poweredOn`, scans have stopped and links are gone, without further calls. Below `.poweredOff`, the
    /// manager's peripherals are void, and must be found anew.
    func centralManagerDidUpdateState(_ central: CBCentralManager)

    /// The system brings back what an earlier process had asked for. Not called yet.
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any])

    /// A device advertises. The app keeps a reference to `peripheral` if it wants it.
    ///
    /// - Parameters:
    ///   - central: the manager that scans.
    ///   - peripheral: the device, which nobody holds but the app.
    ///   - advertisementData: by the keys `CBAdvertisementData…`. A device is often reported twice: for its
    ///     advertisement, then for its scan response.
    ///   - RSSI: signal strength in dBm; 127 means not available.
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber)

    /// The link is up.
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral)

    /// The attempt to connect has failed, and is over.
    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?)

    /// The link has ended, or the attempt was cancelled. Its services are void; what was asked and not answered will
    /// not be answered.
    ///
    /// - Parameters:
    ///   - central: the peripheral's manager.
    ///   - peripheral: the device, whose services are `nil` by now.
    ///   - error: `nil` if the app asked for it; `CBError.connectionTimeout` if the device was not heard any more;
    ///     `CBError.peripheralDisconnected` if the device ended it.
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?)

    /// The same with more detail. It is called if the shorter form is absent.
    ///
    /// - Parameters:
    ///   - central: the peripheral's manager.
    ///   - peripheral: the device, whose services are `nil` by now.
    ///   - timestamp: when the link ended, in seconds since 2001-01-01 00:00:00 UTC.
    ///   - isReconnecting: whether the system is connecting again already.
    ///   - error: as in the shorter form.
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: (any Error)?)

    /// A device was connected or disconnected, by whichever app.
    func centralManager(
        _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral)

    /// Only Apple's phones have this service; never called.
    func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral)
}

extension CBCentralManagerDelegate {
    public func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {}

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {}

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {}

    public func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {}

    // The manager calls this form only. So a delegate that has both forms gets the old one, as on Apple's systems.
    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        let detail = central.disconnectionDetail
        centralManager(
            central, didDisconnectPeripheral: peripheral, timestamp: detail.timestamp,
            isReconnecting: detail.isReconnecting, error: error)
    }

    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: (any Error)?
    ) {}

    public func centralManager(
        _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
    ) {}

    public func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral) {}
}
