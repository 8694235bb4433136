import CoreBluetooth

/// An app as a peripheral that writes down what it is told, and answers requests as the test says.
final class PeripheralApp: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    // `@unchecked`: one test, one thread.
    private(set) var manager: CBPeripheralManager!
    var log: [String] = []
    var onRead: (PeripheralApp, CBATTRequest) -> Void = { app, request in
        app.manager.respond(to: request, withResult: .success)
    }
    var onWrite: (PeripheralApp, [CBATTRequest]) -> Void = { app, requests in
        app.manager.respond(to: requests[0], withResult: .success)
    }
    /// What else to do at a call, by its name in the log.
    var reactions: [String: (PeripheralApp) -> Void] = [:]
    var errors: [any Error] = []
    /// The numbers that were published, and the channels that the app holds.
    var psms: [CBL2CAPPSM] = []
    var channels: [CBL2CAPChannel] = []
    /// What it was told to be restored.
    private(set) var restored: [String: Any]?

    init(queue: DispatchQueue? = nil, options: [String: Any]? = nil) {
        super.init()
        manager = CBPeripheralManager(delegate: self, queue: queue, options: options)
    }

    func take() -> [String] {
        defer { log = [] }
        return log
    }

    private func note(_ call: String, _ detail: String = "", _ error: (any Error)? = nil) {
        if let error { errors.append(error) }
        let suffix = error.map { " \(shortDescription($0))" } ?? ""
        log.append(call + (detail.isEmpty ? "" : " \(detail)") + suffix)
        reactions[call]?(self)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        restored = dict
        note("willRestore", "\(peripheral.state)")
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { note("state", "\(peripheral.state)") }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        note("didStartAdvertising", "", error)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        note("didAdd", service.uuid.uuidString, error)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        note("didSubscribe", "\(characteristic.uuid.uuidString) \(central.maximumUpdateValueLength)")
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        note("didUnsubscribe", characteristic.uuid.uuidString)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        note("didReceiveRead", "\(request.characteristic.uuid.uuidString) \(request.offset)")
        onRead(self, request)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        let parts = requests.map { "\($0.characteristic.uuid.uuidString) \($0.offset) \(hex($0.value))" }
        note("didReceiveWrite", parts.joined(separator: ", "))
        onWrite(self, requests)
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { note("isReady") }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {
        if error == nil { psms.append(PSM) }
        note("didPublish", "", error)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {
        note("didUnpublish", PSM == psms.last ? "" : "another", error)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
    ) {
        if let channel { channels.append(channel) }
        note("didOpen", channel == nil ? "" : "channel", error)
    }
}
