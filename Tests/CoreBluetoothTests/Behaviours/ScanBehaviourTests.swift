import Backends
import BluetoothSimulation
import BluetoothTypes
import CoreBluetooth
import HostInterface
import Testing

/// Section C of the observed behaviour: scanning and discovery.
@Suite("Behaviour: scanning")
struct ScanBehaviourTests {
    /// What an advertiser can do that Apple's API does not offer.
    private func advertise(_ content: AdvertisementContent, on device: SimulatedDevice) -> any HostSession {
        final class Nowhere: CallbackExecutor {
            func run(_ work: @escaping @Sendable () -> Void) {}
            func settle() {}
        }
        let session = device.run { SessionProvider.makeSession() }
        session.open(on: Nowhere()) { _ in }
        session.submit(.startAdvertising(content), number: RequestNumber(1))
        return session
    }

    @Test("B-C1: a second scan replaces the first; nil and an empty list mean all")
    func replaced() throws {
        let scene = LockWorld()
        _ = scene.app.take()
        scene.app.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
        scene.world.run(for: .seconds(2))
        #expect(scene.app.take().isEmpty)
        scene.app.manager.scanForPeripherals(withServices: [])
        scene.world.run(for: .seconds(2))
        #expect(!scene.app.take().isEmpty)
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(2))
        #expect(!scene.app.take().isEmpty)
        scene.app.manager.scanForPeripherals(
            withServices: [CBUUID(string: "180D")], options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        scene.world.run(for: .seconds(2))
        #expect(scene.app.take().isEmpty, "one scan, not two")
    }

    @Test("B-C2: a filter is an or over lists of every width; Service Data alone does not match")
    func filter() throws {
        let scene = LockWorld(advertises: false)
        let long = "0000FFF0-1234-1000-8000-00805F9B34FB"
        scene.lockApp.manager.startAdvertising([
            CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "180F"), CBUUID(string: long)]
        ])
        scene.world.run(for: .milliseconds(100))
        func finds(_ uuids: [String]) -> Bool {
            _ = scene.app.take()
            scene.app.manager.scanForPeripherals(withServices: uuids.map(CBUUID.init(string:)))
            scene.world.run(for: .seconds(2))
            return !scene.app.take().isEmpty
        }
        #expect(finds(["180F"]) && finds([long]) && finds(["180A", long]))
        #expect(finds(["0000180F-0000-1000-8000-00805F9B34FB"]), "the same UUID in another width")
        #expect(!finds(["180A"]))
    }

    @Test("B-C3: two reports, the second with what the scan response adds")
    func twoReports() throws {
        let scene = LockWorld(advertises: false)
        scene.lockApp.manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "A name of twenty-six octet",
            CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")],
        ])
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(10))
        #expect(scene.app.advertisements.count == 2)
        #expect(scene.app.advertisements[0][CBAdvertisementDataLocalNameKey] == nil)
        let merged = scene.app.advertisements[1]
        #expect(merged[CBAdvertisementDataLocalNameKey] as? String == "A name of twenty-six octet")
        #expect(merged[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "FFF0")])
    }

    @Test("B-C5: a scan that is stopped and started reports devices anew")
    func anew() throws {
        let scene = LockWorld()
        for _ in 0..<3 {
            scene.app.manager.scanForPeripherals(withServices: nil)
            scene.world.run(for: .seconds(2))
            #expect((1...2).contains(scene.app.take().count))
            scene.app.manager.stopScan()
            scene.world.run(for: .seconds(2))
            #expect(scene.app.take().isEmpty)
        }
    }

    @Test("B-C6: the RSSI is in dBm, and falls with the distance")
    func rssi() throws {
        func strength(at metres: Double) throws -> Int {
            let scene = LockWorld()
            scene.lock.position = .init(x: metres)
            _ = scene.app.take()
            scene.app.manager.scanForPeripherals(withServices: nil)
            #expect(scene.wait { !$0.app.log.isEmpty })
            return try #require(scene.app.log.first?.split(separator: " ").last.flatMap { Int($0) })
        }
        let (near, far) = try (strength(at: 1), strength(at: 20))
        #expect((-127 ... -20).contains(near) && near > far + 10)
    }

    @Test("B-C6: 127 means that it is not available")
    func noRSSI() {
        let host = ScriptedHost()
        let app = host.launch { CentralApp() }
        host.powerOn()
        app.manager.scanForPeripherals(withServices: nil)
        host.tell(
            .discovered(
                Discovery(
                    peer: lockAddress, advertisingData: [], scanResponseData: [], isConnectable: true, rssi: 127)))
        #expect(app.take().last == "didDiscover - 127")
    }

    @Test("B-C7: scanning is active: what stands in the scan response only is seen")
    func active() throws {
        let scene = LockWorld(advertises: false)
        scene.lockApp.manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "In the scan response",
            CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "0000FFF0-1234-1000-8000-00805F9B34FB")],
        ])
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(
            scene.wait {
                $0.app.advertisements.last?[CBAdvertisementDataLocalNameKey] as? String == "In the scan response"
            })
    }

    @Test("B-C8: who takes no connections is reported, as such")
    func notConnectable() throws {
        let scene = LockWorld(advertises: false)
        let session = advertise(
            AdvertisementContent(localName: "Beacon", services: [.uuid16(0xFEAA)], isConnectable: false),
            on: scene.lock)
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(2))
        let beacon = try #require(scene.app.advertisements.last)
        #expect(beacon[CBAdvertisementDataIsConnectable] as? Bool == false)
        #expect(beacon[CBAdvertisementDataLocalNameKey] as? String == "Beacon")
        session.close()
    }

    @Test("B-C9: the advertised name, then the device's own, also in later scans")
    func names() throws {
        let scene = LockWorld()
        try scene.connect()
        scene.waitForLog("didUpdateName Door lock")
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        #expect(scene.app.peripheral.name == "Door lock")
        _ = scene.app.take()
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(2))
        #expect(scene.app.log.allSatisfy { $0.hasPrefix("didDiscover Door lock ") } && !scene.app.log.isEmpty)
        #expect(scene.app.advertisements.last?[CBAdvertisementDataLocalNameKey] as? String == "KL940704079")
    }

    @Test("B-C10: retrieving answers at once, in the order asked, without the unknown, and only while powered on")
    func retrieve() throws {
        let scene = LockWorld()
        let beacon = scene.world.addDevice("Beacon", at: .init(y: 1))
        let beaconApp = beacon.run { PeripheralApp() }
        #expect(scene.wait { _ in beaconApp.manager.state == .poweredOn })
        beaconApp.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Beacon"])
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { $0.app.peripherals.count == 2 })
        let (first, second) = (scene.app.peripherals[0], scene.app.peripherals[1])
        let found = scene.app.manager.retrievePeripherals(
            withIdentifiers: [second.identifier, UUID(), first.identifier])
        #expect(found == [second, first] && found.allSatisfy { $0.state == .disconnected })
        scene.phone.setBluetooth(on: false)
        scene.waitForLog("state poweredOff")
        #expect(scene.app.manager.retrievePeripherals(withIdentifiers: [first.identifier]).isEmpty)
        #expect(scene.world.reports.last?.text.contains("can only accept this command") == true)
    }

    @Test("B-C11, B-C12: what another app has connected is found by service, and connects without radio activity")
    func connectedByOthers() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let other = scene.phone.run { CentralApp() }
        #expect(scene.wait { _ in other.manager.state == .poweredOn })
        #expect(other.manager.retrieveConnectedPeripherals(withServices: []).isEmpty)
        #expect(other.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180F")]).isEmpty)
        let found = other.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "FFF0")])
        #expect(found.count == 1 && found[0].state == .disconnected)
        let before = scene.world.now
        other.manager.connect(found[0])
        #expect(scene.wait { _ in found[0].state == .connected })
        #expect(scene.world.now - before <= .milliseconds(1))
    }
}
