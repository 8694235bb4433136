import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Testing

/// A call of a peripheral or of a channel, or one that takes several steps of both sides.
struct FlowLife: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var make: @Sendable () throws -> Life

    init(_ description: String, _ make: @escaping @Sendable () throws -> Life) {
        testDescription = description
        self.make = make
    }

    /// Runs `body`, which does not end by itself, until something has happened.
    static func during(
        _ time: Timekeeper, _ body: @escaping @Sendable () async throws -> Void,
        until isDone: @escaping @Sendable () -> Bool
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await body() }
            group.addTask { while !isDone() { try await time.sleep(for: .milliseconds(10)) } }
            try await group.next()
        }
    }

    // MARK: A peripheral alone

    /// A device whose peripheral is ready for the call.
    private static func alone(
        _ description: String, reset: @escaping @Sendable (BluetoothWorld, SimulatedDevice) -> Void = { _, _ in },
        _ call: @escaping @Sendable (LocalPeripheral) async throws -> Void,
        next: (@Sendable (LocalPeripheral) async throws -> Void)? = nil
    ) -> FlowLife {
        FlowLife(description) {
            let world = BluetoothWorld(seed: 1)
            let device = world.addDevice("Sensor")
            let time = Timekeeper(world.clock)
            let peripheral = try world.output(
                of: device.start {
                    let peripheral = LocalPeripheral(time: time)
                    try await peripheral.waitUntilOn()
                    return peripheral
                }, within: .seconds(1))
            let life = Life(world, on: device) {
                try await call(peripheral)
            } next: {
                try await (next ?? call)(peripheral)
            }
            life.reset = { [unowned life] in reset(life.world, device) }
            life.before = { peripheral.stopAdvertising() }
            return life
        }
    }

    /// Switched off, and on again in a moment.
    private static let switching: @Sendable (BluetoothWorld, SimulatedDevice) -> Void = { world, device in
        // Whoever switches it on from the time before has done so.
        world.run(for: .milliseconds(2))
        device.setBluetooth(on: false)
        world.run(for: .milliseconds(5))
        world.schedule(at: world.now + .milliseconds(1)) { device.setBluetooth(on: true) }
    }

    static let peripherals: [FlowLife] = [
        alone("waitUntilOn of a peripheral", reset: switching) { try await $0.waitUntilOn() },
        FlowLife("waitUntilOn of a central") {
            let world = BluetoothWorld(seed: 1)
            let device = world.addDevice("Phone")
            let time = Timekeeper(world.clock)
            let central = try world.output(of: device.start { Central(time: time) }, within: .seconds(1))
            let life = Life(world, on: device) {
                try await central.waitUntilOn()
            } next: {
                try await central.waitUntilOn()
            }
            life.reset = { [unowned life] in switching(life.world, device) }
            return life
        },
        alone("publish") { peripheral in
            _ = try await peripheral.publish(PairWorld.definition)
        } next: { peripheral in
            let service = try await peripheral.publish(PairWorld.definition)
            #expect(service.characteristics.count == 5)
            peripheral.withdraw(service)
        },
        alone("advertise") { peripheral in
            try await peripheral.advertise(name: "Sensor", services: [.service])
        } next: { peripheral in
            try await peripheral.advertise(name: "Sensor")
            #expect(peripheral.isAdvertising)
            peripheral.stopAdvertising()
        },
        alone("offerChannel") { peripheral in
            peripheral.withdrawChannel(try await peripheral.offerChannel())
        },
        FlowLife("notify") {
            let world = BluetoothWorld(seed: 1)
            let device = world.addDevice("Sensor")
            let phone = world.addDevice("Phone", at: .init(x: 2), mtu: 185)
            let time = Timekeeper(world.clock)
            let (peripheral, value) = try world.output(
                of: device.start {
                    let peripheral = LocalPeripheral(time: time)
                    try await peripheral.waitUntilOn()
                    let service = try await peripheral.publish(PairWorld.definition)
                    try await peripheral.advertise(name: "Sensor", services: [.service])
                    return (peripheral, try #require(service.characteristic(.value)))
                }, within: .seconds(1))
            let listener = phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                let sensor = try await central.sensor()
                for try await _ in try await sensor.values(of: try await sensor.characteristic(.value, in: .service)) {}
            }
            #expect(world.run(until: { !value.subscribers.isEmpty }, within: .seconds(10)))
            let life = Life(world, on: device) {
                for _ in 0..<40 { try await peripheral.notify(Data(count: 180), of: value) }
            } next: {
                try await peripheral.notify(Data(count: 180), of: value)
            }
            life.rest = ["link", "advertising"]
            life.owner = listener
            return life
        },
    ]
}

extension FlowLife {
    // MARK: Several steps, on a phone near a box

    /// What a flow is made of, on the side where it is cancelled.
    struct Scene: Sendable {
        let time: Timekeeper
        /// Of the other side.
        let notes: Notes<Int>
        /// The other side, of a flow on the phone.
        let remote: RemotePeripheral?
        /// Of a flow on the box.
        let peripheral: LocalPeripheral?

        func box() throws -> RemotePeripheral { try #require(remote) }
        func own() throws -> LocalPeripheral { try #require(peripheral) }
    }

    /// A box that serves all the time, and a phone on which a flow is cancelled; or the other way round.
    private static func flow(
        _ description: String, isOnBox: Bool = false, rest: Set<String> = [],
        other: @escaping @Sendable (Timekeeper, Notes<Int>) async throws -> Void,
        call: @escaping @Sendable (Scene) async throws -> Void
    ) -> FlowLife {
        FlowLife(description) {
            let world = BluetoothWorld(seed: 7)
            let phone = world.addDevice("Phone")
            let box = world.addDevice("Box", at: .init(x: 2))
            let time = Timekeeper(world.clock)
            let notes = Notes<Int>()
            let program = (isOnBox ? phone : box).start { try await other(time, notes) }
            let device = isOnBox ? box : phone
            let scene = try world.output(
                of: device.start {
                    if isOnBox {
                        let peripheral = LocalPeripheral(time: time)
                        try await peripheral.waitUntilOn()
                        return Scene(time: time, notes: notes, remote: nil, peripheral: peripheral)
                    }
                    let central = Central(time: time)
                    try await central.waitUntilOn()
                    let remote = try await central.first().peripheral
                    return Scene(time: time, notes: notes, remote: remote, peripheral: nil)
                }, within: .seconds(10))
            let life = Life(world, on: device) {
                try await call(scene)
            } next: {
                try await call(scene)
            }
            life.rest = rest
            life.stride = 3
            // No multiple of the steps of a connection event, so that all its phases are met.
            life.pace = 13
            life.owner = program
            return life
        }
    }

    /// What does not give up, and tries again soon.
    private static var persistence: TransferPersistence {
        var persistence = TransferPersistence()
        persistence.backoff = Backoff(first: .milliseconds(20), factor: 1, limit: .milliseconds(20), jitter: 0)
        persistence.maximumFailures = nil
        return persistence
    }

    /// Whatever becomes of it within three seconds, it is tried again: the other side may have gone in the middle, and
    /// a central that had not yet asked for Service Changed is not told.
    private static func again(_ time: Timekeeper, _ body: @escaping @Sendable () async throws -> Void) async throws {
        while true {
            try? await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await body() }
                group.addTask { try await time.sleep(for: .seconds(3)) }
                try await group.next()
            }
            try await time.sleep(for: .milliseconds(20))
        }
    }

    private static var soakPlan: SoakPlan {
        var plan = SoakPlan()
        plan.duration = .milliseconds(150)
        plan.interval = .milliseconds(50)
        plan.supervision.backoff = persistence.backoff
        return plan
    }

    private static let content = Chance(seed: 5).data(120)

    private static func serve(_ time: Timekeeper) async throws {
        let peripheral = LocalPeripheral(time: time)
        try await peripheral.waitUntilOn()
        try await MessageServer(peripheral).run {
            try await peripheral.advertise(name: "Box", services: [MessageService.service])
        } _: { link in
            try await TransferReceiver(into: NowhereStore()).receive(over: link, by: time)
        }
    }

    private static func box(_ time: Timekeeper, _ service: CBUUID) async throws -> RemotePeripheral {
        let central = Central(time: time)
        try await central.waitUntilOn()
        return try await central.first(for: [service], within: nil).peripheral
    }

    static let flows: [FlowLife] =
        MessageCarrier.allCases.map { carrier in
            flow("a transfer to a peripheral over \(carrier)") { time, _ in
                try await serve(time)
            } call: { scene in
                var persistence = persistence
                persistence.carrier = carrier
                try await TransferSender(content, name: "a").send(
                    to: try scene.box(), persistence: persistence)
            }
        } + [
            flow("asking whether a link is still there", rest: ["link"]) { time, _ in
                try await serve(time)
            } call: { scene in
                let box = try scene.box()
                try await box.connect()
                let link = try await CentralMessageLink(to: box)
                for _ in 0..<3 { try await link.check() }
                try await box.disconnect()
            },
            flow("a transfer from a peripheral") { time, _ in
                let peripheral = LocalPeripheral(time: time)
                try await peripheral.waitUntilOn()
                try await MessageServer(peripheral, isOutbox: true).run {
                    try await peripheral.advertise(name: "Box", services: [MessageService.outbox])
                } _: { link in
                    try await TransferSender(content, name: "a").send(over: link, by: time)
                }
            } call: { scene in
                let box = try scene.box()
                let received = Notes<Int>()
                try await during(scene.time) {
                    try await TransferReceiver(into: NowhereStore()).receive(
                        from: box, persistence: persistence,
                        tell: { if case .completed = $0 { received.add(1) } })
                } until: {
                    !received.all.isEmpty
                }
            },
            flow("a transfer to whatever central comes", isOnBox: true, rest: ["link"]) { time, _ in
                let box = try await box(time, MessageService.outbox)
                try await again(time) {
                    try await TransferReceiver(into: NowhereStore()).receive(from: box, persistence: persistence)
                }
            } call: { scene in
                try await TransferSender(content, name: "a").send(from: try scene.own(), as: "Box")
            },
            flow("a server", isOnBox: true, rest: ["link"]) { time, notes in
                let box = try await box(time, MessageService.service)
                try await again(time) {
                    try await TransferSender(content, name: "a").send(to: box, persistence: persistence)
                    notes.add(1)
                }
            } call: { scene in
                let (before, peripheral) = (scene.notes.all.count, try scene.own())
                try await during(scene.time) {
                    try await MessageServer(peripheral).run {
                        try await peripheral.advertise(name: "Box", services: [MessageService.service])
                    } _: { link in
                        try await TransferReceiver(into: NowhereStore()).receive(over: link, by: scene.time)
                    }
                } until: {
                    scene.notes.all.count > before
                }
            },
            flow("a stability test") { time, _ in
                try await SoakPeer().run(on: LocalPeripheral(time: time))
            } call: { scene in
                let peer = try scene.box()
                let report = await SoakTest(soakPlan).run(with: peer)
                if !Task.isCancelled { #expect(report.passed, "\(report.text)") }
            },
            flow("the peer of a stability test", isOnBox: true, rest: ["link"]) { time, notes in
                let box = try await box(time, SoakService.service)
                try await again(time) { if await SoakTest(soakPlan).run(with: box).passed { notes.add(1) } }
            } call: { scene in
                let (before, peripheral) = (scene.notes.all.count, try scene.own())
                try await during(scene.time) {
                    try await SoakPeer().run(on: peripheral)
                } until: {
                    scene.notes.all.count > before
                }
            },
            flow("a supervisor") { time, _ in
                try await PairWorld.sensor(time)
            } call: { scene in
                let sensor = try scene.box()
                let supervisor = ConnectionSupervisor(of: sensor)
                let values = supervisor.values(of: .value, in: .service)
                async let _: Void = supervisor.run()
                try await supervisor.waitUntilReady()
                try await sensor.write(Data("a".utf8), to: try await sensor.characteristic(.value, in: .service))
                for try await _ in values { break }
            },
            flow("a channel", rest: ["link"]) { time, notes in
                let peripheral = LocalPeripheral(time: time)
                try await peripheral.waitUntilOn()
                notes.add(Int(try await peripheral.offerChannel()))
                try await peripheral.advertise(name: "Box", services: [.service])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for try await event in peripheral.events {
                        guard case .opened(let channel) = event else { continue }
                        group.addTask {
                            while let data = try? await channel.read() { try? await channel.write(data) }
                        }
                    }
                    try await group.waitForAll()
                }
            } call: { scene in
                let box = try scene.box()
                try await box.connect()
                let channel = try await box.openChannel(CBL2CAPPSM(try #require(scene.notes.all.first)))
                try await channel.write(Data(count: 600))
                var count = 0
                while count < 600, let data = try await channel.read() { count += data.count }
                channel.close()
                #expect(count == 600)
            },
        ]
}

/// Takes everything, and keeps nothing.
private final class NowhereStore: TransferStore, Sendable {
    func begin(_ offer: TransferOffer) -> (offset: UInt32, checksum: Checksum) { (0, Checksum()) }
    func append(_ data: Data) {}
    func commit() {}
    func finish(isIntact: Bool) -> URL? { nil }
}
