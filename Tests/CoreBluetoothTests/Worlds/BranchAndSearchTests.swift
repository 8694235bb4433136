import BluetoothSimulation
import BluetoothSimulationTesting
import CoreBluetooth
import Foundation
import Synchronization
import Testing

@Suite("Branches of a world, recordings, and the search for the order that breaks an app")
struct BranchAndSearchTests {
    // MARK: Branches

    private static let connected = WorldPrefix(seed: 3) { world in
        let lock = world.addDevice(.smartLock, "Door", at: .init(x: 2))
        let app = world.addDevice("Phone").run { CentralApp() }
        app.reactions["didDiscover"] = { app, peripheral in app.manager.connect(peripheral) }
        world.run(until: { app.manager.state == .poweredOn }, within: .seconds(1))
        app.manager.scanForPeripherals(withServices: nil)
        world.run(until: { app.log.contains("didConnect connected") }, within: .seconds(10))
        return (lock: lock, app: app)
    }

    @Test("A hundred branches begin where the beginning ended, and know nothing of each other")
    func hundred() throws {
        let start = try Self.connected.branch().world.now
        for number in 0..<100 {
            let (world, scene) = try Self.connected.branch()
            #expect(world.now == start && scene.app.log.last == "didConnect connected")
            if number % 2 == 0 { scene.lock.removeBattery() }
            world.run(for: .seconds(5))
            #expect(scene.app.log.contains("didDisconnect disconnected CBError 6") == (number % 2 == 0))
        }
    }

    @Test("A beginning that is another each time is found out")
    func diverged() throws {
        let calls = Atomic(0)
        let prefix = WorldPrefix { world in
            let number = calls.add(1, ordering: .relaxed).newValue
            world.addDevice(.smartLock, "Door \(number)")
            world.run(for: .seconds(1))
        }
        _ = try prefix.branch()
        #expect(throws: WorldPrefix<Void>.Diverged.self) { try prefix.branch() }
    }

    // MARK: The search

    /// An app with a race: it gives the connection half a second, and then discovers, connected or not.
    private final class Hasty: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
        // `@unchecked`: one test, one thread.
        private(set) var manager: CBCentralManager!
        private var peripheral: CBPeripheral?
        private(set) var services: [CBService]?
        private let world: BluetoothWorld
        private let waits: Bool

        init(in world: BluetoothWorld, waits: Bool) {
            self.world = world
            self.waits = waits
            super.init()
            manager = CBCentralManager(delegate: self, queue: nil)
        }

        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
        }

        func centralManager(
            _ central: CBCentralManager, didDiscover found: CBPeripheral, advertisementData: [String: Any],
            rssi RSSI: NSNumber
        ) {
            guard peripheral == nil else { return }
            peripheral = found
            found.delegate = self
            central.stopScan()
            central.connect(found)
            if waits { return }
            world.schedule(at: world.now + .milliseconds(500)) { found.discoverServices(nil) }
        }

        func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
            if waits { peripheral.discoverServices(nil) }
        }

        func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
            services = peripheral.services
        }
    }

    private struct NoServices: Error {}

    private func scenario(waits: Bool) -> (BluetoothWorld) throws -> Void {
        { world in
            world.addDevice(.smartLock, "Door", at: .init(x: 2))
            let app = world.addDevice("Phone").run { Hasty(in: world, waits: waits) }
            guard world.run(until: { app.services != nil }, within: .seconds(20)) else { throw NoServices() }
        }
    }

    @Test("The race is found, and shrunk to one packet that is held up; without the race nothing is found")
    func race() throws {
        let search = ScheduleSearch(attempts: 200, seed: 1)
        let finding = try #require(search.run(scenario(waits: false)))
        #expect(finding.error is NoServices)
        #expect(finding.script.count == 1, "\(finding)")
        #expect(finding.story.contains("Phone") && "\(finding)".contains("hold up for"))
        // Shorter by half, it breaks nothing: the time that the app gives is half a second.
        #expect(finding.script[0].delay <= .seconds(1))
        #expect(search.run(scenario(waits: false))?.script == finding.script, "the search repeats, too")
        #expect(ScheduleSearch(attempts: 60, seed: 1).run(scenario(waits: true)) == nil)
    }

    // MARK: Recordings

    @Test("A recording has the air, each host, and the story")
    func recording() throws {
        let (world, scene) = try Self.connected.branch()
        let recording = world.record()
        scene.lock.addFault(.hangsUpAtOnce)
        scene.lock.removeBattery()
        world.run(for: .seconds(4))
        #expect(recording.story.contains("! fault hangsUpAtOnce begins"))
        #expect(recording.story.contains("link to its peer ended: nothing heard for too long (0x08)"))
    }
}

@Suite("What a failed test leaves behind")
struct RecordsFailuresTests {
    /// It runs inside of another test, as the trait runs it.
    private func scoped(_ body: @escaping @Sendable () -> Void) async throws -> [String] {
        let comments = Mutex<[String]>([])
        let test = try #require(Test.current)
        // The issue is expected, and kept from the outer test.
        let catching = IssueHandlingTrait.compactMapIssues { issue in
            comments.withLock { $0 += issue.comments.map(\.rawValue) }
            return nil
        }
        try await catching.provideScope(for: test, testCase: Test.Case.current) {
            try await RecordsFailures().provideScope(for: test, testCase: Test.Case.current) { body() }
        }
        return comments.withLock { $0 }
    }

    @Test("An #expect that fails tells where the recordings of its worlds are; one that holds leaves nothing")
    func leaves() async throws {
        let comments = try await scoped {
            let world = BluetoothWorld(seed: 1)
            world.addDevice(.smartLock, "Door", at: .init(x: 2))
            world.run(for: .seconds(1))
            #expect(world.devices.count == 2, "the door and somebody else")
            world.run(for: .seconds(1))
        }
        let comment = try #require(comments.first { $0.hasPrefix("What the world did is in ") })
        #expect(comment.contains("Door          advertises"))
        let folder = try #require(comment.split(separator: " ").first { $0.contains("/") }?.dropLast())
        let files = try FileManager.default.contentsOfDirectory(atPath: String(folder)).sorted()
        #expect(files == ["0-Door.btsnoop", "air.pcap", "story.txt"])
        let air = try #require(FileManager.default.contents(atPath: folder + "/air.pcap"))
        #expect(air.count > 1000 && air.starts(with: [0x4D, 0x3C, 0xB2, 0xA1]))
        try FileManager.default.removeItem(atPath: String(folder))
        let quiet = try await scoped { BluetoothWorld(seed: 1).run(for: .seconds(1)) }
        #expect(quiet.isEmpty)
    }
}
