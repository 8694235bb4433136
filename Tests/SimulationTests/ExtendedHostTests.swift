import BluetoothTypes
import EventLoop
import HCI
import Host
import HostInterface
import Simulation
import Testing

/// A host of ours that tells its controller in extended commands, beside raw stations that advertise in every way.
@Suite("A host with extended commands")
struct ExtendedHostTests {
    /// One client of one host, which writes down what it hears.
    private final class Client {
        let device: HostedDevice
        private(set) var events: [HostEvent] = []
        private var id: ClientID?
        private var lastNumber: UInt64 = 0

        init(_ world: World, _ address: UInt64, at metres: Double = 1, extended: Bool = true) {
            var configuration = HostConfiguration()
            configuration.usesExtendedCommands = extended
            device = HostedDevice(
                in: world, name: "host", address: DeviceAddress(address), position: Position(x: metres),
                host: configuration)
            device.withHost { host in id = host.attach({ [unowned self] in events.append($0) }, at: world.now) }
            world.run(for: .zero)
        }

        var peer: PeerID { PeerID(device.device.address) }

        func answer(_ request: HostRequest) -> Result<HostAnswer, HostFailure>? {
            lastNumber += 1
            let number = RequestNumber(lastNumber)
            device.withHost { $0.submit(request, number: number, client: id!, at: device.world.now) }
            for _ in 0..<500 {
                for case .answer(number, let result) in events { return result }
                device.world.run(for: .milliseconds(10))
            }
            return nil
        }

        var discoveries: [Discovery] {
            events.compactMap { if case .discovered(let discovery) = $0 { discovery } else { nil } }
        }
    }

    private let stage = ExtendedAdvertisingTests.Stage()
    private var advertiser: PeerID { PeerID(stage.advertiser.device.address) }

    @Test("It hears advertisements of every kind, the long ones whole", arguments: [PHY.le1M, .le2M, .leCoded])
    func hears(secondary: PHY) throws {
        let data = (0..<100).flatMap { [3, 0xFF, UInt8($0), 0x55] as [UInt8] }
        stage.advertise([], data: data, on: secondary, primary: secondary == .leCoded ? .leCoded : .le1M)
        let client = Client(stage.world, 0xD0_0000_0000_03)
        #expect(client.answer(.startScan(ScanFilter())) == .success(.done))
        stage.world.run(for: .seconds(2))
        let heard = try #require(client.discoveries.first { $0.peer == advertiser })
        #expect(heard.advertisingData == data && !heard.isConnectable)
    }

    @Test(
        "It connects to who advertises in extended packets; on the coded PHY the link stays there",
        arguments: [false, true])
    func connects(isCoded: Bool) throws {
        stage.advertise(
            [.connectable], data: [2, 1, 6], on: isCoded ? .leCoded : .le1M, primary: isCoded ? .leCoded : .le1M)
        let client = Client(stage.world, 0xD0_0000_0000_03)
        #expect(client.answer(.startScan(ScanFilter())) == .success(.done))
        stage.world.run(for: .seconds(2))
        #expect(client.discoveries.contains { $0.peer == advertiser && $0.isConnectable })
        #expect(client.answer(.stopScan) == .success(.done))
        guard case .success(.connected) = client.answer(.connect(advertiser)) else {
            Issue.record("no link")
            return
        }
        stage.world.run(for: .seconds(2))
        guard case .success(.link(let status)) = client.answer(.readLink(advertiser)) else {
            Issue.record("no status")
            return
        }
        #expect(status.transmitPHY == (isCoded ? 3 : 2))
    }

    @Test("It advertises in extended packets beside the legacy ones, and both take connections")
    func advertises() throws {
        let world = World(seed: 4)
        let peripheral = Client(world, 0xA0_0000_0000_01, at: 0)
        let phones = [Client(world, 0xC0_0000_0000_02), Client(world, 0xC0_0000_0000_03)]
        var content = AdvertisementContent(localName: "Long", services: [.uuid16(0xFFF0)])
        content.serviceData = [.init(service: .uuid16(0xFFF1), data: [UInt8](repeating: 7, count: 100))]
        #expect(peripheral.answer(.startAdvertising(AdvertisementContent(localName: "Short"))) != nil)
        guard
            case .success(.advertising(let placement)) = peripheral.answer(
                .startExtendedAdvertising(ExtendedAdvertisement(content)))
        else {
            Issue.record("not on the air")
            return
        }
        // Flags, services, service data (0x16), name: Core Supplement, Part A, 1.
        #expect(
            placement.advertisingData == [2, 0x01, 6, 3, 0x03, 0xF0, 0xFF, 103, 0x16, 0xF1, 0xFF]
                + [UInt8](repeating: 7, count: 100) + [5, 0x09] + Array("Long".utf8))
        #expect(
            peripheral.answer(.startExtendedAdvertising(ExtendedAdvertisement(content)))
                == .failure(.alreadyAdvertising))
        for phone in phones {
            #expect(phone.answer(.startScan(ScanFilter())) == .success(.done))
            world.run(for: .seconds(1))
            let heard = Set(phone.discoveries.filter { $0.peer == peripheral.peer }.map(\.advertisingData.count))
            #expect(heard.contains(placement.advertisingData.count) && heard.count >= 2)
            #expect(phone.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
        }
        #expect(peripheral.answer(.stopAdvertising) == .success(.done))
        #expect(peripheral.answer(.stopExtendedAdvertising) == .success(.done))
        let late = Client(world, 0xC0_0000_0000_04)
        #expect(late.answer(.startScan(ScanFilter())) == .success(.done))
        world.run(for: .seconds(1))
        #expect(late.discoveries.isEmpty)
    }

    @Test("The controller's power is in an extended advertisement that asks for it, and takes room")
    func transmitPower() throws {
        let client = Client(stage.world, 0xD0_0000_0000_03)
        let scanner = Client(stage.world, 0xD0_0000_0000_04, at: 2)
        let content = AdvertisementContent(localName: "Lock", isConnectable: false)
        guard
            case .success = client.answer(
                .startExtendedAdvertising(ExtendedAdvertisement(content, tellsTransmitPower: true)))
        else { throw Missing() }
        #expect(scanner.answer(.startScan(ScanFilter())) == .success(.done))
        stage.world.run(for: .seconds(2))
        let heard = try #require(scanner.discoveries.first { $0.peer == client.peer })
        // 0 dBm, as the controller is set up.
        #expect(AdvertisingData(octets: heard.advertisingData).txPowerLevel == 0)
        let full = AdvertisementContent(manufacturerData: [UInt8](repeating: 1, count: 231))
        #expect(scanner.answer(.startExtendedAdvertising(ExtendedAdvertisement(full))) != nil)
        let answer = scanner.answer(.startExtendedAdvertising(ExtendedAdvertisement(full, tellsTransmitPower: true)))
        guard case .failure(.invalidParameters) = answer else { throw Missing() }
    }

    private struct Missing: Error {}

    @Test("What does not fit is refused, and where there are no extended packets, all of it")
    func refused() {
        let world = World(seed: 5)
        let new = Client(world, 0xA0_0000_0000_01, at: 0)
        func content(_ count: Int, isConnectable: Bool = true) -> HostRequest {
            var content = AdvertisementContent(isConnectable: isConnectable)
            content.serviceData = [.init(service: .uuid16(0xFFF1), data: [UInt8](repeating: 7, count: count))]
            return .startExtendedAdvertising(ExtendedAdvertisement(content))
        }
        func isRefused(_ answer: Result<HostAnswer, HostFailure>?) -> Bool {
            if case .failure(.invalidParameters) = answer { true } else { false }
        }
        // 238 octets in all, of which flags take 3, and type, length and UUID 4.
        #expect(isRefused(new.answer(content(232))))
        #expect(isRefused(new.answer(content(253, isConnectable: false))))
        #expect(!isRefused(new.answer(content(231))))
        let old = Client(world, 0xA0_0000_0000_02, at: 0, extended: false)
        #expect(isRefused(old.answer(content(1))))
    }

    @Test(
        "Old and new controllers meet in both roles", arguments: [(true, true), (true, false), (false, true)])
    func mixed(central: Bool, peripheral: Bool) {
        let world = World(seed: 3)
        let peripheral = Client(world, 0xA0_0000_0000_01, at: 0, extended: peripheral)
        let central = Client(world, 0xC0_0000_0000_02, extended: central)
        guard
            case .success(.advertising) = peripheral.answer(.startAdvertising(AdvertisementContent(localName: "Peri")))
        else {
            Issue.record("not on the air")
            return
        }
        #expect(central.answer(.startScan(ScanFilter())) == .success(.done))
        world.run(for: .seconds(1))
        #expect(central.discoveries.contains { $0.peer == peripheral.peer && $0.isConnectable })
        for _ in 0..<2 {
            #expect(central.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
            #expect(central.answer(.disconnect(peripheral.peer)) == .success(.done))
        }
    }

    /// What each fault does stands in Documentation/Faults.md.
    @Test("Faults of advertising and scanning strike whichever commands the host speaks", arguments: [false, true])
    func faults(extended: Bool) throws {
        let world = World(seed: 6)
        let lock = Client(world, 0xA0_0000_0000_01, at: 0, extended: extended)
        let phone = Client(world, 0xC0_0000_0000_02, extended: extended)
        for fault in [SimulatedFault.swappedServiceUUID, .notConnectable] { lock.device.faults.begin(fault) }
        for fault in [SimulatedFault.noRSSI, .scanRefused] { phone.device.faults.begin(fault) }
        world.run(for: .seconds(1))
        let content = AdvertisementContent(services: [.uuid16(0xFFF0)])
        let request =
            extended ? HostRequest.startExtendedAdvertising(ExtendedAdvertisement(content)) : .startAdvertising(content)
        guard case .success(.advertising) = lock.answer(request) else {
            Issue.record("not on the air")
            return
        }
        _ = phone.answer(.startScan(ScanFilter()))
        world.run(for: .seconds(2))
        #expect(phone.discoveries.isEmpty)
        phone.device.faults.end(.scanRefused)
        _ = phone.answer(.stopScan)
        #expect(phone.answer(.startScan(ScanFilter())) == .success(.done))
        world.run(for: .seconds(2))
        let heard = try #require(phone.discoveries.first { $0.peer == lock.peer })
        #expect(heard.rssi == 127 && !heard.isConnectable)
        // Core Supplement, Part A, 1.1: a complete list of 16-bit services, and the octets of FFF0 the wrong way round.
        #expect(heard.advertisingData.starts(with: [2, 0x01, 6, 3, 0x03, 0xFF, 0xF0]))
    }
}
