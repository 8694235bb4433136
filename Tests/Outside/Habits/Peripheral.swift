import class CoreBluetooth.CBPeripheralManager
import protocol CoreBluetooth.CBPeripheralManagerDelegate
import CoreBluetooth
import Foundation

class Beacon: NSObject, CBPeripheralManagerDelegate, StreamDelegate {
    private var manager: CBPeripheralManager?
    private var characteristic: CBMutableCharacteristic?
    private var subscribers: [CBCentral] = []
    private var queue: [Data] = []
    private var channel: CBL2CAPChannel?
    private var psm: CBL2CAPPSM = 0

    override init() {
        super.init()
        manager = CBPeripheralManager(
            delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "beacon"])
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        if peripheral.state != .poweredOn { return }
        let level = CBMutableCharacteristic(
            type: CBUUID(string: "2A19"), properties: [.read, .notify, .write], value: nil,
            permissions: [.readable, .writeable])
        level.descriptors = [
            CBMutableDescriptor(type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "level")
        ]
        let service = CBMutableService(type: CBUUID(string: "A000"), primary: true)
        service.characteristics = [level]
        characteristic = level
        peripheral.removeAllServices()
        peripheral.add(service)
        peripheral.publishL2CAPChannel(withEncryption: false)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {
        guard error == nil, !peripheral.isAdvertising else { return }
        peripheral.startAdvertising([
            CBAdvertisementDataServiceUUIDsKey: [service.uuid], CBAdvertisementDataLocalNameKey: "beacon",
        ])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
        characteristic = services?.first?.characteristics?.first as? CBMutableCharacteristic
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        guard let value = characteristic?.value, request.offset <= value.count else {
            return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        request.value = value.subdata(in: request.offset..<value.count)
        peripheral.respond(to: request, withResult: .success)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        for request in requests {
            guard let value = request.value, request.characteristic.uuid == characteristic?.uuid else {
                return peripheral.respond(to: request, withResult: CBATTError.Code(rawValue: 0x80)!)
            }
            characteristic?.value = value
        }
        peripheral.respond(to: first, withResult: .success)
        send()
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        subscribers.append(central)
        peripheral.setDesiredConnectionLatency(.low, for: central)
        queue.append(Data(repeating: 1, count: central.maximumUpdateValueLength))
        send()
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        subscribers.removeAll { $0.identifier == central.identifier || $0 == central }
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send() }

    private func send() {
        guard let manager = manager, let characteristic = characteristic else { return }
        while let next = queue.first, manager.updateValue(next, for: characteristic, onSubscribedCentrals: nil) {
            queue.removeFirst()
        }
        manager.updateValue(Data(), for: characteristic, onSubscribedCentrals: subscribers)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: Error?) {
        psm = error == nil ? PSM : 0
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: Error?) {
        guard let channel = channel else { return }
        self.channel = channel
        for stream in [channel.inputStream, channel.outputStream] as [Stream] {
            stream.delegate = self
            stream.schedule(in: .main, forMode: .default)
            stream.open()
        }
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        switch eventCode {
        case .hasBytesAvailable:
            guard let input = aStream as? InputStream else { return }
            var buffer = [UInt8](repeating: 0, count: 512)
            while input.hasBytesAvailable, input.read(&buffer, maxLength: buffer.count) > 0 {}
        case .hasSpaceAvailable: _ = channel?.outputStream.write([1, 2, 3], maxLength: 3)
        case .endEncountered, .errorOccurred: channel = nil
        default: break
        }
    }
}
