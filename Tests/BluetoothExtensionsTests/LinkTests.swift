import BluetoothExtensions
import BluetoothSimulation
import CoreBluetooth
import Testing

/// What programs see of their links' radio, and what they advertise, beyond Apple's API.
@Suite("Links and advertisements beyond Apple's API")
struct LinkTests {
    @Test("A link soon has long packets on LE 2M; values that fill them are known")
    func link() throws {
        let apps = SecureApps()
        #expect(apps.read() == "secret")
        apps.world.run(for: .seconds(2))
        var status: LinkStatus?
        let peripheral = try #require(apps.phone.peripheral)
        BluetoothLink(to: peripheral, of: apps.phone.manager).readStatus { status = try? $0.get() }
        #expect(apps.wait { status != nil })
        let link = try #require(status)
        #expect(link.transmitPHY == .le2M && link.receivePHY == .le2M)
        #expect((link.transmitOctets, link.receiveOctets, link.mtu) == (251, 251, 517))
        #expect((link.interval, link.latency, link.supervisionTimeout) == (0.015, 0, 2))
        // 495 octets, three of ATT and four of L2CAP fill two packets of 251.
        #expect(link.fullPacketValueLength == 495)
        apps.disconnect()
        var failure: (any Error)?
        BluetoothLink(to: peripheral, of: apps.phone.manager).readStatus {
            if case .failure(let error) = $0 { failure = error }
        }
        #expect(apps.wait { failure != nil })
        #expect((failure as? CBError)?.code == .notConnected)
    }

    @Test("A program lets its link rest")
    func subrating() throws {
        let apps = SecureApps()
        #expect(apps.read() == "secret")
        let peripheral = try #require(apps.phone.peripheral)
        let link = BluetoothLink(to: peripheral, of: apps.phone.manager)
        var ends: [CBError.Code?] = []
        var rest = BluetoothLink.Subrating(factors: 1...20)
        rest.continuationNumber = 1
        rest.supervisionTimeout = 4
        link.requestSubrating(rest) { ends.append(($0 as? CBError)?.code) }
        #expect(apps.wait { ends == [nil] })
        var status: LinkStatus?
        link.readStatus { status = try? $0.get() }
        #expect(apps.wait { status != nil })
        #expect((status?.subrateFactor, status?.continuationNumber, status?.supervisionTimeout) == (20, 1, 4))
        #expect(apps.read() == "secret")
        for factors in [0...1, -5...900_000] {
            link.requestSubrating(.init(factors: factors)) { ends.append(($0 as? CBError)?.code) }
        }
        rest.supervisionTimeout = .nan
        link.requestSubrating(rest) { ends.append(($0 as? CBError)?.code) }
        link.requestSubrating(.none) { ends.append(($0 as? CBError)?.code) }
        #expect(apps.wait { ends.count == 5 })
        #expect(ends == [nil, .invalidParameters, .invalidParameters, .invalidParameters, nil])
    }

    @Test("A long advertisement on the coded PHY is heard beside the manager's own", arguments: [false, true])
    func advertisement(isLongRange: Bool) throws {
        let world = BluetoothWorld(seed: 2)
        let sensor = world.addDevice("Sensor", at: .init(x: 2)).run { Sensor(isLongRange: isLongRange) }
        let phone = world.addDevice("Phone").run { Listener() }
        #expect(world.run(until: { !phone.heard.isEmpty }, within: .seconds(20)))
        #expect(phone.heard == [Sensor.reading])
        #expect(sensor.failures == [nil])
        sensor.stop()
        #expect(world.run(until: { sensor.failures == [nil, nil] }, within: .seconds(5)))
    }
}

// `@unchecked`: one test, one thread.
private final class Sensor: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    static let reading = Data(repeating: 7, count: 120)
    private var manager: CBPeripheralManager!
    private let isLongRange: Bool
    private(set) var failures: [String?] = []

    init(isLongRange: Bool) {
        self.isLongRange = isLongRange
        super.init()
        manager = CBPeripheralManager(delegate: self, queue: nil)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        var advertisement = ExtendedAdvertiser.Advertisement()
        advertisement.serviceData = [.init(service: CBUUID(string: "FFF1"), data: Self.reading)]
        advertisement.isLongRange = isLongRange
        ExtendedAdvertiser(manager: peripheral).start(advertisement) { [self] in failures.append($0.map { "\($0)" }) }
    }

    func stop() {
        ExtendedAdvertiser(manager: manager).stop { [self] in failures.append($0.map { "\($0)" }) }
    }
}

// `@unchecked`: one test, one thread.
private final class Listener: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    private var manager: CBCentralManager!
    private(set) var heard: [Data] = []

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
        let data = advertisementData[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data]
        if let reading = data?[CBUUID(string: "FFF1")] { heard.append(reading) }
    }
}
