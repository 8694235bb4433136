import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Testing

/// Each call is cancelled at every moment of its life: it returns in the same instant, and the next one works.
@Suite("Cancellation")
struct CancellationTests {
    /// A call, what must be so before it, and what must work after it was cancelled.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var prepare: @Sendable (RemotePeripheral) async throws -> Void = { try await $0.connect() }
        var call: @Sendable (RemotePeripheral) async throws -> Void
        var after: @Sendable (RemotePeripheral) async throws -> Void
    }

    /// How far apart the moments are: a third of a connection event's distance, so that none between two of them has
    /// another state.
    static let step = Duration.milliseconds(4)

    @Sendable static func readConstant(_ sensor: RemotePeripheral) async throws {
        try await sensor.connect()
        let constant = try await sensor.characteristic(.constant, in: .service)
        #expect(try await sensor.read(constant) == Data("constant".utf8))
    }

    static let cases: [Case] = [
        Case(
            testDescription: "connect", prepare: { _ in }, call: { try await $0.connect() }, after: readConstant),
        Case(
            testDescription: "disconnect", call: { try await $0.disconnect() },
            after: { try await readConstant($0) }),
        Case(testDescription: "discover", call: { _ = try await $0.discover() }, after: readConstant),
        Case(
            testDescription: "read",
            call: { _ = try await $0.read(try await $0.characteristic(.value, in: .service)) },
            after: readConstant),
        Case(
            testDescription: "write",
            call: {
                try await $0.write(Data(count: 300), to: try await $0.characteristic(.value, in: .service))
            }, after: readConstant),
        Case(
            testDescription: "write without response",
            call: {
                let command = try await $0.characteristic(.command, in: .service)
                for _ in 0..<40 { try await $0.writeWithoutResponse(Data(count: 100), to: command) }
            }, after: readConstant),
        Case(
            testDescription: "RSSI",
            call: { for _ in 0..<3 { _ = try await $0.readRSSI() } }, after: readConstant),
        Case(
            testDescription: "subscribe",
            call: {
                let value = try await $0.characteristic(.value, in: .service)
                for try await _ in try await $0.values(of: value) { break }
            },
            after: {
                let value = try await $0.characteristic(.value, in: .service)
                for try await _ in try await $0.values(of: value) { break }
            }),
    ]

    @Test("A call of a central, cancelled at every moment", arguments: cases)
    func everyMoment(_ item: Case) throws {
        var moment = Duration.zero
        var cancelled = 0
        while try cancel(item, after: moment) {
            cancelled += 1
            moment += Self.step
            try #require(cancelled < 2000, "\(item.testDescription) never ends by itself")
        }
        // The controller knows the strength, and answers in no time.
        #expect(cancelled > 2 || item.testDescription == "RSSI")
    }

    /// - Returns: whether the call was still running at that moment.
    private func cancel(_ item: Case, after moment: Duration) throws -> Bool {
        let scene = PairWorld()
        let time = scene.time
        let (gate, opened) = AsyncStream<Void>.makeStream()
        let (goal, reached) = AsyncStream<RemotePeripheral>.makeStream()
        let phone = scene.phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let sensor = try await central.first(for: [.service]).peripheral
            try await item.prepare(sensor)
            reached.yield(sensor)
            for await _ in gate { break }
            try await item.call(sensor)
        }
        let waiter = scene.phone.start {
            for await sensor in goal { return sensor }
            throw CancellationError()
        }
        let sensor = try scene.world.output(of: waiter, within: .seconds(20))
        opened.yield()
        scene.world.run(for: moment)
        let wasRunning = !phone.isFinished
        phone.cancel()
        scene.world.run(for: .zero)
        #expect(phone.isFinished, "\(item.testDescription) did not return at once, cancelled after \(moment)")
        if wasRunning {
            #expect(throws: CancellationError.self) { try phone.result?.get() }
        }
        let next = scene.phone.start { try await item.after(sensor) }
        #expect(throws: Never.self, "\(item.testDescription) cancelled after \(moment)") {
            try scene.world.output(of: next, within: .seconds(20))
        }
        return wasRunning
    }

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

    @Test("Publishing and advertising, cancelled at every moment")
    func peripheral() throws {
        for microseconds in stride(from: 0, to: 40_000, by: 500) {
            let world = BluetoothWorld(seed: 1)
            let device = world.addDevice("Sensor")
            let time = Timekeeper(world.clock)
            let start = device.start {
                let peripheral = LocalPeripheral(time: time)
                try await peripheral.waitUntilOn()
                return peripheral
            }
            let peripheral = try world.output(of: start, within: .seconds(1))
            let program = device.start {
                _ = try await peripheral.publish(PairWorld.definition)
                try await peripheral.advertise(name: "Sensor", services: [.service])
            }
            world.run(for: .microseconds(microseconds))
            program.cancel()
            world.run(for: .zero)
            #expect(program.isFinished)
            let next = device.start {
                peripheral.stopAdvertising()
                let service = try await peripheral.publish(PairWorld.definition)
                try await peripheral.advertise(name: "Sensor")
                return service.characteristics.count
            }
            #expect(try world.output(of: next, within: .seconds(5)) == 5)
            #expect(peripheral.isAdvertising)
        }
    }
}
