import CoreBluetooth
import Foundation

/// Hears a sensor's values, and takes them apart on a queue of its own: however long that takes, the main queue is free
/// for what people see.
public final class OwnQueue: NSObject {
    public struct Reading: Sendable {
        public var number: Int
        /// Whether it was taken apart where it should be.
        public var isOnOwnQueue: Bool
    }

    private let queue = DispatchQueue(label: "parser")
    private let key = DispatchSpecificKey<Bool>()
    private let show: (Reading) -> Void
    private var central: CBCentralManager?
    private var sensor: CBPeripheral?

    /// - Parameter show: takes what is ready to be seen. It is called on the parser's queue; values, and not objects,
    ///   go from there to the main queue.
    public init(show: @escaping (Reading) -> Void = { reading in DispatchQueue.main.async { print(reading.number) } }) {
        self.show = show
        super.init()
        queue.setSpecific(key: key, value: true)
    }

    public func start() { central = CBCentralManager(delegate: self, queue: queue) }

    public func stop() { queue.sync { if let sensor { central?.cancelPeripheralConnection(sensor) } } }

    private func parse(_ value: Data) {
        guard let octet = value.first else { return }
        show(Reading(number: Int(octet), isOnOwnQueue: DispatchQueue.getSpecific(key: key) == true))
    }
}

extension OwnQueue: CBCentralManagerDelegate {
    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "FFF0")]) }
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard sensor == nil else { return }
        sensor = peripheral
        peripheral.delegate = self
        central.stopScan()
        central.connect(peripheral)
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([CBUUID(string: "FFF0")])
    }
}

extension OwnQueue: CBPeripheralDelegate {
    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let service = peripheral.services?.first else { return }
        peripheral.discoverCharacteristics([CBUUID(string: "FFF1")], for: service)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        if let value = service.characteristics?.first { peripheral.setNotifyValue(true, for: value) }
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if error == nil, let value = characteristic.value { parse(value) }
    }
}
