import CoreBluetooth
import Foundation

/// Sends a file to whoever asks, from the octet asked for on. When the app has been ended and started again, its
/// service and its advertising are there again, and the receivers come back by themselves.
public final class ResumingUpload: NSObject {
    private let content: Data
    private let queue: DispatchQueue?
    private let say: (String) -> Void

    private var manager: CBPeripheralManager?
    private var part: CBMutableCharacteristic?
    private var isAdvertising = false
    /// Who gets what next.
    private var receivers: [(central: CBCentral, next: Int)] = []

    /// - Parameters:
    ///   - content: less than 4 GiB.
    ///   - queue: where the callbacks run; `nil` is the main queue.
    ///   - say: takes what a person should read.
    public init(content: Data, queue: DispatchQueue? = nil, say: @escaping (String) -> Void = { print($0) }) {
        self.content = content
        self.queue = queue
        self.say = say
    }

    public func start() {
        manager = CBPeripheralManager(
            delegate: self, queue: queue, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "upload"])
    }

    public func stop() {
        manager?.stopAdvertising()
        manager?.removeAllServices()
    }

    private func publish() {
        guard let manager, part == nil else { return }
        let part = CBMutableCharacteristic(type: Transfer.part, properties: .notify, value: nil, permissions: [])
        let from = CBMutableCharacteristic(
            type: Transfer.from, properties: .write, value: nil, permissions: .writeable)
        let service = CBMutableService(type: Transfer.service, primary: true)
        service.characteristics = [part, from]
        self.part = part
        manager.add(service)
    }

    private func advertise() {
        // Restored advertising goes on by itself.
        guard let manager, !manager.isAdvertising, !isAdvertising else { return }
        isAdvertising = true
        manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Transfer.service]])
    }

    /// Sends as much as there is room for.
    private func send() {
        guard let manager, let part else { return }
        while let (central, next) = receivers.first {
            let room = central.maximumUpdateValueLength - 4
            let octets = content.dropFirst(next).prefix(room)
            guard manager.updateValue(Transfer.octets(of: next) + octets, for: part, onSubscribedCentrals: [central])
            else { return }  // There is more to come: see `peripheralManagerIsReady`.
            if octets.isEmpty {
                say("all of it sent")
                receivers.removeFirst()
            } else {
                receivers[0].next += octets.count
            }
        }
    }
}

extension ResumingUpload: CBPeripheralManagerDelegate {
    public func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        say("started again")
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        let characteristics = services.first { $0.uuid == Transfer.service }?.characteristics ?? []
        part = characteristics.first { $0.uuid == Transfer.part } as? CBMutableCharacteristic
    }

    public func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        receivers = []
        isAdvertising = false
        guard peripheral.state == .poweredOn else { return }
        // A restored service is published already, or is just being.
        if part == nil { publish() } else { advertise() }
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error { return say("cannot offer the file: \(error)") }
        advertise()
    }

    public func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        say(error.map { "cannot advertise: \($0)" } ?? "offering \(content.count) octets")
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        let request = requests[0]
        guard let offset = request.value.flatMap(Transfer.offset), offset <= content.count else {
            return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        peripheral.respond(to: request, withResult: .success)
        say("sending from \(offset) on")
        receivers.removeAll { $0.central == request.central }
        receivers.append((request.central, offset))
        send()
    }

    public func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send() }

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        receivers.removeAll { $0.central == central }
    }
}
