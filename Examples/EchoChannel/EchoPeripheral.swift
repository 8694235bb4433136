import CoreBluetooth
import Foundation

/// A peripheral that offers an L2CAP channel and sends back what comes on it.
///
/// The number of the channel is the value of a characteristic, for a central has no other way to learn it.
public final class EchoPeripheral: NSObject, CBPeripheralManagerDelegate {
    public private(set) var problem: String?
    public private(set) var echoed = 0

    private let queue: DispatchQueue?
    private let runLoop: RunLoop
    private let say: (String) -> Void
    private let onFinish: (EchoPeripheral) -> Void
    private var manager: CBPeripheralManager?
    private var end: EchoEnd?
    private var isFinished = false

    public init(
        queue: DispatchQueue? = nil, runLoop: RunLoop = .main, say: @escaping (String) -> Void = { print($0) },
        onFinish: @escaping (EchoPeripheral) -> Void
    ) {
        self.queue = queue
        self.runLoop = runLoop
        self.say = say
        self.onFinish = onFinish
    }

    public func start() { manager = CBPeripheralManager(delegate: self, queue: queue) }

    private func finish(_ problem: String?) {
        guard !isFinished else { return }
        isFinished = true
        self.problem = problem
        if let problem { say(problem) }
        onFinish(self)
    }

    public func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        switch peripheral.state {
        case .poweredOn: peripheral.publishL2CAPChannel(withEncryption: false)
        case .unsupported, .unauthorized:
            finish("no Bluetooth for us here (state \(peripheral.state.rawValue))")
        default: break
        }
    }

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {
        if let error { return finish("no channel: \(error)") }
        say("the channel has the number \(PSM)")
        let number = CBMutableCharacteristic(
            type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: .read,
            value: Data([UInt8(PSM & 0xFF), UInt8(PSM >> 8)]), permissions: .readable)
        let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
        service.characteristics = [number]
        peripheral.add(service)
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error { return finish("the service was not added: \(error)") }
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Echo", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
        ])
    }

    public func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        if let error { return finish("not on the air: \(error)") }
        say("on the air")
    }

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
    ) {
        guard let channel else { return finish("the channel was not opened: \(error.map { "\($0)" } ?? "-")") }
        say("a central has opened the channel")
        // Whoever does not hold the channel closes it.
        end = EchoEnd(channel, runLoop: runLoop) { [weak self] end, octets in
            self?.echoed += octets.count
            end.send(octets)
        } onEnd: { [weak self] error in
            guard let self else { return }
            say("echoed \(echoed) octets")
            finish(error.map { "the channel broke: \($0)" })
        }
    }
}
