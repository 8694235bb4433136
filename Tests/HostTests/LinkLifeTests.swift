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
