import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Testing

/// What becomes of the radio's work when a call is cancelled; EveryStepTests has each step of each call.
@Suite("Cancellation")
struct CancellationTests {
    @Test("An attempt that is cancelled leaves no link and no attempt behind")
    func nothingLeft() throws {
        let scene = PairWorld()
        let time = scene.time
        let search = scene.phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            return try await central.first(for: [.service]).peripheral
        }
        let sensor = try scene.world.output(of: search, within: .seconds(10))
        scene.sensor.position = .init(x: 10_000)
        let attempt = scene.phone.start { try await sensor.connect(within: nil) }
        scene.world.run(for: .seconds(5))
        attempt.cancel()
        scene.world.run(for: .seconds(1))
        scene.sensor.position = .init(x: 2)
        scene.world.run(for: .seconds(10))
        #expect(!sensor.isConnected)
        let end = scene.phone.start { try await sensor.waitForEnd() }
        #expect(try scene.world.output(of: end, within: .zero) == .requested)
    }

    @Test("A program that is cancelled and keeps nothing ends its link properly", arguments: [0, 3000])
    func letGo(milliseconds: Int) throws {
        let scene = PairWorld()
        let time = scene.time
        let program = scene.phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let sensor = try await central.first(for: [.service]).peripheral
            try await sensor.connect()
            do { try await time.sleep(for: .seconds(60)) } catch { try await sensor.disconnect() }
        }
        scene.world.run(for: .milliseconds(500 + milliseconds))
        program.cancel()
        scene.world.run(for: .seconds(5))
        #expect(program.isFinished)
        #expect(!scene.world.reports.contains { $0.text.contains("unused peripheral") }, "\(scene.world.reports)")
    }

    @Test("A subscription whose reader is cancelled is taken back from the peer")
    func unsubscribed() throws {
        let (events, told) = AsyncStream<String>.makeStream()
        let scene = PairWorld { time in
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            _ = try await peripheral.publish(PairWorld.definition)
            try await peripheral.advertise(name: "Sensor", services: [.service])
            for try await event in peripheral.events {
                switch event {
                case .subscribed: told.yield("subscribed")
                case .unsubscribed: told.yield("unsubscribed")
                default: break
                }
            }
        }
        let time = scene.time
        let (goal, reached) = AsyncStream<RemotePeripheral>.makeStream()
        let reader = scene.phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let sensor = try await central.sensor()
            reached.yield(sensor)
            let value = try await sensor.characteristic(.value, in: .service)
            for try await _ in try await sensor.values(of: value) {}
        }
        scene.world.run(for: .seconds(5))
        reader.cancel()
        scene.world.run(for: .seconds(1))
        told.finish()
        let heard = scene.phone.start {
            var all: [String] = []
            for await event in events { all.append(event) }
            return all
        }
        #expect(try scene.world.output(of: heard, within: .zero) == ["subscribed", "unsubscribed"])
        reached.finish()
        _ = goal
    }
}
