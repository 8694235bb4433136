import CoreBluetooth
import Foundation

/// Watches a sensor (service `FFF0`, characteristic `FFF1`), and tells what the phone lets it do: whether it may use
/// Bluetooth at all, what it finds, what it hears, and how long an answer takes.
///
/// The phone's rules change all of that: the permission, the foreground and the background, the background modes. The
/// class does nothing special about them; that is the point.
public final class SensorWatch: NSObject {
    /// What it was told of the radio, in words.
    public private(set) var states: [String] = []
    /// How often a sensor was reported.
    public private(set) var sightings = 0
    /// How many values the sensor has sent.
    public private(set) var values = 0
    /// How long the last answer took, in seconds.
    public private(set) var answerTime: TimeInterval?
    public private(set) var problem: String?
    /// Whether to connect to the first sensor that is found.
    public var connects = false

    private let service = CBUUID(string: "FFF0")
    private let value = CBUUID(string: "FFF1")
    private let queue: DispatchQueue?
    private let clock: () -> TimeInterval
    private let say: (String) -> Void
    private var central: CBCentralManager?
    private var sensor: CBPeripheral?
    /// What has the service, but not the value.
    private var passedOver: [CBPeripheral] = []
    private var characteristic: CBCharacteristic?
    private var askedAt: TimeInterval?

    /// - Parameter clock: the time in seconds, from any beginning.
    public init(
        queue: DispatchQueue? = nil,
        clock: @escaping () -> TimeInterval = { Date.timeIntervalSinceReferenceDate },
        say: @escaping (String) -> Void = { print($0) }
    ) {
        self.queue = queue
        self.clock = clock
        self.say = say
    }

    /// Whether values come by themselves.
    public var isListening: Bool { characteristic?.isNotifying == true }

    public func start() {
        say("permission: \(Self.words(CBManager.authorization))")
        central = CBCentralManager(delegate: self, queue: queue)
    }

    public func stop() {
        central?.stopScan()
        if let sensor { central?.cancelPeripheralConnection(sensor) }
    }

    /// Looks for sensors, and for every packet of each.
    public func look() { look(for: [service]) }

    /// Looks for whatever there is. In the background that finds nothing.
    public func lookForAnything() { look(for: nil) }

    private func look(for services: [CBUUID]?) {
        sightings = 0
        central?.scanForPeripherals(
            withServices: services, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
    }

    /// Asks for the value, and measures how long the answer takes.
    public func ask() {
        guard let sensor, let characteristic else { return }
        answerTime = nil
        askedAt = clock()
        sensor.readValue(for: characteristic)
    }

    public static func words(_ authorization: CBManagerAuthorization) -> String {
        switch authorization {
        case .notDetermined: "nobody has been asked yet"
        case .restricted: "the device's manager does not allow it"
        case .denied: "the person has said no"
        case .allowedAlways: "allowed"
        @unknown default: "unknown"
        }
    }

    private func passOver(_ peripheral: CBPeripheral) {
        say("\(peripheral.name ?? "it") has no \(value.uuidString); looking for another")
        passedOver.append(peripheral)
        sensor = nil
        central?.cancelPeripheralConnection(peripheral)
        look()
    }

    private func note(_ state: String) {
        states.append(state)
        say("Bluetooth is \(state)")
    }

    /// Whether something went wrong, which is then told.
    private func fail(_ what: String, _ error: (any Error)?) -> Bool {
        guard let error else { return false }
        problem = "\(what): \(error.localizedDescription)"
        say("\(what): \(error.localizedDescription)")
        return true
    }
}

extension SensorWatch: CBCentralManagerDelegate {
    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn: note("on")
        case .poweredOff: note("off")
        case .unauthorized: note("forbidden: \(Self.words(CBManager.authorization))")
        case .unsupported: note("not there")
        case .resetting: note("resetting")
        case .unknown: note("unknown")
        @unknown default: note("something new")
        }
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        sightings += 1
        guard connects, sensor == nil, !passedOver.contains(peripheral) else { return }
        sensor = peripheral
        peripheral.delegate = self
        central.stopScan()
        central.connect(peripheral)
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        say("connected to \(peripheral.name ?? "a sensor")")
        peripheral.discoverServices([service])
    }

    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("disconnected")
        if peripheral == sensor { characteristic = nil }
    }
}

extension SensorWatch: CBPeripheralDelegate {
    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard !fail("no services", error), let found = peripheral.services?.first else { return }
        peripheral.discoverCharacteristics([value], for: found)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        guard !fail("no characteristics", error) else { return }
        guard let found = service.characteristics?.first else { return passOver(peripheral) }
        characteristic = found
        peripheral.setNotifyValue(true, for: found)
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        if !fail("no values", error) { say("listening") }
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard !fail("no value", error) else { return }
        // The answer to a question and a value that comes by itself cannot be told apart; the first one counts.
        if let askedAt {
            answerTime = clock() - askedAt
            self.askedAt = nil
        } else {
            values += 1
        }
    }
}
