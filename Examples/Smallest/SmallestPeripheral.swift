import CoreBluetooth
import Foundation

/// The smallest peripheral: service `FFF0`, characteristic `FFF1`, which can be read, written and heard.
///
/// The order is the point: add the service, wait for `didAdd`, then advertise.
public final class SmallestPeripheral: NSObject, CBPeripheralManagerDelegate {
    /// The callbacks, in the order in which they came.
    public private(set) var order: [String] = []
    public private(set) var value = Data("good day".utf8)
    public private(set) var problem: String?

    public var timeLimit: TimeInterval = 30
    /// What advertising without a service first leads to; for the curious.
    public var advertisesTooEarly = false

    private let name: String
    private let queue: DispatchQueue?
    private let after: (TimeInterval, @escaping () -> Void) -> Void
    private let say: (String) -> Void
    private let onFinish: (SmallestPeripheral) -> Void
    private var manager: CBPeripheralManager?
    private let characteristic = CBMutableCharacteristic(
        type: CBUUID(string: "FFF1"), properties: [.read, .write, .notify], value: nil,
        permissions: [.readable, .writeable])
    private var isFinished = false

    public init(
        name: String = "Smallest",
        queue: DispatchQueue? = nil,
        after: @escaping (TimeInterval, @escaping () -> Void) -> Void = {
            DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1)
        },
        say: @escaping (String) -> Void = { print($0) },
        onFinish: @escaping (SmallestPeripheral) -> Void
    ) {
        self.name = name
        self.queue = queue
        self.after = after
        self.say = say
        self.onFinish = onFinish
    }

    public func start() {
        manager = CBPeripheralManager(delegate: self, queue: queue)
        after(timeLimit) { [weak self] in self?.finish("the time is up") }
    }

    private func finish(_ problem: String?) {
        guard !isFinished else { return }
        isFinished = true
        self.problem = problem
        if let problem { say(problem) }
        if let manager, manager.isAdvertising { manager.stopAdvertising() }
        onFinish(self)
    }

    public func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        switch peripheral.state {
        case .poweredOn:
            if advertisesTooEarly { advertise(peripheral) }
            let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
            service.characteristics = [characteristic]
            peripheral.add(service)
        case .unsupported, .unauthorized:
            finish("no Bluetooth for us here (state \(peripheral.state.rawValue))")
        default:
            break
        }
    }

    private func advertise(_ peripheral: CBPeripheralManager) {
        // 31 octets in all, 3 of them taken: a long name moves to the scan response, or is cut there.
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: name,
            CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")],
        ])
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        order.append("didAdd")
        if let error { return finish("the service was refused: \(error.localizedDescription)") }
        say("the service is there; advertising as \(name)")
        if !advertisesTooEarly { advertise(peripheral) }
    }

    public func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        order.append("didStartAdvertising")
        if let error { return finish("advertising was refused: \(error.localizedDescription)") }
        say("on the air")
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        order.append("didReceiveRead")
        guard request.offset <= value.count else {
            return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        request.value = value.dropFirst(request.offset)
        peripheral.respond(to: request, withResult: .success)
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        order.append("didReceiveWrite")
        guard let request = requests.first else { return }
        guard requests.count == 1, request.offset == 0, let written = request.value else {
            return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        value = written
        say("written: \"\(String(decoding: value, as: UTF8.self))\"")
        peripheral.respond(to: request, withResult: .success)
        let answer = Data("you wrote ".utf8) + value
        if !peripheral.updateValue(answer, for: characteristic, onSubscribedCentrals: nil) {
            finish("there was no room for the answer")
        }
    }

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        order.append("didSubscribe")
        say("a central listens; one notification takes \(central.maximumUpdateValueLength) octets")
    }

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        order.append("didUnsubscribe")
        say("the central has left")
        peripheral.stopAdvertising()
        finish(nil)
    }
}
