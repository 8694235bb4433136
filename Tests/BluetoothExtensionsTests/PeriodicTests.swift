import BluetoothExtensions
import BluetoothSimulation
import CoreBluetooth
import Testing

/// Programs that say something at fixed times, and programs that follow it.
@Suite("Periodic advertising of programs")
struct PeriodicTests {
    @Test("A program follows what another one says, hears of changes and of the end, and can stop")
    func follows() throws {
        let world = BluetoothWorld(seed: 3)
        let thermometer = world.addDevice("Thermometer", at: .init(x: 2)).run { Thermometer() }
        let display = world.addDevice("Display").run { Display() }
        func wait(_ condition: () -> Bool) -> Bool { world.run(until: condition, within: .seconds(20)) }
        #expect(wait { display.readings.contains(20) })
        #expect(display.results == ["0.1"])
        let first = try #require(display.reports.first)
        #expect(first.rssi.map { $0 < 0 } == true && first.transmitPower == nil)
        #expect(first.localName == nil && first.services == [] && first.manufacturerData == Data([0x4C, 0, 1]))
        thermometer.say(21)
        #expect(wait { display.readings.contains(21) })
        thermometer.stop()
        #expect(wait { display.losses == 1 })
        #expect(thermometer.failures == [nil, nil, nil])

        thermometer.start(22)
        display.follow()
        #expect(wait { display.readings.last == 22 })
        var isStopped = false
        display.stop { isStopped = true }
        let count = display.reports.count
        #expect(wait { isStopped })
        world.run(for: .seconds(2))
        #expect(display.reports.count == count && display.losses == 1)
        #expect(display.results == ["0.1", "0.1"])
    }

    @Test("A search that is stopped ends, and one with senseless times is refused")
    func ends() {
        let world = BluetoothWorld(seed: 4)
        let thermometer = world.addDevice("Thermometer", at: .init(x: 2)).run { Thermometer() }
        let display = world.addDevice("Display").run { Display() }
        #expect(world.run(until: { !display.readings.isEmpty }, within: .seconds(20)))
        thermometer.stop()
        #expect(world.run(until: { display.losses == 1 }, within: .seconds(20)))
        display.follow()
        world.run(for: .seconds(5))
        display.stop {}
        for timeout in [-1, 0.05, 200, .infinity, .nan] { display.follow(timeout: timeout) }
        world.run(for: .seconds(1))
        let refused = Array(repeating: "\(CBError.invalidParameters.rawValue)", count: 5)
        #expect(display.results == ["0.1", "\(CBError.operationCancelled.rawValue)"] + refused)
    }
}

// `@unchecked`: one test, one thread.
private final class Thermometer: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    private var manager: CBPeripheralManager!
    private var advertiser: ExtendedAdvertiser { ExtendedAdvertiser(manager: manager) }
    private(set) var failures: [String?] = []

    override init() {
        super.init()
        manager = CBPeripheralManager(delegate: self, queue: nil)
    }

    private func periodic(_ degrees: UInt8) -> ExtendedAdvertiser.Periodic {
        var periodic = ExtendedAdvertiser.Periodic()
        periodic.serviceData = [.init(service: CBUUID(string: "1809"), data: Data([degrees]))]
        periodic.manufacturerData = Data([0x4C, 0, 1])
        return periodic
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        if peripheral.state == .poweredOn { start(20) }
    }

    func start(_ degrees: UInt8) {
        var advertisement = ExtendedAdvertiser.Advertisement()
        advertisement.localName = "Thermometer"
        advertisement.periodic = periodic(degrees)
        advertiser.start(advertisement) { [self] in failures.append($0.map { "\($0)" }) }
    }

    func say(_ degrees: UInt8) {
        advertiser.update(periodic(degrees)) { [self] in failures.append($0.map { "\($0)" }) }
    }

    func stop() { advertiser.stop { [self] in failures.append($0.map { "\($0)" }) } }
}

// `@unchecked`: one test, one thread.
private final class Display: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    private var manager: CBCentralManager!
    private var synchronization: PeriodicSynchronization?
    private(set) var reports: [PeriodicSynchronization.Report] = []
    private(set) var losses = 0
    /// The interval of what was found, or the code of the error.
    private(set) var results: [String] = []

    var readings: [UInt8] { reports.compactMap { $0.serviceData[CBUUID(string: "1809")]?.first } }

    override init() {
        super.init()
        manager = CBCentralManager(delegate: self, queue: nil)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard advertisementData[CBAdvertisementDataLocalNameKey] as? String == "Thermometer" else { return }
        central.stopScan()
        synchronization = PeriodicSynchronization(to: peripheral, of: manager)
        follow()
    }

    func follow(timeout: Double? = nil) {
        synchronization?.start(
            timeout: timeout, onReport: { [self] in reports.append($0) }, onLost: { [self] in losses += 1 },
            completion: { [self] in
                switch $0 {
                case .success(let train): results.append("\(train.interval)")
                case .failure(let error): results.append("\((error as? CBError)?.errorCode ?? -1)")
                }
            })
    }

    func stop(_ completion: @escaping () -> Void) { synchronization?.stop(completion: completion) }
}
