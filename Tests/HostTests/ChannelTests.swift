import BluetoothTypes
import Host
import HostInterface
import Simulation
import Testing

/// L2CAP channels between two hosts, over the air.
@Suite("L2CAP channels of a host")
struct ChannelTests {
    let scene = TestWorld()
    let phone: TestClient
    let lock: TestClient

    init() {
        phone = scene.device("phone")
        lock = scene.device("lock", at: 2)
        _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
        #expect(phone.answer(.connect(lock.peer)) == .success(.connected(mtu: 517)))
    }

    private func publish(requiresEncryption: Bool = false) -> UInt16 {
        guard
            case .success(.channelPublished(let psm)) = lock.answer(
                .publishChannel(requiresEncryption: requiresEncryption))
        else {
            Issue.record("Nothing was published.")
            return 0
        }
        return psm
    }

    /// A channel, as the phone and as the lock see it.
    private func channel(psm: UInt16? = nil) throws -> (phone: OpenChannel, lock: OpenChannel) {
        let psm = psm ?? publish()
        guard case .success(.channel(let own)) = phone.answer(.openChannel(lock.peer, psm: psm)) else {
            throw Missing()
        }
        let theirs = lock.events.compactMap {
            if case .channelOpened(let open) = $0.event { open } else { nil }
        }
        return (own, try #require(theirs.last))
    }

    private struct Missing: Error {}

    private func octets(heardBy client: TestClient, on number: ChannelNumber) -> [UInt8] {
        client.events.flatMap { event -> [UInt8] in
            if case .channelReceived(number, let octets) = event.event { octets } else { [] }
        }
    }

    private func ends(heardBy client: TestClient) -> [HostEvent] {
        client.events.map(\.event).filter { if case .channelClosed = $0 { true } else { false } }
    }

    @Test("B-J1: a PSM of the dynamic range, and a channel to it")
    func opens() throws {
        let psm = publish()
        #expect((0x80...0xFF).contains(psm))
        let channel = try channel(psm: psm)
        #expect(channel.phone.psm == psm && channel.lock.psm == psm)
        #expect(channel.phone.peer == lock.peer && channel.lock.peer == phone.peer)
        #expect(channel.lock.mtu == 517)
        // Four frames of 1000 octets, which are four link-layer packets each.
        #expect(channel.phone.bestLength == 3998)
    }

    @Test("Octets arrive as they were sent, both ways, whole")
    func data() throws {
        let channel = try channel()
        let long = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let number = phone.ask(.send(channel.phone.number, long))
        #expect(lock.answer(.send(channel.lock.number, [1, 2, 3])) == .success(.done))
        scene.run(.seconds(2))
        #expect(phone.answers(number) == [.success(.done)])
        #expect(octets(heardBy: lock, on: channel.lock.number) == long)
        #expect(octets(heardBy: phone, on: channel.phone.number) == [1, 2, 3])
        #expect(phone.answer(.send(channel.phone.number, [])) == .success(.done))
    }

    @Test("A reader that does not read stops the sender; one that does lets it go on")
    func backPressure() throws {
        let channel = try channel()
        let sent = (0..<20).map { _ in phone.ask(.send(channel.phone.number, Array(repeating: 1, count: 3998))) }
        scene.run(.seconds(5))
        // 48 credits for frames of 1000 octets: twelve times four, and no more.
        #expect(octets(heardBy: lock, on: channel.lock.number).count == 12 * 3998)
        #expect(sent.map { phone.answers($0).count } == Array(repeating: 1, count: 12) + Array(repeating: 0, count: 8))
        for _ in 0..<20 {
            #expect(lock.answer(.received(channel.lock.number, 3998)) == .success(.done))
            scene.run(.milliseconds(200))
        }
        #expect(octets(heardBy: lock, on: channel.lock.number).count == 20 * 3998)
        #expect(sent.allSatisfy { phone.answers($0) == [.success(.done)] })
    }

    @Test("Attributes are served while a channel waits for its reader, though many frames do")
    func besidesAttributes() throws {
        let channel = try channel()
        for _ in 0..<100 { phone.ask(.send(channel.phone.number, Array(repeating: 1, count: 3998))) }
        scene.run(.seconds(2))
        guard case .success(.services) = phone.answer(.discoverServices(lock.peer, only: nil)) else {
            Issue.record("Nothing was discovered.")
            return
        }
    }

    @Test("Closed by the phone: the lock is told, once")
    func closes() throws {
        let channel = try channel()
        #expect(phone.answer(.closeChannel(channel.phone.number)) == .success(.done))
        #expect(phone.answer(.closeChannel(channel.phone.number)) == .success(.done))
        scene.run(.seconds(1))
        #expect(ends(heardBy: phone).isEmpty)
        #expect(ends(heardBy: lock) == [.channelClosed(channel.lock.number, .channelClosed)])
        #expect(phone.answer(.send(channel.phone.number, [1])) == .failure(.channelClosed))
        #expect(lock.answer(.send(channel.lock.number, [1])) == .failure(.channelClosed))
        #expect(lock.answer(.received(channel.lock.number, 1)) == .success(.done))
    }

    @Test("Whatever waits for credits ends with the channel")
    func closesWithWaiting() throws {
        let channel = try channel()
        let sent = (0..<16).map { _ in phone.ask(.send(channel.phone.number, Array(repeating: 1, count: 3998))) }
        scene.run(.seconds(5))
        #expect(lock.answer(.closeChannel(channel.lock.number)) == .success(.done))
        scene.run(.seconds(1))
        #expect(sent.suffix(4).allSatisfy { phone.answers($0) == [.failure(.channelClosed)] })
        #expect(ends(heardBy: phone) == [.channelClosed(channel.phone.number, .channelClosed)])
        #expect(phone.openRequests.isEmpty)
    }

    @Test("B-J1: what is withdrawn ends, open channels too, and its number is not used again soon")
    func unpublished() throws {
        let channel = try channel()
        #expect(lock.answer(.unpublishChannel(psm: channel.lock.psm)) == .success(.done))
        scene.run(.seconds(1))
        #expect(ends(heardBy: lock) == [.channelClosed(channel.lock.number, .cancelled)])
        #expect(ends(heardBy: phone) == [.channelClosed(channel.phone.number, .channelClosed)])
        #expect(
            phone.answer(.openChannel(lock.peer, psm: channel.lock.psm)) == .failure(.channelRefused(result: 0x0002)))
        #expect(publish() != channel.lock.psm)
        guard case .failure(.invalidParameters) = lock.answer(.unpublishChannel(psm: channel.lock.psm)) else {
            Issue.record("It was withdrawn twice.")
            return
        }
    }

    @Test("B-J5, B-K1: one that needs an encrypted link has the two pair, and is then opened")
    func needsEncryption() throws {
        let channel = try channel(psm: publish(requiresEncryption: true))
        #expect(phone.answer(.send(channel.phone.number, [1, 2])) == .success(.done))
        scene.run(.milliseconds(100))
        #expect(octets(heardBy: lock, on: channel.lock.number) == [1, 2])
        let isSecured = lock.events.contains { if case .security(.secured) = $0.event { true } else { false } }
        #expect(isSecured)
    }

    @Test("The lock opens a channel of the phone's only on a link that it holds itself")
    func notHeld() throws {
        #expect(lock.answer(.openChannel(phone.peer, psm: 0x80)) == .failure(.notConnected))
    }

    enum Ending: CaseIterable {
        case phoneDisconnects, phoneOff, lockOff, lockOutOfPower, phoneClientLeaves, lockClientLeaves
    }

    @Test("The link's end, whatever its cause, ends channel and requests, once", arguments: Ending.allCases)
    func linkEnds(by ending: Ending) throws {
        let channel = try channel()
        for _ in 0..<12 { phone.ask(.send(channel.phone.number, Array(repeating: 1, count: 3998))) }
        scene.run(.seconds(1))
        switch ending {
        case .phoneDisconnects: phone.ask(.disconnect(lock.peer))
        case .phoneOff: phone.device.setPowered(false)
        case .lockOff: lock.device.setPowered(false)
        case .lockOutOfPower: lock.device.device.removeFromAir()
        case .phoneClientLeaves: phone.close()
        case .lockClientLeaves: lock.close()
        }
        scene.run(.seconds(8))
        #expect(phone.openRequests.isEmpty)
        let expected: (phone: [HostFailure], lock: [HostFailure]) =
            switch ending {
            case .phoneDisconnects: ([.cancelled], [.disconnected(reason: 0x13)])
            case .phoneOff: ([.notPowered], [.disconnected(reason: 0x15)])
            case .lockOff: ([.disconnected(reason: 0x15)], [.notPowered])
            case .lockOutOfPower: ([.disconnected(reason: 0x08)], [])
            case .phoneClientLeaves: ([], [.disconnected(reason: 0x13)])
            case .lockClientLeaves: ([.channelClosed], [])
            }
        #expect(ends(heardBy: phone) == expected.phone.map { .channelClosed(channel.phone.number, $0) })
        #expect(ends(heardBy: lock) == expected.lock.map { .channelClosed(channel.lock.number, $0) })
    }

    @Test("What is published stays so while the radio is off")
    func staysPublished() throws {
        let psm = publish()
        lock.device.setPowered(false)
        scene.run(.seconds(3))
        lock.device.setPowered(true)
        scene.run(.seconds(1))
        _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
        #expect(phone.answer(.connect(lock.peer)) == .success(.connected(mtu: 517)))
        _ = try channel(psm: psm)
    }

    @Test("Twenty channels on one link, and each has its own octets")
    func many() throws {
        let psms = [publish(), publish()]
        for index in 0..<20 {
            let channel = try channel(psm: psms[index % 2])
            #expect(phone.answer(.send(channel.phone.number, [UInt8(index)])) == .success(.done))
            scene.run(.milliseconds(100))
            #expect(octets(heardBy: lock, on: channel.lock.number) == [UInt8(index)])
        }
    }
}
