import CoreBluetooth

/// An app as a central that writes down what it is told, in the order in which it is told.
final class CentralApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    // `@unchecked`: one test, one thread.
    private(set) var manager: CBCentralManager!
    /// What the app has found, and holds.
    var peripherals: [CBPeripheral] = []
    var log: [String] = []
    var advertisements: [[String: Any]] = []
    /// What it was told to be restored.
    private(set) var restored: [String: Any]?
    var errors: [any Error] = []
    /// What else to do at a call, by its name in the log.
    var reactions: [String: (CentralApp, CBPeripheral) -> Void] = [:]
    var keepsPeripherals = true
    /// The channels that the app holds.
    var channels: [CBL2CAPChannel] = []
    var keepsChannels = true

    init(queue: DispatchQueue? = nil, options: [String: Any]? = nil) {
        super.init()
        manager = CBCentralManager(delegate: self, queue: queue, options: options)
    }

    var peripheral: CBPeripheral { peripherals[0] }

    func dropManager() { manager = nil }

    func take() -> [String] {
        defer { log = [] }
        return log
    }

    func characteristic(_ uuid: String) -> CBCharacteristic {
        peripheral.services!.flatMap { $0.characteristics ?? [] }.first { $0.uuid == CBUUID(string: uuid) }!
    }

    private func note(_ call: String, _ peripheral: CBPeripheral, _ detail: String = "", _ error: (any Error)? = nil) {
        if let error { errors.append(error) }
        let suffix = error.map { " \(shortDescription($0))" } ?? ""
        log.append(call + (detail.isEmpty ? "" : " \(detail)") + suffix)
        reactions[call]?(self, peripheral)
    }

    // MARK: CBCentralManagerDelegate

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        // It holds the peripherals.
        restored = keepsPeripherals ? dict : nil
        let found = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
        for peripheral in found { peripheral.delegate = self }
        if keepsPeripherals { peripherals = found }
        log.append("willRestore \(central.state) " + found.map { "\($0.state)" }.joined(separator: " "))
        if let first = found.first { reactions["willRestore"]?(self, first) }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) { log.append("state \(central.state)") }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        advertisements.append(advertisementData)
        if keepsPeripherals && !peripherals.contains(peripheral) { peripherals.append(peripheral) }
        note("didDiscover", peripheral, "\(peripheral.name ?? "-") \(RSSI)")
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.delegate = self
        note("didConnect", peripheral, "\(peripheral.state)")
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        note("didFailToConnect", peripheral, "\(peripheral.state)", error)
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        note("didDisconnect", peripheral, "\(peripheral.state)", error)
    }

    func centralManager(
        _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
    ) {
        note("connectionEvent", peripheral, "\(event)")
    }

    // MARK: CBPeripheralDelegate

    func peripheralDidUpdateName(_ peripheral: CBPeripheral) {
        note("didUpdateName", peripheral, peripheral.name ?? "-")
    }

    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        note("didModifyServices", peripheral, list(invalidatedServices.map(\.uuid)))
    }

    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        note("didReadRSSI", peripheral, "\(RSSI)", error)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        note("didDiscoverServices", peripheral, list(peripheral.services?.map(\.uuid)), error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
    ) {
        note("didDiscoverIncludedServices", peripheral, list(service.includedServices?.map(\.uuid)), error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        note("didDiscoverCharacteristics", peripheral, list(service.characteristics?.map(\.uuid)), error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        note("didUpdateValue", peripheral, "\(characteristic.uuid.uuidString) \(hex(characteristic.value))", error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        note("didWriteValue", peripheral, characteristic.uuid.uuidString, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        note(
            "didUpdateNotificationState", peripheral,
            "\(characteristic.uuid.uuidString) \(characteristic.isNotifying)", error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        note("didDiscoverDescriptors", peripheral, list(characteristic.descriptors?.map(\.uuid)), error)
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        note("didUpdateDescriptor", peripheral, "\(descriptor.uuid.uuidString) \(descriptor.value ?? "-")", error)
    }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {
        note("didWriteDescriptor", peripheral, descriptor.uuid.uuidString, error)
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { note("isReady", peripheral) }

    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        if let channel, keepsChannels { channels.append(channel) }
        note("didOpen", peripheral, channel == nil ? "" : "channel", error)
    }

    func peripheral(_ peripheral: CBPeripheral, didCompleteChannelSoundingSession error: (any Error)?) {
        note("didCompleteChannelSounding", peripheral, "", error)
    }
}

/// `CBError 6`.
func shortDescription(_ error: any Error) -> String {
    switch error {
    case let error as CBError: "CBError \(error.code.rawValue)"
    case let error as CBATTError: "CBATTError \(error.code.rawValue)"
    default: "\(error)"
    }
}

func hex(_ data: Data?) -> String {
    data.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() } ?? "-"
}

private func list(_ uuids: [CBUUID]?) -> String {
    uuids.map { "[" + $0.map(\.uuidString).joined(separator: " ") + "]" } ?? "-"
}
