import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

/// Hosts that let their links rest. Sections are those of Core 6.0, Vol 4, Part E, unless another volume is named.
@Suite("A link that rests")
struct SubratingTests {
    private static let quiet = SubratePreference(factors: 1...10, continuation: 2)

    /// How many of the link's events are used in a second, and when values arrive is not this test's affair.
    private func eventsInTenSeconds(of link: StreamScene) -> Int {
        var count = 0
        let central = link.central.device.device.number
        link.world.world.airTap = { if $0.sender == central { count += 1 } }
        link.world.run(.seconds(10))
        link.world.world.airTap = nil
        return count
    }

    @Test(
        "7.8.124: either side asks, both are told, one event in ten is used, and values go on",
        arguments: [true, false])
    func rests(centralAsks: Bool) throws {
        let link = StreamScene()
        let (asker, other) = centralAsks ? (link.central, link.peripheral) : (link.peripheral, link.central)
        // 10 s in events of 15 ms.
        #expect((660...670).contains(eventsInTenSeconds(of: link)))
        #expect(asker.answer(.subrate(other.peer, Self.quiet)) == .success(.done))
        link.world.run(.seconds(1))
        for (client, peer) in [(asker, other.peer), (other, asker.peer)] {
            let status = try link.status(of: client, to: peer)
            #expect((status.subrateFactor, status.continuation) == (10, 2))
            // 2 s hold longer than six silences of 150 ms.
            #expect(status.timing == LinkTiming(interval: 12, latency: 0, supervisionTimeout: 200))
        }
        #expect((64...70).contains(eventsInTenSeconds(of: link)))
        guard
            case .success(.services(let services)) = link.central.answer(
                .discoverServices(link.peripheral.peer, only: nil))
        else { throw HostFailure.unknownPeer }
        #expect(services.contains { $0.uuid == .uuid16(0xFFF0) })
        // Every event again.
        #expect(other.answer(.subrate(asker.peer, SubratePreference(factors: 1...1))) == .success(.done))
        link.world.run(.seconds(1))
        #expect((660...670).contains(eventsInTenSeconds(of: link)))
    }

    @Test("The supervision timeout grows with the rest, and another interval ends it: Vol 6, Part B, 4.5.1 and 5.1.1")
    func timing() throws {
        let link = StreamScene()
        let long = SubratePreference(factors: 50...100, maximumLatency: 4)
        #expect(link.peripheral.answer(.subrate(link.central.peer, long)) == .success(.done))
        link.world.run(.seconds(40))
        // Three times two silences of 100 * 5 * 15 ms, and at most the 32 s that there are.
        let timing = LinkTiming(interval: 12, latency: 4, supervisionTimeout: 3200)
        let status = try link.status(of: link.central, to: link.peripheral.peer)
        #expect(status.timing == timing && status.subrateFactor == 100)
        let other = ConnectionPreference(intervalSlots: 24...24, latency: 0, supervisionTimeout: 400)
        #expect(link.central.answer(.updateConnectionParameters(link.peripheral.peer, other)) == .success(.done))
        link.world.run(.seconds(60))
        for (client, peer) in [(link.central, link.peripheral.peer), (link.peripheral, link.central.peer)] {
            let status = try link.status(of: client, to: peer)
            #expect((status.timing.interval, status.subrateFactor, status.continuation) == (24, 1, 0))
        }
    }

    @Test("7.8.115: who is not for it is not asked to, and does not ask")
    func unsupported() throws {
        let link = StreamScene(peripheral: { $0.usesSubrating = false })
        #expect(
            link.central.answer(.subrate(link.peripheral.peer, Self.quiet)) == .failure(.controller(status: 0x1A)))
        #expect(
            link.peripheral.answer(.subrate(link.central.peer, Self.quiet)) == .failure(.controller(status: 0x11)))
        #expect(try link.status(of: link.central, to: link.peripheral.peer).subrateFactor == 1)
        let stranger = PeerID(DeviceAddress(1))
        #expect(link.central.answer(.subrate(stranger, Self.quiet)) == .failure(.notConnected))
    }

    @Test(
        "7.8.124: what the specification does not admit, or the link would not survive, is refused",
        arguments: [
            SubratePreference(factors: 0...4), SubratePreference(factors: 1...501),
            SubratePreference(factors: 1...100, maximumLatency: 5), SubratePreference(factors: 1...4, continuation: 4),
            SubratePreference(factors: 1...4, supervisionTimeout: 9),
            SubratePreference(factors: 1...4, supervisionTimeout: 3201),
            // 0.3 s, and 20 * 15 ms twice.
            SubratePreference(factors: 1...20, supervisionTimeout: 30),
        ])
    func invalid(preference: SubratePreference) {
        let link = StreamScene()
        guard case .failure(.invalidParameters) = link.central.answer(.subrate(link.peripheral.peer, preference)) else {
            Issue.record("It is not refused.")
            return
        }
        #expect(link.central.openRequests.isEmpty)
    }

    @Test("Requests go one after the other; each ends once, also with the radio or the link")
    func ends() throws {
        let link = StreamScene()
        let peer = link.peripheral.peer
        let numbers = [4, 8, 2].map { link.central.ask(.subrate(peer, SubratePreference(factors: 1...$0))) }
        link.world.run(.seconds(2))
        for number in numbers { #expect(link.central.answers(number) == [.success(.done)]) }
        #expect(try link.status(of: link.peripheral, to: link.central.peer).subrateFactor == 2)

        // The peer is gone: the link's end ends both that is under way and what waits.
        link.peripheral.device.device.removeFromAir()
        let lost = [3, 5].map { link.central.ask(.subrate(peer, SubratePreference(factors: 1...$0))) }
        link.world.run(.seconds(40))
        for number in lost { #expect(link.central.answers(number) == [.failure(.disconnected(reason: 0x08))]) }

        let second = StreamScene()
        let off = [3, 5].map {
            second.central.ask(.subrate(second.peripheral.peer, SubratePreference(factors: 1...$0)))
        }
        second.central.device.setPowered(false)
        second.world.run(.seconds(1))
        for number in off { #expect(second.central.answers(number) == [.failure(.notPowered)]) }
    }

    @Test("A controller that never tells what came of it keeps nobody waiting")
    func silence() {
        let link = StreamScene()
        // LE Subrate Change: 7.7.65.35.
        link.central.device.device.hciFault = { direction, packet in
            direction == .controllerToHost && packet.starts(with: [0x04, 0x3E]) && packet[3] == 0x23 ? [] : [packet]
        }
        let number = link.central.ask(.subrate(link.peripheral.peer, Self.quiet))
        link.world.run(.seconds(45))
        #expect(link.central.answers(number) == [.failure(.timedOut)])
    }
}
