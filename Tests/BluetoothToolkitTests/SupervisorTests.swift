import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Testing

@Suite("Connection supervisor")
struct SupervisorTests {
    /// A supervised sensor: what the supervisor tells, and the values that come.
    private final class Scene {
        let pair = PairWorld()
        let events = Notes<SupervisionEvent>()
        let values = Notes<Data>()
        let supervision: SimulatedProgram<Void>
        let supervisor: ConnectionSupervisor

        init(_ change: (inout ConnectionSupervisor.Policy) -> Void = { _ in }) throws {
            var policy = ConnectionSupervisor.Policy()
            change(&policy)
            let (time, chosen) = (pair.time, policy)
            let search = pair.phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                let found = try await central.first(for: [.service]).peripheral
                return ConnectionSupervisor(of: found, policy: chosen, chance: { 0.5 })
            }
            let supervisor = try pair.world.output(of: search, within: .seconds(10))
            self.supervisor = supervisor
            let (events, values) = (events, values)
            let told = supervisor.events()
            let stream = supervisor.values(of: .value, in: .service)
            supervision = pair.phone.start {
                async let supervision: Void = supervisor.run()
                async let first: Void = { for try await event in told { events.add(event) } }()
                async let second: Void = { for try await value in stream { values.add(value) } }()
                do { try await supervision } catch {
                    _ = try? await (first, second)
                    throw error
                }
            }
        }

        func wait(for event: SupervisionEvent, within limit: Duration = .seconds(30)) -> Bool {
            pair.world.run(until: { self.events.all.contains(event) }, within: limit)
        }
    }

    @Test("A8: a lost link is made again, with its subscription, and the values go on in one stream")
    func reconnects() throws {
        let scene = try Scene()
        #expect(scene.wait(for: .ready(link: 1)))
        scene.pair.world.run(for: .seconds(12))
        let before = scene.values.all.count
        #expect(before >= 11)
        scene.pair.sensor.position = .init(x: 10_000)
        #expect(scene.wait(for: .ended(.lost)))
        #expect(scene.events.all.last == .pausing(.milliseconds(500)))
        scene.pair.world.run(for: .seconds(20))
        scene.pair.sensor.position = .init(x: 2)
        #expect(scene.wait(for: .ready(link: 2)))
        scene.pair.world.run(for: .seconds(5))
        #expect(scene.values.all.count > before)
        #expect(scene.supervisor.statistics.ends == [.lost] && scene.supervisor.statistics.links == 2)
        #expect(scene.supervisor.statistics.timesToReconnect.count == 1)
        scene.supervision.cancel()
        scene.pair.world.run(for: .zero)
        #expect(throws: CancellationError.self) { try scene.supervision.result?.get() }
        scene.pair.world.run(for: .seconds(1))
        #expect(!scene.supervisor.peripheral.isConnected)
    }

    @Test("Pauses grow with failures, to a limit, and begin anew after a link that lasted")
    func backoff() throws {
        let scene = try Scene { policy in
            policy.attemptLimit = .seconds(1)
            policy.backoff = Backoff(first: .seconds(1), factor: 2, limit: .seconds(5))
        }
        #expect(scene.wait(for: .ready(link: 1)))
        scene.pair.world.run(for: .seconds(15))
        scene.pair.sensor.position = .init(x: 10_000)
        scene.pair.world.run(for: .seconds(25))
        let pauses = scene.events.all.compactMap { event -> Duration? in
            if case .pausing(let pause) = event { pause } else { nil }
        }
        #expect(pauses.prefix(5) == [.seconds(1), .seconds(2), .seconds(4), .seconds(5), .seconds(5)])
        #expect(scene.supervisor.statistics.ends.dropFirst().allSatisfy { $0 == .notEstablished })
    }

    @Test("Jitter moves a pause by its part, and never beyond")
    func jitter() {
        let backoff = Backoff(first: .seconds(1), factor: 2, limit: .seconds(60), jitter: 0.25)
        #expect(backoff.pause(afterFailures: 1, chance: 0) == .milliseconds(750))
        #expect(backoff.pause(afterFailures: 1, chance: 1) == .milliseconds(1250))
        #expect(backoff.pause(afterFailures: 1_000_000, chance: 0.5) == .seconds(60))
    }

    @Test("Final causes are final: the program's own end, and a radio that may not be used")
    func final() throws {
        let scene = try Scene()
        #expect(scene.wait(for: .ready(link: 1)))
        let supervisor = scene.supervisor
        let end = scene.pair.phone.start { try await supervisor.peripheral.disconnect() }
        try scene.pair.world.output(of: end, within: .seconds(5))
        #expect(throws: LinkEnd.requested) { try scene.pair.world.output(of: scene.supervision, within: .zero) }
        for cause in [LinkEnd.requested, .bondRemoved, .radioUnavailable(.unauthorized)] { #expect(cause.isFinal) }
        for cause in [LinkEnd.lost, .peerEnded, .radioUnavailable(.poweredOff), .tooFar] { #expect(!cause.isFinal) }
        #expect(LinkEnd(CBError(.peerRemovedPairingInformation)) == .bondRemoved)
        #expect(LinkEnd(CBError(.connectionTimeout)) == .lost && LinkEnd(nil) == .requested)
        #expect(LinkEnd(CBError(.peripheralDisconnected)) == .peerEnded)
    }

    @Test("The radio goes and comes: the link is made again as soon as it is on")
    func radio() throws {
        let scene = try Scene()
        #expect(scene.wait(for: .ready(link: 1)))
        scene.pair.phone.setBluetooth(on: false)
        scene.pair.world.run(for: .seconds(60))
        #expect(scene.events.all.last == .ended(.radioUnavailable(.poweredOff)))
        scene.pair.phone.setBluetooth(on: true)
        #expect(scene.wait(for: .ready(link: 2)))
    }

    @Test("A characteristic that is not there ends it: the next link would not have it either")
    func missing() throws {
        let scene = try Scene()
        _ = scene.supervisor.values(of: CBUUID(string: "2A19"), in: .service)
        #expect(throws: ToolkitError.notFound("characteristic 2A19 in the service FFF0")) {
            try scene.pair.world.output(of: scene.supervision, within: .seconds(60))
        }
    }

    @Test("Too many failures in a row end it with the last cause")
    func tooMany() throws {
        let scene = try Scene { policy in
            policy.attemptLimit = .seconds(1)
            policy.maximumFailures = 3
        }
        scene.pair.sensor.position = .init(x: 10_000)
        #expect(throws: LinkEnd.self) { try scene.pair.world.output(of: scene.supervision, within: .seconds(60)) }
        #expect(scene.supervisor.statistics.ends.count == 3)
    }

    @Test("C14: connected when near, disconnected when far, and again")
    func nearAndFar() throws {
        let scene = try Scene { $0.proximity = .init(near: -60, far: -80) }
        scene.pair.sensor.position = .init(x: 40)
        scene.pair.world.run(for: .seconds(20))
        #expect(scene.events.all == [.watching])
        scene.pair.sensor.position = .init(x: 1)
        #expect(scene.wait(for: .ready(link: 1)))
        scene.pair.sensor.position = .init(x: 30)
        scene.pair.world.run(for: .seconds(30))
        #expect(scene.supervisor.peripheral.isConnected, "between the thresholds it stays")
        scene.pair.sensor.position = .init(x: 200)
        #expect(scene.wait(for: .ended(.tooFar)))
        scene.pair.world.run(for: .seconds(20))
        #expect(!scene.supervisor.peripheral.isConnected)
        scene.pair.sensor.position = .init(x: 1)
        #expect(scene.wait(for: .ready(link: 2)))
    }
}
