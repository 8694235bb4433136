import CoreBluetooth
import Foundation

/// The smallest central that is worth the name: finds `FFF0`, reads, writes and hears `FFF1`.
public final class SmallestCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    public private(set) var valueRead: Data?
    public private(set) var isWriteConfirmed = false
    public private(set) var valueNotified: Data?
    /// The longest value that one write without response can take: at the connection, and at the end.
    public private(set) var longestWrites: [Int] = []
    public private(set) var problem: String?

    public var timeLimit: TimeInterval = 30

    private let queue: DispatchQueue?
    private let after: (TimeInterval, @escaping () -> Void) -> Void
    private let say: (String) -> Void
    private let onFinish: (SmallestCentral) -> Void
    private var central: CBCentralManager?
    private var peripheral: CBPeripheral?
    private var isFinished = false

    public init(
        queue: DispatchQueue? = nil,
        after: @escaping (TimeInterval, @escaping () -> Void) -> Void = {
            DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1)
        },
        say: @escaping (String) -> Void = { print($0) },
        onFinish: @escaping (SmallestCentral) -> Void
    ) {
        self.queue = queue
        self.after = after
        self.say = say
        self.onFinish = onFinish
    }

    public func start() {
        central = CBCentralManager(delegate: self, queue: queue)
        after(timeLimit) { [weak self] in self?.finish("the time is up") }
    }

    private func finish(_ problem: String?) {
        guard !isFinished else { return }
        isFinished = true
        self.problem = problem
        if let problem { say(problem) }
        onFinish(self)
    }

    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn: central.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        case .unsupported, .unauthorized: finish("no Bluetooth for us here (state \(central.state.rawValue))")
        default: break
        }
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard self.peripheral == nil else { return }
        self.peripheral = peripheral
        peripheral.delegate = self
        central.stopScan()
        central.connect(peripheral)
        say("found \(advertisementData[CBAdvertisementDataLocalNameKey] ?? "somebody without a name")")
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        tellLongestWrite(peripheral)
        peripheral.discoverServices([CBUUID(string: "FFF0")])
    }

    /// 20 octets, unless both sides have agreed on a larger MTU.
    private func tellLongestWrite(_ peripheral: CBPeripheral) {
        let longest = peripheral.maximumWriteValueLength(for: .withoutResponse)
        longestWrites.append(longest)
        say("one write without response takes \(longest) octets")
    }

    public func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
        finish("no connection: \(error?.localizedDescription ?? "no reason given")")
    }

    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        finish(error.map { "the link was lost: \($0.localizedDescription)" })
    }

    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let service = peripheral.services?.first else { return finish("no FFF0") }
        peripheral.discoverCharacteristics([CBUUID(string: "FFF1")], for: service)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        guard let characteristic = service.characteristics?.first else { return finish("no FFF1") }
        peripheral.readValue(for: characteristic)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return finish("no value: \(error.localizedDescription)") }
        let text = String(decoding: characteristic.value ?? Data(), as: UTF8.self)
        if valueRead == nil {
            valueRead = characteristic.value
            say("read \"\(text)\"")
            peripheral.setNotifyValue(true, for: characteristic)
        } else {
            valueNotified = characteristic.value
            say("notified \"\(text)\"")
            tellLongestWrite(peripheral)
            central?.cancelPeripheralConnection(peripheral)
        }
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        if let error { return finish("no subscription: \(error.localizedDescription)") }
        say("subscribed; writing \"hello\"")
        peripheral.writeValue(Data("hello".utf8), for: characteristic, type: .withResponse)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return finish("not written: \(error.localizedDescription)") }
        isWriteConfirmed = true
        say("the write is confirmed")
    }
}
