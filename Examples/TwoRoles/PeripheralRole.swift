import CoreBluetooth
import Foundation

/// The fourteen steps of a peripheral: the other half.
public enum PeripheralStep: Int, CaseIterable {
    case powerAlert = 1
    case poweredOn
    case addService
    case addResult
    case advertise
    case advertiseResult
    case subscribed
    case update
    case queueFull
    case ready
    case write
    case read
    case unsubscribed
    case stop
}

/// This device as the peripheral, the remote one as the central.
public final class PeripheralRole: NSObject {
    public private(set) var steps: Set<PeripheralStep> = []
    public private(set) var value = Data("nothing written yet".utf8)
    public private(set) var written: [Data] = []
    public private(set) var failures: [String] = []

    /// The whole run ends by then.
    public var timeLimit: TimeInterval = 60
    /// How many values to send at once, to see the queue fill.
    public var burst = 100

    private let name: String
    private let queue: DispatchQueue?
    private let after: (TimeInterval, @escaping () -> Void) -> Void
    private let say: (String) -> Void
    private let onFinish: (PeripheralRole) -> Void
    private var manager: CBPeripheralManager?
    private let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
    // A `nil` value means that we are asked at every read and write.
    private let characteristic = CBMutableCharacteristic(
        type: CBUUID(string: "FFF1"), properties: [.read, .write, .writeWithoutResponse, .notify], value: nil,
        permissions: [.readable, .writeable])
    private var counter: UInt8 = 0
    private var toSend = 0
    private var isFinished = false

    public init(
        name: String,
        queue: DispatchQueue? = nil,
        after: @escaping (TimeInterval, @escaping () -> Void) -> Void = {
            DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1)
        },
        say: @escaping (String) -> Void = { print($0) },
        onFinish: @escaping (PeripheralRole) -> Void
    ) {
        self.name = name
        self.queue = queue
        self.after = after
        self.say = say
        self.onFinish = onFinish
    }

    public func start() {
        manager = CBPeripheralManager(
            delegate: self, queue: queue, options: [CBPeripheralManagerOptionShowPowerAlertKey: true])
        done(.powerAlert, "the manager is made")
        after(timeLimit) { [weak self] in self?.finish("the time is up") }
    }

    private func done(_ step: PeripheralStep, _ what: String) {
        if steps.insert(step).inserted { say("step \(step.rawValue): \(what)") }
    }

    private func finish(_ problem: String? = nil) {
        guard !isFinished else { return }
        isFinished = true
        if let problem {
            failures.append(problem)
            say(problem)
        }
        onFinish(self)
    }
}

extension PeripheralRole: CBPeripheralManagerDelegate {
    public func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        switch peripheral.state {
        case .poweredOn:
            done(.poweredOn, "Bluetooth is on")
            characteristic.descriptors = [
                CBMutableDescriptor(
                    type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "a counter")
            ]
            service.characteristics = [characteristic]
            peripheral.add(service)
            done(.addService, "asked to publish FFF0")
        case .unauthorized, .unsupported:
            finish("no Bluetooth for us here (state \(peripheral.state.rawValue))")
        case .poweredOff, .resetting, .unknown:
            say("Bluetooth is not ready yet")
        @unknown default:
            break
        }
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error { return finish("the service was refused: \(error.localizedDescription)") }
        done(.addResult, "published")
        // Now, and not before: a central that comes early would find nothing.
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: name, CBAdvertisementDataServiceUUIDsKey: [service.uuid],
        ])
        done(.advertise, "asked to advertise as \(name)")
    }

    public func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        if let error { return finish("advertising was refused: \(error.localizedDescription)") }
        done(.advertiseResult, "on the air")
    }

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        done(.subscribed, "a central listens, and takes \(central.maximumUpdateValueLength) octets at a time")
        toSend = burst
        sendValues()
    }

    /// Sends until all is sent or the queue is full. In the second case `peripheralManagerIsReady` goes on.
    private func sendValues() {
        guard let manager else { return }
        while toSend > 0 {
            guard manager.updateValue(Data([counter]), for: characteristic, onSubscribedCentrals: nil) else {
                done(.queueFull, "the queue is full, \(toSend) values wait")
                return
            }
            done(.update, "sending \(burst) values")
            counter &+= 1
            toSend -= 1
        }
        if steps.contains(.ready) { say("all \(burst) values are sent") }
    }

    public func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        done(.ready, "there is room again")
        sendValues()
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        guard request.offset <= value.count else {
            peripheral.respond(to: request, withResult: .invalidOffset)
            return
        }
        request.value = value.dropFirst(request.offset)
        peripheral.respond(to: request, withResult: .success)
        done(.read, "the central read \"\(String(decoding: value, as: UTF8.self))\"")
    }

    /// All of it is applied, or nothing; one answer, to the first request, is the answer to all.
    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        var changed = value
        for request in requests {
            guard request.offset <= changed.count else {
                peripheral.respond(to: first, withResult: .invalidOffset)
                return
            }
            changed = changed.prefix(request.offset) + (request.value ?? Data())
        }
        value = Data(changed)
        written.append(value)
        peripheral.respond(to: first, withResult: .success)
        done(.write, "the central wrote \"\(String(decoding: value, as: UTF8.self))\"")
    }

    /// There is no callback for a central that leaves. This one is the sign.
    public func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        toSend = 0
        done(.unsubscribed, "the central does not listen any more")
        peripheral.stopAdvertising()
        peripheral.removeAllServices()
        done(.stop, "off the air")
        finish()
    }
}
