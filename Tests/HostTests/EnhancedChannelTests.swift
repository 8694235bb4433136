import BluetoothTypes
import Host
import HostInterface
import Simulation
import Testing

@Suite("Enhanced channels and reliable writes of a host — Core 6.0, Vol 3, Part A, 4.25 to 4.28, and Part G, 4.9.5")
struct EnhancedChannelTests {
    let scene = TestWorld()
    let phone: TestClient
    let lock: TestClient

    init() {
        phone = scene.device("phone")
        lock = scene.device("lock", at: 2)
        _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
        #expect(phone.answer(.connect(lock.peer)) == .success(.connected(mtu: 517)))
    }

    private struct Missing: Error {}

    private func channel(isEnhanced: Bool) throws -> (phone: OpenChannel, lock: OpenChannel) {
        guard case .success(.channelPublished(let psm)) = lock.answer(.publishChannel(requiresEncryption: false)),
            case .success(.channel(let own)) = phone.answer(
                .openChannel(lock.peer, psm: psm, isEnhanced: isEnhanced)),
            case .channelOpened(let theirs)? = lock.events.map(\.event).last(where: {
                if case .channelOpened = $0 { true } else { false }
            })
        else { throw Missing() }
        return (own, theirs)
    }

    private func count(heardBy client: TestClient, on number: ChannelNumber) -> Int {
        client.events.reduce(0) { sum, event in
            if case .channelReceived(number, let octets) = event.event { sum + octets.count } else { sum }
        }
    }

    @Test("An enhanced channel is enlarged by either side: longer SDUs come from then on; it is not made smaller")
    func enlarged() throws {
        let channel = try channel(isEnhanced: true)
        #expect(lock.answer(.enlargeChannel(channel.lock.number, mtu: 6000)) == .success(.done))
        #expect(phone.answer(.enlargeChannel(channel.phone.number, mtu: 5000)) == .success(.done))
        #expect(phone.answer(.send(channel.phone.number, Array(repeating: 1, count: 20_000))) == .success(.done))
        #expect(lock.answer(.send(channel.lock.number, Array(repeating: 1, count: 9000))) == .success(.done))
        scene.run(.seconds(1))
        #expect(count(heardBy: lock, on: channel.lock.number) == 20_000)
        #expect(count(heardBy: phone, on: channel.phone.number) == 9000)
        guard case .failure(.invalidParameters) = lock.answer(.enlargeChannel(channel.lock.number, mtu: 5999)) else {
            Issue.record("It was made smaller.")
            return
        }
        #expect(phone.answer(.closeChannel(channel.phone.number)) == .success(.done))
        #expect(phone.answer(.enlargeChannel(channel.phone.number, mtu: 7000)) == .failure(.channelClosed))
    }

    @Test("A channel of the older kind stays as it is")
    func older() throws {
        let channel = try channel(isEnhanced: false)
        guard case .failure(.invalidParameters) = phone.answer(.enlargeChannel(channel.phone.number, mtu: 6000)) else {
            Issue.record("It was enlarged.")
            return
        }
        #expect(phone.answer(.send(channel.phone.number, [1])) == .success(.done))
    }

    @Test("The end of the link ends the enlarging of a channel, once")
    func lost() throws {
        let channel = try channel(isEnhanced: true)
        lock.device.device.removeFromAir()
        let number = phone.ask(.enlargeChannel(channel.phone.number, mtu: 6000))
        scene.run(.seconds(5))
        // Connection Timeout.
        #expect(phone.answers(number) == [.failure(.disconnected(reason: 0x08))])
    }

    @Test("Several values are written all together, or none of them", arguments: [0x00, 0x80] as [UInt8])
    func reliableWrites(error: UInt8) throws {
        let characteristic = CharacteristicDefinition(
            uuid: .uuid16(0xFFF1), properties: 0x0A, permissions: [.readable, .writeable])
        let definition = ServiceDefinition(
            uuid: .uuid16(0xFFF0), characteristics: [characteristic, characteristic])
        guard case .success(.published(let service)) = lock.answer(.addService(definition)) else { throw Missing() }
        var written: [ServerWriteRequest.Part] = []
        lock.onQuestion = { event in
            guard case .writeRequested(let request) = event else { return nil }
            written = request.parts
            return .respond(request.id, errorCode: error, value: [])
        }
        let writes = [
            AttributeWrite(service.characteristics[0], [1, 2]), AttributeWrite(service.characteristics[1], [3]),
        ]
        let answer = phone.answer(.writeReliably(lock.peer, writes))
        #expect(answer == (error == 0 ? .success(.done) : .failure(.attribute(errorCode: error))))
        #expect(written.map(\.characteristic) == service.characteristics)
        #expect(written.map(\.value) == [[1, 2], [3]])
        guard case .failure(.invalidParameters) = phone.answer(.writeReliably(lock.peer, [])) else {
            Issue.record("Nothing was written, and it was no mistake.")
            return
        }
    }
}
