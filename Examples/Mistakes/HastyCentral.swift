import CoreBluetooth
import Foundation

/// A central that does not look at properties, and meets a peripheral that does not answer.
public final class HastyCentral: NSObject {
    /// What reading `FFF1` gave, which offers reading and does not let it happen.
    public private(set) var refusal: String?
    /// How long nothing came of reading `FFF2`, in seconds.
    public private(set) var silence: TimeInterval?
    /// What ended the silence.
    public private(set) var problem: String?
    public var isFinished: Bool { silence != nil }

    private let queue: DispatchQueue?
    private let clock: () -> TimeInterval
    private let say: (String) -> Void
    private var central: CBCentralManager?
    private var peripheral: CBPeripheral?
    private var askedAt: TimeInterval?

    /// - Parameters:
    ///   - queue: where the callbacks run; `nil` is the main queue.
    ///   - clock: the time in seconds, from any beginning.
    ///   - say: takes what a person should read.
    public init(
        queue: DispatchQueue? = nil,
        clock: @escaping () -> TimeInterval = { Date.timeIntervalSinceReferenceDate },
        say: @escaping (String) -> Void = { print($0) }
    ) {
        self.queue = queue
        self.clock = clock
        self.say = say
    }

    public func start() { central = CBCentralManager(delegate: self, queue: queue) }

    private func use(_ characteristics: [CBCharacteristic], of peripheral: CBPeripheral) {
        func find(_ uuid: String) -> CBCharacteristic? { characteristics.first { $0.uuid == CBUUID(string: uuid) } }
        guard let offered = find("FFF1"), let silent = find("FFF2"), let confirmed = find("FFF3") else {
            return say("this is another device")
        }
        say("writing without response, whatever the properties say")
        peripheral.writeValue(Data("lost".utf8), for: confirmed, type: .withoutResponse)
        peripheral.readValue(for: offered)
        askedAt = clock()
        peripheral.readValue(for: silent)
    }

    /// The question has come to its end.
    private func end(_ error: (any Error)?) {
        guard let askedAt, silence == nil else { return }
        silence = clock() - askedAt
        problem = error?.localizedDescription
        say("no answer: \(problem ?? "a value came after all")")
    }
}

extension HastyCentral: CBCentralManagerDelegate {
    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "FFF0")]) }
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
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([CBUUID(string: "FFF0")])
    }

    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        end(error)
    }
}

extension HastyCentral: CBPeripheralDelegate {
    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let service = peripheral.services?.first else { return say("there is no FFF0") }
        peripheral.discoverCharacteristics(nil, for: service)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        use(service.characteristics ?? [], of: peripheral)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard characteristic.uuid == CBUUID(string: "FFF1") else { return end(error) }
        refusal = error?.localizedDescription
        say("\(characteristic.uuid) offers reading: \(refusal ?? "and lets it happen")")
        // The next question waits for its answer from here on.
        askedAt = clock()
    }
}
