import CoreBluetooth
import Foundation

/// A central that opens an L2CAP channel, sends octets, and compares what comes back.
public final class EchoCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    public private(set) var problem: String?

    public var timeLimit: TimeInterval = 60

    private let octets: Data
    private let queue: DispatchQueue?
    private let runLoop: RunLoop
    private let after: (TimeInterval, @escaping () -> Void) -> Void
    private let say: (String) -> Void
    private let onFinish: (EchoCentral) -> Void
    private var manager: CBCentralManager?
    private var peripheral: CBPeripheral?
    private var end: EchoEnd?
    private var received = Data()
    private var isFinished = false

    /// - Parameter count: how many octets to send.
    public init(
        count: Int, queue: DispatchQueue? = nil, runLoop: RunLoop = .main,
        after: @escaping (TimeInterval, @escaping () -> Void) -> Void = {
            DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1)
        },
        say: @escaping (String) -> Void = { print($0) }, onFinish: @escaping (EchoCentral) -> Void
    ) {
        octets = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
        self.queue = queue
        self.runLoop = runLoop
        self.after = after
        self.say = say
        self.onFinish = onFinish
    }

    public func start() {
        manager = CBCentralManager(delegate: self, queue: queue)
        after(timeLimit) { [weak self] in self?.finish("the time is up") }
    }

    private func finish(_ problem: String?) {
        guard !isFinished else { return }
        isFinished = true
        self.problem = problem
        if let problem { say(problem) }
        onFinish(self)
    }

    // MARK: As far as the number of the channel

    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn: central.scanForPeripherals(withServices: [CBUUID(string: "FFE0")])
        case .unsupported, .unauthorized: finish("no Bluetooth for us here (state \(central.state.rawValue))")
        default: break
        }
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        central.stopScan()
        self.peripheral = peripheral
        peripheral.delegate = self
        central.connect(peripheral)
    }

    public func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
        finish("no link: \(error.map { "\($0)" } ?? "-")")
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([CBUUID(string: "FFE0")])
    }

    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let service = peripheral.services?.first else { return finish("there is no service FFE0") }
        peripheral.discoverCharacteristics([CBUUID(string: CBUUIDL2CAPPSMCharacteristicString)], for: service)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        guard let number = service.characteristics?.first else { return finish("the number is not told") }
        peripheral.readValue(for: number)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard let value = characteristic.value, value.count == 2 else { return finish("the number is not told") }
        let octets = [UInt8](value)
        peripheral.openL2CAPChannel(CBL2CAPPSM(octets[0]) | CBL2CAPPSM(octets[1]) << 8)
    }

    // MARK: The channel

    public func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        guard let channel else { return finish("the channel was not opened: \(error.map { "\($0)" } ?? "-")") }
        say("the channel \(channel.psm) is open")
        let end = EchoEnd(channel, runLoop: runLoop) { [weak self] _, octets in
            self?.take(octets)
        } onEnd: { [weak self] error in
            self?.finish("the channel ended too early: \(error.map { "\($0)" } ?? "-")")
        }
        self.end = end
        end.send(octets)
    }

    private func take(_ part: Data) {
        received.append(part)
        guard received.count >= octets.count else { return }
        say("\(received.count) octets came back")
        end?.close()
        // The link waits until the channel has been closed.
        after(1) { [weak self] in
            guard let self else { return }
            if let peripheral { manager?.cancelPeripheralConnection(peripheral) }
            finish(received == octets ? nil : "they are not those that were sent")
        }
    }
}
