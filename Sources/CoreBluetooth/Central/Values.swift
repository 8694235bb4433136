import BluetoothTypes
import HostInterface

/// Reading, writing and subscribing on a link.
extension CBPeripheral {
    // MARK: Characteristics

    func read(_ characteristic: CBCharacteristic) {
        guard isConnected() else { return }
        guard let remote = valid(characteristic) else {
            return answer {
                $0.delegate?.peripheral($0, didUpdateValueFor: characteristic, error: CBError(.invalidHandle))
            }
        }
        checkListener(
            "Reading a characteristic's value for peripheral", "peripheral:didUpdateValueForCharacteristic:error:")
        ask(.read(peer, remote.value)) { peripheral, answer in
            if case .success(.value(let octets)) = answer {
                peripheral.line.lock.withLock { characteristic.currentValue = Data(octets) }
            }
            peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: answer.error)
        }
    }

    func write(_ data: Data, to characteristic: CBCharacteristic, _ type: CBCharacteristicWriteType) {
        guard isConnected() else { return }
        switch type {
        case .withResponse: writeWithResponse(data, for: characteristic)
        case .withoutResponse: writeWithoutResponse(data, for: characteristic)
        }
    }

    private func writeWithResponse(_ data: Data, for characteristic: CBCharacteristic) {
        guard let remote = valid(characteristic) else {
            return answer {
                $0.delegate?.peripheral($0, didWriteValueFor: characteristic, error: CBError(.invalidHandle))
            }
        }
        if !characteristic.properties.contains(.write) {
            line.warn(
                "Characteristic \(characteristic) does not specify the \"Write\" property - "
                    + "the peripheral will refuse the write")
        }
        guard data.count <= longestValue else {
            return answer {
                $0.delegate?.peripheral(
                    $0, didWriteValueFor: characteristic, error: CBATTError(.invalidAttributeValueLength))
            }
        }
        ask(.write(peer, remote.value, value: Array(data), withResponse: true)) { peripheral, answer in
            peripheral.delegate?.peripheral(peripheral, didWriteValueFor: characteristic, error: answer.error)
        }
    }

    private func writeWithoutResponse(_ data: Data, for characteristic: CBCharacteristic) {
        guard let remote = valid(characteristic) else { return }
        guard characteristic.properties.contains(.writeWithoutResponse) else {
            return line.warn(
                "Characteristic \(characteristic) does not specify the \"Write Without Response\" property - "
                    + "ignoring response-less write")
        }
        let room = maximumWriteValueLength(for: .withoutResponse)
        if data.count > room {
            line.warn("A write without response carries \(room) octets on this link, not \(data.count) - cutting it")
        }
        line.lock.withLock {
            guard linkState == .connected else { return }
            guard writes.enter() else {
                return line.warn(
                    "\(self) has no room for a write without response - dropping it. Wait for "
                        + "peripheralIsReadyToSendWriteWithoutResponse: when canSendWriteWithoutResponse is NO")
            }
            let value = Array(data.prefix(room))
            ask(.write(peer, remote.value, value: value, withResponse: false)) { peripheral, _ in
                guard peripheral.line.lock.withLock({ peripheral.writes.leave() }) else { return }
                peripheral.delegate?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
            }
        }
    }

    func subscribe(_ enabled: Bool, to characteristic: CBCharacteristic) {
        guard isConnected() else { return }
        guard let remote = valid(characteristic) else {
            return answerSubscription(to: characteristic, CBError(.invalidHandle))
        }
        let properties = characteristic.properties
        guard properties.contains(.notify) || properties.contains(.indicate) else {
            return answerSubscription(to: characteristic, CBATTError(.requestNotSupported))
        }
        if characteristic.isNotifying == enabled {
            // As on Apple's systems this one answer comes at once, if the caller is where answers come.
            guard line.isOnQueue else { return answerSubscription(to: characteristic, nil) }
            delegate?.peripheral(self, didUpdateNotificationStateFor: characteristic, error: nil)
            return
        }
        if enabled {
            checkListener(
                "Subscribing to a characteristic's value for peripheral",
                "peripheral:didUpdateValueForCharacteristic:error:")
        }
        let kind: SubscriptionKind =
            if !enabled { .none } else if properties.contains(.notify) { .notifications } else { .indications }
        ask(.subscribe(peer, remote, kind)) { peripheral, answer in
            if case .success = answer {
                peripheral.line.lock.withLock { characteristic.isSubscribed = enabled }
            }
            peripheral.delegate?.peripheral(
                peripheral, didUpdateNotificationStateFor: characteristic, error: answer.error)
        }
    }

    private func answerSubscription(to characteristic: CBCharacteristic, _ error: (any Error)?) {
        answer { $0.delegate?.peripheral($0, didUpdateNotificationStateFor: characteristic, error: error) }
    }

    /// A notification or an indication has come.
    func notified(_ handle: AttributeHandle, _ value: [UInt8]) {
        let characteristic: CBCharacteristic? = line.lock.withLock {
            guard !holdsBack(handle, value), linkState == .connected,
                let characteristic = knownCharacteristics[handle]
            else { return nil }
            characteristic.currentValue = Data(value)
            return characteristic
        }
        guard let characteristic else { return }
        delegate?.peripheral(self, didUpdateValueFor: characteristic, error: nil)
    }

    // MARK: Descriptors

    func read(_ descriptor: CBDescriptor) {
        guard isConnected() else { return }
        guard let remote = valid(descriptor) else {
            return answer { $0.delegate?.peripheral($0, didUpdateValueFor: descriptor, error: CBError(.invalidHandle)) }
        }
        ask(.read(peer, remote.handle)) { peripheral, answer in
            if case .success(.value(let octets)) = answer {
                let value = descriptorValue(octets, of: remote.uuid)
                peripheral.line.lock.withLock { descriptor.currentValue = value }
            }
            peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: descriptor, error: answer.error)
        }
    }

    func write(_ data: Data, to descriptor: CBDescriptor) {
        precondition(
            descriptor.uuid.bluetoothUUID != .clientConfiguration,
            "Client Characteristic Configuration descriptors must be configured using "
                + "setNotifyValue:forCharacteristic:")
        guard isConnected() else { return }
        guard let remote = valid(descriptor) else {
            return answer { $0.delegate?.peripheral($0, didWriteValueFor: descriptor, error: CBError(.invalidHandle)) }
        }
        guard data.count <= longestValue else {
            return answer {
                $0.delegate?.peripheral(
                    $0, didWriteValueFor: descriptor, error: CBATTError(.invalidAttributeValueLength))
            }
        }
        ask(.write(peer, remote.handle, value: Array(data), withResponse: true)) { peripheral, answer in
            peripheral.delegate?.peripheral(peripheral, didWriteValueFor: descriptor, error: answer.error)
        }
    }
}
