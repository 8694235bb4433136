import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Testing

/// The snippets of Documentation/Toolkit.md, word for word, in a world.
@Suite("The toolkit's guide")
struct GuideTests {
    @Sendable static func central(_ time: Timekeeper) async throws -> Data {
        let central = Central(time: time)
        try await central.waitUntilOn()
        let lock = try await central.first(where: { $0.localName == "Sensor" }).peripheral
        try await lock.connect(within: .seconds(10))
        let value = try await lock.characteristic(CBUUID(string: "FFF1"), in: CBUUID(string: "FFF0"))
        let before = try await lock.read(value)
        let values = try await lock.values(of: value, buffer: .newest(16))
        try await lock.write(Data("unlock".utf8), to: value)
        for try await notified in values where notified == Data("unlock".utf8) { break }
        try await lock.disconnect()
        return before
    }

    @Sendable static func peripheral(_ time: Timekeeper) async throws {
        let peripheral = LocalPeripheral(time: time)
        try await peripheral.waitUntilOn()
        let service = try await peripheral.publish(
            LocalService(
                CBUUID(string: "FFF0"),
                characteristics: [LocalCharacteristic(CBUUID(string: "FFF1"), [.read, .write, .notify])]))
        try await peripheral.advertise(name: "Sensor", services: [CBUUID(string: "FFF0")])
        var stored = Data("locked".utf8)
        for try await event in peripheral.events {
            switch event {
            case .read(let request): request.respond(with: stored)
            case .write(let request):
                stored = request.values()?.last?.1 ?? stored
                request.accept()
                try await peripheral.notify(stored, of: service.characteristics[0])
            case .subscribed, .unsubscribed, .opened, .radioGone: break
            }
        }
    }

    @Sendable static func supervised(_ sensor: RemotePeripheral, _ wanted: Data) async throws {
        var policy = ConnectionSupervisor.Policy()
        policy.backoff = Backoff(first: .milliseconds(500), factor: 2, limit: .seconds(60), jitter: 0.25)
        policy.proximity = ProximityMeter.Settings(near: -60, far: -80)
        let supervisor = ConnectionSupervisor(of: sensor, policy: policy)
        let values = supervisor.values(of: CBUUID(string: "FFF1"), in: CBUUID(string: "FFF0"))
        async let _: Void = supervisor.run()
        for try await value in values where value == wanted { break }
    }

    @Test("A central reads and writes what the peripheral of the guide keeps")
    func pair() throws {
        let scene = PairWorld()
        let time = scene.time
        #expect(
            try scene.world.output(
                of: scene.phone.start { try await Self.central(time) }, within: .seconds(30)) == Data("stored".utf8))
    }

    @Test("The peripheral of the guide serves")
    func serves() throws {
        let scene = PairWorld { try await Self.peripheral($0) }
        try scene.onPhone { central in
            let sensor = try await central.sensor()
            let value = try await sensor.characteristic(.value, in: .service)
            #expect(try await sensor.read(value) == Data("locked".utf8))
            try await sensor.write(Data("open".utf8), to: value)
            #expect(try await sensor.read(value) == Data("open".utf8))
        }
    }

    @Test("A supervised link, near")
    func supervised() throws {
        let scene = PairWorld()
        try scene.onPhone { central in
            let sensor = try await central.first(for: [.service]).peripheral
            try await Self.supervised(sensor, Data([10]))
        }
    }

    @Test("Identity and values")
    func values() {
        let address = SystemID(Data([0xDE, 0xBC, 0x9A, 0xFE, 0xFF, 0x56, 0x34, 0x12]))?.address
        let beat = HeartRate.measurement.decode(Data([0x00, 72]))?.beatsPerMinute
        #expect(address?.description == "12:34:56:9A:BC:DE" && beat == 72)
    }

    @Test("Each snippet of the guide stands in this file")
    func snippets() throws {
        func squeezed(_ text: some StringProtocol) -> String {
            text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let guide = try String(contentsOf: root.appendingPathComponent("Documentation/Toolkit.md"), encoding: .utf8)
        let source = squeezed(try String(contentsOf: here, encoding: .utf8))
        let blocks = guide.components(separatedBy: "```swift\n").dropFirst()
        #expect(blocks.count == 4)
        for block in blocks {
            let snippet = block.components(separatedBy: "```")[0]
            #expect(source.contains(squeezed(snippet)), "\(snippet)")
        }
    }
}
