import BluetoothTypes
import Host
import HostInterface
import Simulation
import Testing

/// What fault runs found: links that end late, and what is told of them.
@Suite("A link's life")
struct LinkLifeTests {
    private let scene = TestWorld()
    private let peripheral: TestClient
    private let central: TestClient

    init() {
        peripheral = scene.device("peripheral", at: 2)
        central = scene.device("central")
        _ = peripheral.answer(.startAdvertising(AdvertisementContent(localName: "Peri")))
    }

    private var told: [HostEvent] { central.events.map(\.event) }

    @Test("Nothing is told of a link before the link itself")
    func reportedFirst() throws {
        central.clear()
        #expect(central.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
        let answer = try #require(told.firstIndex { if case .answer = $0 { true } else { false } })
        #expect(
            told[..<answer].allSatisfy {
                switch $0 {
                case .mtuChanged, .notified, .nameChanged, .servicesChanged: false
                default: true
                }
            })
    }

    @Test("Who asks for a peer while its link is ending gets the next link")
    func askedWhileEnding() {
        _ = central.answer(.connect(peripheral.peer))
        // The goodbye goes unheard, so the link lasts until the supervision timeout of 2 s.
        peripheral.device.device.move(to: Position(x: 100_000))
        let disconnect = central.ask(.disconnect(peripheral.peer))
        let connect = central.ask(.connect(peripheral.peer))
        scene.run(.milliseconds(1900))
        #expect(central.answers(disconnect).isEmpty && central.answers(connect).isEmpty)
        scene.run(.seconds(1))
        #expect(central.answers(disconnect) == [.success(.done)])
        peripheral.device.device.move(to: Position(x: 2))
        scene.run(.seconds(3))
        #expect(central.answers(connect) == [.success(.connected(mtu: 517))])
        #expect(!told.contains { if case .disconnected = $0 { true } else { false } })
    }

    /// While CONNECT_IND is on the air, LE Create Connection Cancel is refused (Core 6.0, Vol 4, Part E, 7.8.13), and a
    /// link comes about that nobody wants. Until it has ended, the controller takes no new attempt (0x0B, 7.8.12).
    @Test("Who calls an attempt off too late, and asks for the peer at once, gets the next link")
    func askedWhileUnwanted() {
        func links(of client: TestClient) -> Int {
            var count = 0
            client.device.withHost { count = $0.holdings.links }
            return count
        }
        func scene() -> (world: TestWorld, peripheral: TestClient, central: TestClient) {
            let world = TestWorld()
            let peripheral = world.device("peripheral", at: 2)
            let central = world.device("central")
            _ = peripheral.answer(.startAdvertising(AdvertisementContent(localName: "Peri")))
            return (world, peripheral, central)
        }
        let step = Duration.microseconds(50)
        let first = scene()
        first.central.ask(.connect(first.peripheral.peer))
        var steps = 0
        while links(of: first.central) == 0, steps < 10_000 {
            first.world.run(step)
            steps += 1
        }
        let (world, peripheral, central) = scene()
        central.ask(.connect(peripheral.peer))
        world.run(step * (steps - 3))
        let disconnect = central.ask(.disconnect(peripheral.peer))
        world.run(step * 3)
        #expect(central.answers(disconnect) == [.success(.done)])
        #expect(links(of: central) == 1, "the link came about all the same")
        central.clear()
        #expect(central.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
        world.run(.seconds(3))
        #expect(!central.events.contains { if case .disconnected = $0.event { true } else { false } })
    }

    @Test("A peer that connects anew has left its link before: that one's users are told, at once")
    func replaced() {
        _ = central.answer(.connect(peripheral.peer))
        // The peer loses its power, and comes back as central well before the supervision timeout.
        peripheral.device.device.removeFromAir()
        _ = central.answer(.startAdvertising(AdvertisementContent(localName: "Central")))
        central.clear()
        let read = central.ask(.read(peripheral.peer, AttributeHandle(rawValue: 3)))
        peripheral.device.device.returnToAir()
        let reborn = scene.client(of: peripheral.device)
        scene.run(.milliseconds(100))
        #expect(reborn.answer(.connect(central.peer), within: .seconds(1)) == .success(.connected(mtu: 517)))
        let lost = HostFailure.disconnected(reason: 0x08)
        #expect(central.answers(read) == [.failure(lost)])
        #expect(told.contains(.disconnected(peripheral.peer, lost)))
        // The new link is the one in use, and outlives the old one's end.
        #expect(central.answer(.connect(peripheral.peer)) == .success(.connected(mtu: 517)))
        central.clear()
        scene.run(.seconds(5))
        #expect(!told.contains { if case .disconnected = $0 { true } else { false } })
        #expect(central.answer(.readRSSI(peripheral.peer)) != .failure(.notConnected))
    }
}
