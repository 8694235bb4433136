import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

/// PDU types are those of Core 6.0, Vol 6, Part B, 2.3: 0 ADV_IND, 1 ADV_DIRECT_IND, 2 ADV_NONCONN_IND, 3 SCAN_REQ,
/// 4 SCAN_RSP, 5 CONNECT_IND, 6 ADV_SCAN_IND. Source: Core 6.0, Vol 3, Part C, 9.1 to 9.3.
@Suite("GAP: what a device shows, who sees it, and who connects")
struct DiscoveryCaseTests {
    let scene = TestWorld()

    private func discovered(_ client: TestClient) -> [Discovery] {
        client.events.compactMap { if case .discovered(let discovery) = $0.event { discovery } else { nil } }
    }

    private func content(_ change: (inout AdvertisementContent) -> Void = { _ in }) -> AdvertisementContent {
        var content = AdvertisementContent(services: [.uuid16(0xFFF0)])
        change(&content)
        return content
    }

    private func advertise(_ device: TestClient, _ content: AdvertisementContent) {
        guard case .success(.advertising) = device.answer(.startAdvertising(content)) else {
            Issue.record("It is not on the air.")
            return
        }
    }

    @Test("GAP/BROB/BCST/BV-01-C, GAP/DISC/GENM/BV-03-C: not connectable, without a scan response; LE only")
    func nonconnectable() {
        let device = scene.device("device")
        let watch = AirWatch(scene.world)
        advertise(device, content { $0.isConnectable = false })
        scene.run(.seconds(1))
        #expect(watch.kinds(from: device.device) == [2])
        // Flags: LE General Discoverable, BR/EDR Not Supported (Core Supplement, Part A, 1.3).
        #expect(watch.packets.allSatisfy { $0.data.prefix(3) == [0x02, 0x01, 0x06] })
    }

    @Test("GAP/BROB/BCST/BV-02-C, GAP/BROB/OBSV/BV-02-C: scannable; an active scan gets the scan response")
    func scannable() throws {
        let (device, scanner) = (scene.device("device"), scene.device("scanner", at: 2))
        let watch = AirWatch(scene.world)
        let name = String(repeating: "n", count: 29)
        advertise(
            device,
            content {
                $0.isConnectable = false
                $0.localName = name
            })
        #expect(scanner.answer(.startScan(ScanFilter(allowDuplicates: true))) == .success(.done))
        scene.run(.seconds(1))
        #expect(watch.kinds(from: device.device) == [4, 6])
        #expect(watch.kinds(from: scanner.device) == [3])
        let last = try #require(discovered(scanner).last { !$0.scanResponseData.isEmpty })
        #expect(last.scanResponseData == [30, 0x09] + Array(name.utf8))
        #expect(!last.isConnectable)
    }

    @Test(
        "GAP/BROB/BCST/BV-03-C, GAP/BROB/BCST/BV-05-C: under a resolvable address, with and without a scan response",
        arguments: [false, true])
    func resolvable(hasScanResponse: Bool) {
        let device = scene.device("device") { $0.usesPrivateAddress = true }
        let scanner = scene.device("scanner", at: 2)
        let watch = AirWatch(scene.world)
        advertise(
            device,
            content {
                $0.isConnectable = false
                if hasScanResponse { $0.localName = String(repeating: "n", count: 29) }
            })
        #expect(scanner.answer(.startScan(ScanFilter())) == .success(.done))
        scene.run(.seconds(1))
        #expect(watch.kinds(from: device.device) == (hasScanResponse ? [4, 6] : [2]))
        #expect(watch.packets(from: device.device).allSatisfy { $0.isResolvable })
    }

    @Test(
        "An active scan under a private address, also of devices that have one",
        arguments: [("GAP/BROB/OBSV/BV-05-C", false), ("GAP/BROB/OBSV/BV-06-C", true)])
    func privateScan(id: String, bothPrivate: Bool) {
        let device = scene.device("device") { $0.usesPrivateAddress = bothPrivate }
        let scanner = scene.device("scanner", at: 2) { $0.usesPrivateAddress = true }
        let watch = AirWatch(scene.world)
        advertise(device, content { $0.localName = String(repeating: "n", count: 29) })
        #expect(scanner.answer(.startScan(ScanFilter())) == .success(.done))
        scene.run(.seconds(1))
        let requests = watch.packets(from: scanner.device)
        #expect(!requests.isEmpty && requests.allSatisfy { $0.kind == 3 && $0.isResolvable })
        #expect(watch.packets(from: device.device).allSatisfy { $0.isResolvable == bothPrivate })
        #expect(discovered(scanner).contains { !$0.scanResponseData.isEmpty })
    }

    @Test("GAP/DISC/GENM/BV-04-C, GAP/CONN/UCON/BV-02-C: connectable, general discoverable, LE only")
    func connectable() {
        let (device, central) = (scene.device("device"), scene.device("central", at: 2))
        let watch = AirWatch(scene.world)
        advertise(device, content())
        scene.run(.seconds(1))
        #expect(watch.kinds(from: device.device) == [0])
        #expect(watch.packets.allSatisfy { $0.data.prefix(3) == [0x02, 0x01, 0x06] })
        #expect(central.answer(.connect(device.peer)) == .success(.connected(mtu: 517)))
    }

    @Test("GAP/CONN/UCON/BV-06-C: connectable under a private address")
    func connectablePrivate() throws {
        let device = scene.device("device") { $0.usesPrivateAddress = true }
        let central = scene.device("central", at: 2)
        let watch = AirWatch(scene.world)
        advertise(device, content())
        scene.run(.milliseconds(500))
        let packet = try #require(watch.packets(from: device.device).last)
        #expect(packet.isResolvable && packet.kind == 0)
        let peer = PeerID(DeviceAddress(packet.address, kind: .random))
        #expect(central.answer(.connect(peer)) == .success(.connected(mtu: 517)))
    }

    @Test(
        "No connection to who takes none",
        arguments: [("GAP/CONN/NCON/BV-01-C", false), ("GAP/CONN/NCON/BV-02-C", true)])
    func notConnectable(id: String, isDiscoverable: Bool) {
        let (device, central) = (scene.device("device"), scene.device("central", at: 2))
        if isDiscoverable { advertise(device, content { $0.isConnectable = false }) }
        let watch = AirWatch(scene.world)
        _ = central.answer(.startScan(ScanFilter()))
        let connect = central.ask(.connect(device.peer))
        scene.run(.seconds(30))
        #expect(discovered(central).isEmpty == !isDiscoverable)
        #expect(central.answers(connect).isEmpty)
        #expect(!watch.packets.contains { $0.kind == 5 })
        #expect(central.answer(.disconnect(device.peer)) == .success(.done))
        #expect(central.answers(connect) == [.failure(.cancelled)])
    }

    @Test("GAP/DISC/GENP/BV-01-C, GAP/DISC/GENP/BV-02-C: general and limited discoverable devices are found")
    func found() {
        let central = scene.device("central")
        let general = RawAdvertiser(in: scene.world, name: "general", address: 0xA1)
        let limited = RawAdvertiser(in: scene.world, name: "limited", address: 0xA2)
        general.advertise(.connectable, [2, 0x01, 0x06])
        limited.advertise(.connectable, [2, 0x01, 0x05])
        #expect(central.answer(.startScan(ScanFilter())) == .success(.done))
        scene.run(.seconds(2))
        #expect(Set(discovered(central).map(\.peer.address.value)) == [0xA1, 0xA2])
    }

    @Test("GAP/CONN/GCEP/BV-02-C: found first, then connected to")
    func scanThenConnect() throws {
        let (device, central) = (scene.device("device"), scene.device("central", at: 2))
        advertise(device, content())
        _ = central.answer(.startScan(ScanFilter(services: [.uuid16(0xFFF0)])))
        scene.run(.seconds(1))
        let found = try #require(discovered(central).first)
        #expect(found.isConnectable)
        #expect(central.answer(.stopScan) == .success(.done))
        #expect(central.answer(.connect(found.peer)) == .success(.connected(mtu: 517)))
    }

    enum Procedure: CaseIterable {
        /// `connect` alone, scan first, or `connect` to two peers at once, which takes the filter accept list.
        case direct, general, auto
    }

    @Test(
        "A device that calls this one by directed advertising is connected to",
        arguments: [
            ("GAP/CONN/DCEP/BV-01-C", Procedure.direct), ("GAP/CONN/GCEP/BV-01-C", .general),
            ("GAP/CONN/ACEP/BV-01-C", .auto),
        ])
    func directed(id: String, procedure: Procedure) {
        let central = scene.device("central")
        let device = RawAdvertiser(in: scene.world, name: "device", address: 0xA1)
        let peer = PeerID(DeviceAddress(0xA1))
        device.advertise(.directed, to: central.peer.address)
        if procedure == .general {
            _ = central.answer(.startScan(ScanFilter()))
            scene.run(.seconds(1))
            #expect(discovered(central).map(\.peer) == [peer])
            _ = central.answer(.stopScan)
        }
        if procedure == .auto { central.ask(.connect(PeerID(DeviceAddress(0xA2)))) }
        guard case .success(.connected)? = central.answer(.connect(peer), within: .seconds(20)) else {
            Issue.record("There is no link.")
            return
        }
        #expect(device.linkHandle != nil)
    }

    @Test("GAP/GAT/BV-16-C, GAP/GAT/BV-17-C: the GAP service has the device's name and appearance")
    func accessService() throws {
        let device = scene.device("device") { $0.deviceName = "Lamp" }
        let central = scene.device("central", at: 2)
        advertise(device, content())
        _ = central.answer(.connect(device.peer))
        guard case .success(.services(let services)) = central.answer(.discoverServices(device.peer, only: nil)),
            let access = services.first(where: { $0.uuid == .uuid16(0x1800) }),
            case .success(.characteristics(let list)) = central.answer(
                .discoverCharacteristics(device.peer, of: access))
        else {
            Issue.record("There is no GAP service.")
            return
        }
        let name = try #require(list.first { $0.uuid == .uuid16(0x2A00) })
        let appearance = try #require(list.first { $0.uuid == .uuid16(0x2A01) })
        #expect(central.answer(.read(device.peer, name.value)) == .success(.value(Array("Lamp".utf8))))
        #expect(central.answer(.read(device.peer, appearance.value)) == .success(.value([0, 0])))
    }
}

/// Source: Core 6.0, Vol 3, Part C, 9.3.9, and Part A, 4.20.
@Suite("GAP: connection parameters, in both roles")
struct ConnectionParameterCaseTests {
    let scene = TestWorld()

    /// Each LE Connection Update Complete (Core 6.0, Vol 4, Part E, 7.7.65.3), by whom it was told: its interval.
    private final class Updates {
        var intervals: [(device: Int, interval: UInt16)] = []

        init(_ world: World) {
            world.hciTap = { [unowned self] _, device, direction, packet in
                guard direction == .controllerToHost, packet.count >= 9, packet[0] == 0x04, packet[1] == 0x3E,
                    packet[3] == 0x03, packet[4] == 0
                else { return }
                intervals.append((device.number, UInt16(packet[7]) | UInt16(packet[8]) << 8))
            }
        }
    }

    private static let preference = ConnectionPreference(
        intervalSlots: 80...80, latency: 0, supervisionTimeout: 300)

    @Test(
        "New parameters: the peripheral asks for them over L2CAP, the central changes them itself",
        arguments: [("GAP/CONN/CPUP/BV-01-C, GAP/CONN/CPUP/BV-04-C", false), ("GAP/CONN/CPUP/BV-06-C", true)])
    func changed(id: String, byCentral: Bool) {
        let (peripheral, central) = (scene.device("peripheral"), scene.device("central", at: 2))
        _ = peripheral.answer(.startAdvertising(AdvertisementContent()))
        let waiting = peripheral.ask(.connect(central.peer))
        #expect(central.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
        scene.run(.seconds(1))
        #expect(peripheral.answers(waiting).count == 1)
        let updates = Updates(scene.world)
        let (side, peer) = byCentral ? (central, peripheral.peer) : (peripheral, central.peer)
        #expect(side.answer(.updateConnectionParameters(peer, Self.preference)) == .success(.done))
        scene.run(.seconds(2))
        #expect(Set(updates.intervals.map(\.device)).count == 2)
        #expect(updates.intervals.allSatisfy { $0.interval == 80 })
    }

    @Test("GAP/CONN/CPUP/BV-10-C: a peripheral asks by its link layer where both have the procedure")
    func asksByLinkLayer() {
        let (peripheral, central) = (scene.device("peripheral"), scene.device("central", at: 2))
        _ = peripheral.answer(.startAdvertising(AdvertisementContent()))
        let waiting = peripheral.ask(.connect(central.peer))
        #expect(central.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
        scene.run(.seconds(1))
        #expect(peripheral.answers(waiting).count == 1)
        var commands: [[UInt8]] = []
        var data: [[UInt8]] = []
        peripheral.device.device.hciFault = { direction, packet in
            if direction == .hostToController {
                if packet[0] == 0x01 { commands.append(packet) } else { data.append(packet) }
            }
            return [packet]
        }
        #expect(peripheral.answer(.updateConnectionParameters(central.peer, Self.preference)) == .success(.done))
        scene.run(.seconds(2))
        // LE Connection Update (Core 6.0, Vol 4, Part E, 7.8.18), and nothing over L2CAP.
        #expect(commands.map { Array($0[1...2]) } == [[0x13, 0x20]])
        #expect(data.isEmpty)
    }

    @Test("GAP/CONN/CPUP/BV-08-C: a request of the peer's link layer is granted")
    func byLinkLayer() throws {
        let central = scene.device("central")
        let peripheral = RawAdvertiser(in: scene.world, name: "peripheral", address: 0xA1)
        peripheral.advertise(.connectable, [2, 0x01, 0x06])
        _ = central.answer(.connect(PeerID(DeviceAddress(0xA1))))
        scene.run(.seconds(1))
        let updates = Updates(scene.world)
        let handle = try #require(peripheral.linkHandle)
        // LE Connection Update: 100 ms, no latency, 3 s.
        peripheral.command([0x13, 0x20, 14] + handle + [80, 0, 80, 0, 0, 0, 0x2C, 0x01, 0, 0, 0, 0])
        scene.run(.seconds(2))
        #expect(updates.intervals.map(\.interval) == [80, 80])
    }
}
