import CoreBluetooth
import Foundation

/// A peripheral with three mistakes that are made again and again. None of them stops the program; see the log for what
/// the system says of each.
public final class CarelessPeripheral: NSObject {
    /// What `didAdd` said of the service that cannot be.
    public private(set) var refusal: String?

    private let queue: DispatchQueue?
    private let say: (String) -> Void
    private var manager: CBPeripheralManager?
    /// The third mistake: requests that nobody answers.
    private var forgotten: [CBATTRequest] = []

    /// - Parameters:
    ///   - queue: where the callbacks run; `nil` is the main queue.
    ///   - say: takes what a person should read.
    public init(queue: DispatchQueue? = nil, say: @escaping (String) -> Void = { print($0) }) {
        self.queue = queue
        self.say = say
    }

    public func start() { manager = CBPeripheralManager(delegate: self, queue: queue) }

    public func stop() {
        manager?.stopAdvertising()
        manager?.removeAllServices()
    }

    /// The first mistake: a value that the system keeps cannot be written. Apple's system ends the program here.
    private func addImpossible() {
        add(
            "FFE0",
            CBMutableCharacteristic(
                type: CBUUID(string: "FFE1"), properties: [.read, .write], value: Data("fixed".utf8),
                permissions: [.readable, .writeable]))
    }

    private func addCareless() {
        add(
            "FFF0",
            // The second mistake: centrals are told that they may read, and are not let.
            CBMutableCharacteristic(
                type: CBUUID(string: "FFF1"), properties: [.read], value: nil, permissions: [.writeable]),
            CBMutableCharacteristic(
                type: CBUUID(string: "FFF2"), properties: [.read], value: nil, permissions: [.readable]),
            // No mistake here, but one of its central: there is no write without response.
            CBMutableCharacteristic(
                type: CBUUID(string: "FFF3"), properties: [.write], value: nil, permissions: [.writeable]))
    }

    private func add(_ uuid: String, _ characteristics: CBMutableCharacteristic...) {
        let service = CBMutableService(type: CBUUID(string: uuid), primary: true)
        service.characteristics = characteristics
        manager?.add(service)
    }
}

extension CarelessPeripheral: CBPeripheralManagerDelegate {
    public func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        if peripheral.state == .poweredOn { addImpossible() }
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error {
            refusal = error.localizedDescription
            say("\(service.uuid) is refused: \(error.localizedDescription)")
            return addCareless()
        }
        peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
    }

    public func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        say(error.map { "advertising was refused: \($0.localizedDescription)" } ?? "on the air")
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        say("somebody reads \(request.characteristic.uuid); that can wait")
        forgotten.append(request)
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        say("somebody writes")
        peripheral.respond(to: requests[0], withResult: .success)
    }
}
