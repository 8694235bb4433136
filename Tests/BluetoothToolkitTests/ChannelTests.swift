import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Testing

/// L2CAP channels in async code: a box that sends back what comes.
@Suite("Channels of the toolkit")
struct ChannelTests {
    private final class Scene {
        let world = BluetoothWorld(seed: 7)
        let phone: SimulatedDevice
        let box: SimulatedDevice
        let numbers = Notes<CBL2CAPPSM>()
        let ends = Notes<String>()

        init() {
            phone = world.addDevice("Phone")
            box = world.addDevice("Box", at: .init(x: 2))
            let (time, numbers, ends) = (Timekeeper(world.clock), numbers, ends)
            _ = box.start {
                let peripheral = LocalPeripheral(time: time)
                try await peripheral.waitUntilOn()
                numbers.add(try await peripheral.offerChannel())
                try await peripheral.advertise(name: "Box")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for try await event in peripheral.events {
                        guard case .opened(let channel) = event else { continue }
                        group.addTask { await Self.echo(channel, ends) }
                    }
                    try await group.waitForAll()
                }
            }
            world.run(for: .seconds(1))
        }

        private static func echo(_ channel: Channel, _ ends: Notes<String>) async {
            do {
                while let data = try await channel.read() { try await channel.write(data) }
                ends.add("end")
            } catch {
                ends.add("\(error)")
            }
        }

        /// Runs `body` on the phone, with the box found and connected.
        func onPhone<Output: Sendable>(
            _ body: @escaping @Sendable (RemotePeripheral, CBL2CAPPSM) async throws -> Output
        ) -> SimulatedProgram<Output> {
            let (time, psm) = (Timekeeper(world.clock), numbers.all[0])
            return phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                let box = try await central.first(where: { $0.name == "Box" }).peripheral
                try await box.connect()
                return try await body(box, psm)
            }
        }
    }

    /// Sends, and reads the same back.
    @Sendable private static func exchange(_ channel: Channel, _ content: Data) async throws -> Data {
        try await withThrowingTaskGroup(of: Data.self) { group in
            group.addTask {
                try await channel.write(content)
                return Data()
            }
            group.addTask {
                var back = Data()
                while back.count < content.count, let part = try await channel.read() { back += part }
                return back
            }
            return try await group.reduce(into: Data()) { $0 += $1 }
        }
    }

    @Test("Octets there and back, and a proper end", arguments: [1, 20_000, 200_000])
    func echo(count: Int) throws {
        let scene = Scene()
        let content = Chance(seed: 1).data(count)
        let program = scene.onPhone { box, psm in
            let channel = try await box.openChannel(psm)
            let back = try await Self.exchange(channel, content)
            channel.close()
            #expect(try await channel.read() == nil)
            await #expect(throws: ToolkitError.linkEnded(.peerEnded)) { try await channel.write(content) }
            try await box.time.sleep(for: .seconds(1))
            return back
        }
        #expect(try scene.world.output(of: program, within: .seconds(60)) == content)
        #expect(scene.ends.all == ["end"])
    }

    @Test("A lost link ends what waits on the channel, on both sides, with the cause")
    func lost() throws {
        let scene = Scene()
        let program = scene.onPhone { box, psm in
            let channel = try await box.openChannel(psm)
            return try await channel.read()
        }
        scene.world.run(for: .seconds(3))
        scene.box.position = .init(x: 10_000)
        #expect(throws: ToolkitError.linkEnded(.lost)) {
            try scene.world.output(of: program, within: .seconds(20))
        }
        scene.world.run(for: .seconds(1))
        #expect(scene.ends.all.count == 1 && scene.ends.all != ["end"])
    }

    @Test("A number that nobody offers is refused; the next one opens")
    func refused() throws {
        let scene = Scene()
        let program = scene.onPhone { box, psm in
            await #expect(throws: (any Error).self) { _ = try await box.openChannel(psm + 1) }
            return try await Self.exchange(try await box.openChannel(psm), Data("x".utf8))
        }
        #expect(try scene.world.output(of: program, within: .seconds(20)) == Data("x".utf8))
    }

    @Test("Opening, writing and reading, cancelled at every moment: the next channel works")
    func cancelled() throws {
        let content = Chance(seed: 2).data(8000)
        var moment = Duration.zero
        var isRunning = true
        while isRunning {
            let scene = Scene()
            let (gate, opened) = AsyncStream<Void>.makeStream()
            let (goal, reached) = AsyncStream<RemotePeripheral>.makeStream()
            let first = scene.onPhone { box, psm in
                reached.yield(box)
                for await _ in gate { break }
                return try await Self.exchange(try await box.openChannel(psm), content)
            }
            let waiter = scene.phone.start {
                for await box in goal { return box }
                throw CancellationError()
            }
            let box = try scene.world.output(of: waiter, within: .seconds(20))
            opened.yield()
            scene.world.run(for: moment)
            isRunning = !first.isFinished
            first.cancel()
            scene.world.run(for: .zero)
            #expect(first.isFinished, "not at once, cancelled after \(moment)")
            let psm = scene.numbers.all[0]
            let next = scene.phone.start { try await Self.exchange(try await box.openChannel(psm), content) }
            #expect(try scene.world.output(of: next, within: .seconds(20)) == content, "cancelled after \(moment)")
            moment += .milliseconds(4)
            try #require(moment < .seconds(5))
        }
        #expect(moment > .milliseconds(40))
    }
}
