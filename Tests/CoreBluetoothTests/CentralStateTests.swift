import BluetoothTypes
import CoreBluetooth
import HostInterface
import Testing

let lockAddress = PeerID(DeviceAddress(0x00_A0_50_00_00_01))

/// A complete local name, as it travels.
func nameStructure(_ name: String) -> [UInt8] { [UInt8(name.utf8.count + 1), 0x09] + Array(name.utf8) }

func discovery(
    _ peer: PeerID = lockAddress, name: String = "Lock", scanResponse: [UInt8] = [], isConnectable: Bool = true
) -> HostEvent {
    .discovered(
        Discovery(
            peer: peer, advertisingData: [2, 1, 6] + nameStructure(name), scanResponseData: scanResponse,
            isConnectable: isConnectable, rssi: -60))
}

@Suite("Central: radio state, scanning, identity")
struct CentralStateTests {
    let host = ScriptedHost()

    /// An app that scans and has found one lock.
    func scanningApp() -> CentralApp {
        let app = host.launch { CentralApp() }
        host.powerOn()
        app.manager.scanForPeripherals(withServices: nil)
        host.answer(.done)
        host.tell(discovery())
        _ = app.take()
        return app
    }

    @Test("B-B1: the state is unknown until the first call, which comes later")
    func firstState() {
        let app = host.launch { CentralApp() }
        #expect(app.manager.state == .unknown)
        #expect(app.log.isEmpty)
        host.powerOn()
        #expect(app.take() == ["state poweredOn"])
        #expect(app.manager.state == .poweredOn)
    }

    @Test(
        "A1, B2: each state is told, and why the radio cannot be used",
        arguments: [
            (AdapterState.unknown, CBManagerState.unknown, nil as String?),
            (.resetting, .resetting, nil), (.poweredOff, .poweredOff, nil),
            (.unsupported(reason: "no LE"), .unsupported, "no LE"),
            (.unauthorized(reason: "needs CAP_NET_ADMIN"), .unauthorized, "needs CAP_NET_ADMIN"),
        ])
    func states(state: AdapterState, expected: CBManagerState, reason: String?) {
        let app = host.launch { CentralApp() }
        host.tell(.state(state))
        #expect(app.manager.state == expected)
        #expect(app.manager.authorization == (expected == .unauthorized ? .denied : .allowedAlways))
        #expect(app.log.count == 1)
        if let reason { #expect(host.reports.contains { $0.contains(reason) }) } else { #expect(host.reports.isEmpty) }
    }

    @Test("B-B2: a command in another state is dropped and reported")
    func notPoweredOn() {
        let app = host.launch { CentralApp() }
        host.tell(.state(.poweredOff))
        app.manager.scanForPeripherals(withServices: nil)
        app.manager.stopScan()
        #expect(app.manager.retrievePeripherals(withIdentifiers: [UUID()]).isEmpty)
        host.expect()
        #expect(host.reports.count == 3)
        #expect(
            host.reports[0].hasPrefix("[CoreBluetooth] API MISUSE: <CBCentralManager: 0x")
                && host.reports[0].hasSuffix("> can only accept this command while in the powered on state"))
    }

    @Test("B-C1, B-C2: filter and options reach the host; the second scan replaces the first")
    func scanOptions() {
        let app = host.launch { CentralApp() }
        host.powerOn()
        #expect(!app.manager.isScanning)
        app.manager.scanForPeripherals(
            withServices: [CBUUID(string: "FFF0")],
            options: [
                CBCentralManagerScanOptionAllowDuplicatesKey: true,
                CBCentralManagerScanOptionSolicitedServiceUUIDsKey: [CBUUID(string: "180F")],
            ])
        #expect(app.manager.isScanning)
        host.expect(
            .startScan(
                ScanFilter(services: [.uuid16(0xFFF0)], solicitedServices: [.uuid16(0x180F)], allowDuplicates: true)),
            answer: .success(.done))
        app.manager.scanForPeripherals(withServices: [], options: nil)
        host.expect(.startScan(ScanFilter()), answer: .success(.done))
        app.manager.stopScan()
        #expect(!app.manager.isScanning)
        host.expect(.stopScan, answer: .success(.done))
        host.tell(discovery())
        #expect(app.take().allSatisfy { !$0.hasPrefix("didDiscover") }, "no report after the scan")
    }

    @Test("B-B5: a scan goes on when the radio is back, unless it was stopped meanwhile")
    func scanAcrossPowerOff() {
        let app = scanningApp()
        host.tell(.state(.poweredOff))
        #expect(!app.manager.isScanning)
        host.powerOn()
        #expect(app.manager.isScanning)
        host.expect(.startScan(ScanFilter()), answer: .success(.done))
        host.tell(.state(.poweredOff))
        app.manager.stopScan()
        host.powerOn()
        #expect(!app.manager.isScanning)
        host.expect()
    }

    @Test("B-C3, B-C6, B-C9: name, signal strength and the name's change")
    func names() {
        let app = scanningApp()
        app.peripheral.delegate = app
        #expect(app.peripheral.name == "Lock")
        host.tell(discovery(name: "Lock 2"))
        #expect(app.take() == ["didUpdateName Lock 2", "didDiscover Lock 2 -60"])
        host.tell(.nameChanged(lockAddress, "Front door"))
        #expect(app.take() == ["didUpdateName Front door"])
        host.tell(discovery(name: "Lock 3"))
        #expect(app.take() == ["didDiscover Front door -60"], "the device's own name wins")
        #expect(app.advertisements.last?[CBAdvertisementDataLocalNameKey] as? String == "Lock 3")
    }

    @Test("B-A5, B-A6: one object for a device, by an identifier that is not its address")
    func identity() {
        let app = scanningApp()
        host.tell(discovery())
        #expect(app.peripherals.count == 1)
        let identifier = app.peripheral.identifier
        // Version 5 and the variant of RFC 9562, 4.1 and 4.2.
        #expect(identifier.uuid.6 >> 4 == 5 && identifier.uuid.8 >> 6 == 2)
        let found = app.manager.retrievePeripherals(withIdentifiers: [UUID(), identifier, identifier])
        #expect(found == [app.peripheral, app.peripheral])
        #expect(found[0] === app.peripheral)
        #expect((app.peripheral.copy() as? CBPeripheral) === app.peripheral)
    }

    @Test("B-A5: a peripheral of another manager is refused, and found by its identifier instead")
    func foreignPeripheral() throws {
        let app = scanningApp()
        let otherHost = ScriptedHost()
        let other = otherHost.launch { CentralApp() }
        otherHost.powerOn()
        other.manager.connect(app.peripheral)
        otherHost.expect()
        #expect(otherHost.reports.count == 1)
        otherHost.tell(.peerKnown(PeerKnowledge(peer: lockAddress, name: "Front door")))
        let own = try #require(
            other.manager.retrievePeripherals(withIdentifiers: [app.peripheral.identifier]).first)
        #expect(own !== app.peripheral && own.name == "Front door" && own.state == .disconnected)
    }

    @Test("B-C11: who is connected for whichever app is found by its services")
    func connectedPeripherals() {
        let app = host.launch { CentralApp() }
        host.powerOn()
        host.tell(.peerKnown(PeerKnowledge(peer: lockAddress, isConnected: true, services: [.uuid16(0xFFF0)])))
        #expect(app.manager.retrieveConnectedPeripherals(withServices: []).isEmpty)
        #expect(app.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180F")]).isEmpty)
        let found = app.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "FFF0")])
        #expect(found.map(\.state) == [.disconnected])
    }

    @Test("B-D13: connection events of matching devices")
    func connectionEvents() {
        let app = host.launch { CentralApp() }
        host.powerOn()
        _ = app.take()
        let up = PeerKnowledge(peer: lockAddress, isConnected: true, services: [.uuid16(0xFFF0)])
        let down = PeerKnowledge(peer: lockAddress)
        app.manager.registerForConnectionEvents(options: [.serviceUUIDs: [CBUUID(string: "180F")]])
        host.tell(.peerKnown(up))
        #expect(app.take() == [])
        app.manager.registerForConnectionEvents(options: [.serviceUUIDs: [CBUUID(string: "FFF0")]])
        host.tell(.peerKnown(down))
        host.tell(.peerKnown(up))
        #expect(app.log.count == 2)
        app.manager.registerForConnectionEvents(options: nil)
        host.tell(.peerKnown(down))
        #expect(app.log.count == 2)
    }

    @Test("B-B3: below powered off the peripherals are void")
    func voidPeripherals() {
        let app = scanningApp()
        host.tell(.state(.resetting))
        host.powerOn()
        host.answer(.done)
        _ = host.takeReports()
        app.manager.connect(app.peripheral)
        host.expect()
        #expect(host.reports.count == 1)
    }

    @Test("The last reference to the manager ends the session")
    func end() {
        var app: CentralApp? = host.launch { CentralApp() }
        #expect(app != nil)
        app = nil
        #expect(host.isClosed)
        host.powerOn()
    }
}
