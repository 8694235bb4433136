/// What a ``CBPeripheral`` tells. All calls come on its manager's queue, one after the other, and none after the
/// link has ended. Every method is optional.
public protocol CBPeripheralDelegate: NSObjectProtocol {
    /// ``CBPeripheral/name`` has changed.
    func peripheralDidUpdateName(_ peripheral: CBPeripheral)

    /// The device has changed its services. Those given are void; discover anew.
    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService])

    /// The old form of `didReadRSSI`; never called.
    @available(iOS, introduced: 5.0, deprecated: 8.0)
    @available(macOS, introduced: 10.7, deprecated: 10.13)
    func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?)

    /// Answers ``CBPeripheral/readRSSI()``. In dBm.
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?)

    /// Answers ``CBPeripheral/discoverServices(_:)``.
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?)

    /// Answers ``CBPeripheral/discoverIncludedServices(_:for:)``.
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?)

    /// Answers ``CBPeripheral/discoverCharacteristics(_:for:)``.
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?)

    /// Answers ``CBPeripheral/readValue(for:)-(CBCharacteristic)``, and tells of each notification and indication.
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?)

    /// Answers a write with response.
    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?)

    /// Answers ``CBPeripheral/setNotifyValue(_:for:)``.
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?)

    /// Answers ``CBPeripheral/discoverDescriptors(for:)``.
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?)

    /// Answers ``CBPeripheral/readValue(for:)-(CBDescriptor)``.
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?)

    /// Answers ``CBPeripheral/writeValue(_:for:)``.
    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?)

    /// There is room again for writes without response.
    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral)

    /// Answers ``CBPeripheral/openL2CAPChannel(_:)``.
    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?)

    /// A distance was measured.
    func peripheral(
        _ peripheral: CBPeripheral, didReceive results: CBChannelSoundingProcedureResults?, error: (any Error)?)

    /// A distance measurement has ended.
    func peripheral(_ peripheral: CBPeripheral, didCompleteChannelSoundingSession error: (any Error)?)
}

extension CBPeripheralDelegate {
    public func peripheralDidUpdateName(_ peripheral: CBPeripheral) {}

    public func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        peripheral.line.warn(
            "The delegate for \(peripheral) does not implement -[peripheral:didModifyServices:]; "
                + "services of the device have changed and must be discovered anew")
    }

    public func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?) {}

    public func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        peripheral.reportNoListener("Reading RSSI for peripheral", "peripheral:didReadRSSI:error:")
    }

    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        peripheral.reportNoListener("Discovering services for peripheral", "peripheral:didDiscoverServices:")
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
    ) {
        peripheral.reportNoListener(
            "Discovering included services for peripheral", "peripheral:didDiscoverIncludedServicesForService:error:")
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        peripheral.reportNoListener(
            "Discovering characteristics on peripheral", "peripheral:didDiscoverCharacteristicsForService:error:")
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        // Once: a peripheral may notify without end.
        guard peripheral.line.lock.withLock({ peripheral.takeFirstUnheardValue() }) else { return }
        peripheral.reportNoListener(
            "Updating a characteristic's value for peripheral", "peripheral:didUpdateValueForCharacteristic:error:")
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {}

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {}

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        peripheral.reportNoListener(
            "Discovering characteristic descriptors for peripheral",
            "peripheral:didDiscoverDescriptorsForCharacteristic:error:")
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?
    ) {}

    public func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?
    ) {}

    public func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {}

    public func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {}

    public func peripheral(
        _ peripheral: CBPeripheral, didReceive results: CBChannelSoundingProcedureResults?, error: (any Error)?
    ) {}

    public func peripheral(_ peripheral: CBPeripheral, didCompleteChannelSoundingSession error: (any Error)?) {}
}
