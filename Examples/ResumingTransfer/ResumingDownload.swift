import CoreBluetooth
import Foundation

/// Receives a file, and goes on where it was when the app has been ended and started again.
///
/// What is there of the file says from where to go on. The system keeps the rest: which device it is, its services, and
/// that we want its notifications. So there is one question at each turn, however the app came there: what is
/// missing yet?
public final class ResumingDownload: NSObject {
    private let file: URL
    private let queue: DispatchQueue?
    private let say: (String) -> Void
    private let onFinish: () -> Void

    private var central: CBCentralManager?
    // CoreBluetooth does not keep a peripheral alive. We must, a restored one too.
    private var peripheral: CBPeripheral?
    private var isAsking = false
    public private(set) var isFinished = false

    /// - Parameters:
    ///   - file: where it goes. What is there is kept, and taken for its beginning.
    ///   - queue: where the callbacks run; `nil` is the main queue.
    ///   - say: takes what a person should read.
    ///   - onFinish: is called once, when the file is complete.
    public init(
        file: URL, queue: DispatchQueue? = nil, say: @escaping (String) -> Void = { print($0) },
        onFinish: @escaping () -> Void
    ) {
        self.file = file
        self.queue = queue
        self.say = say
        self.onFinish = onFinish
    }

    public func start() {
        central = CBCentralManager(
            delegate: self, queue: queue, options: [CBCentralManagerOptionRestoreIdentifierKey: "download"])
    }

    /// How many octets are there.
    public var count: Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }

    private func append(_ octets: Data) throws {
        if !FileManager.default.fileExists(atPath: file.path) {
            try octets.write(to: file)
        } else {
            let handle = try FileHandle(forWritingTo: file)
            defer { try? handle.close() }
            try handle.seekToEnd()
            try handle.write(contentsOf: octets)
        }
    }

    /// Does what is missing next. Whatever is under way already, it leaves alone.
    private func goOn() {
        guard let central, central.state == .poweredOn, !isFinished else { return }
        guard let peripheral else {
            if !central.isScanning { central.scanForPeripherals(withServices: [Transfer.service]) }
            return
        }
        switch peripheral.state {
        case .disconnected: central.connect(peripheral)
        case .connecting, .disconnecting: break
        case .connected: goOn(with: peripheral)
        @unknown default: break
        }
    }

    private func goOn(with peripheral: CBPeripheral) {
        guard let service = peripheral.services?.first(where: { $0.uuid == Transfer.service }) else {
            return peripheral.discoverServices([Transfer.service])
        }
        guard let characteristics = service.characteristics else {
            return peripheral.discoverCharacteristics(nil, for: service)
        }
        guard let part = characteristics.first(where: { $0.uuid == Transfer.part }),
            let from = characteristics.first(where: { $0.uuid == Transfer.from })
        else { return say("this is not a sender as we know it") }
        guard part.isNotifying else { return peripheral.setNotifyValue(true, for: part) }
        guard !isAsking else { return }
        isAsking = true
        say("asking for the rest, from \(count) on")
        peripheral.writeValue(Transfer.octets(of: count), for: from, type: .withResponse)
    }

    private func take(_ value: Data, from peripheral: CBPeripheral) {
        guard let offset = Transfer.offset(in: value), !isFinished else { return }
        // A part that was on its way when the app ended may be one that we have, or one behind a gap: the answer to
        // our question begins where we are.
        guard offset == count else { return }
        let octets = value.dropFirst(4)
        if octets.isEmpty { return finish(peripheral) }
        do {
            try append(Data(octets))
        } catch {
            say("cannot write \(file.path): \(error)")
        }
    }

    private func finish(_ peripheral: CBPeripheral) {
        isFinished = true
        say("complete: \(count) octets")
        central?.cancelPeripheralConnection(peripheral)
        onFinish()
    }
}

extension ResumingDownload: CBCentralManagerDelegate {
    public func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        peripheral = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
        peripheral?.delegate = self
        say("started again, with \(count) octets")
    }

    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        isAsking = false
        goOn()
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard self.peripheral == nil else { return }
        self.peripheral = peripheral
        peripheral.delegate = self
        central.stopScan()
        goOn()
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        say("connected")
        central.stopScan()
        isAsking = false
        goOn()
    }

    public func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
        goOn()
    }

    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        isAsking = false
        if !isFinished { say("the sender is gone; connecting again") }
        goOn()
    }
}

extension ResumingDownload: CBPeripheralDelegate {
    public func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) { goOn() }

    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        if let error { return say("discovering services: \(error)") }
        goOn()
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        if let error { return say("discovering characteristics: \(error)") }
        goOn()
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        if let error { return say("subscribing: \(error)") }
        goOn()
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard let error else { return }
        say("asking: \(error)")
        isAsking = false
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if characteristic.uuid == Transfer.part, let value = characteristic.value { take(value, from: peripheral) }
    }
}
