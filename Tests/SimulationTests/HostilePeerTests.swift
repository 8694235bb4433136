import BluetoothTypes
import EventLoop
import HCI
import Host
import HostInterface
import Simulation
import Testing

/// A raw host over the air, which sends whatever it likes, to a host of ours.
@Suite("Hostile peers over the air")
struct HostilePeerTests {
    /// Every opcode in turn and at random, with random lengths, also split and joined wrongly.
    private static func hostilePDU(_ number: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        let count = Int(generator.next() % 40)
        var payload = (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        // Small handles, which exist.
        for index in payload.indices where index % 2 == 1 && generator.next() % 2 == 0 { payload[index] = 0 }
        let isSignalling = generator.next() % 8 == 0
        let opcode = isSignalling ? UInt8(number % 0x1C) : UInt8(truncatingIfNeeded: number)
        if generator.next() % 16 != 0 { payload.insert(opcode, at: 0) }
        if isSignalling && payload.count >= 4 && generator.next() % 4 != 0 {
            payload[2] = UInt8(payload.count - 4)
            payload[3] = 0
        }
        var length = payload.count
        if generator.next() % 16 == 0 { length = Int(generator.next() % 0x1_0000) }
        let channels: [UInt16] = [4, 4, 4, 4, 4, 4, 6, 0x40, 0, 0xFFFF]
        let channel = isSignalling ? 5 : channels[Int(generator.next() % 10)]
        return [
            UInt8(truncatingIfNeeded: length), UInt8(truncatingIfNeeded: length >> 8),
            UInt8(truncatingIfNeeded: channel), UInt8(truncatingIfNeeded: channel >> 8),
        ] + payload
    }

    private static func supply(_ count: Int, seed: UInt64) -> () -> [UInt8]? {
        var generator = SeededGenerator(seed: seed)
        var number = 0
        return {
            guard number < count else { return nil }
            number += 1
            return hostilePDU(number, &generator)
        }
    }

    private static func advertising(_ world: World, services: Bool) -> (HostedDevice, HostClientBox) {
        let device = HostedDevice(in: world, name: "ours", address: DeviceAddress(0xB0_0000_0000_07))
        return (device, HostClientBox(device))
    }

    @Test("A peripheral of ours stands 3000 malformed PDUs of every opcode, and serves afterwards", arguments: 1...4)
    func peripheral(seed: Int) throws {
        let world = World(seed: UInt64(seed))
        let (device, client) = Self.advertising(world, services: true)
        world.run(for: .milliseconds(100))
        let service = ServiceDefinition(
            uuid: .uuid16(0xFFF0),
            characteristics: [
                CharacteristicDefinition(
                    uuid: .uuid16(0xFFF1), properties: 0x3E, permissions: [.readable, .writeable]),
                CharacteristicDefinition(
                    uuid: .uuid128(0xFFF2), properties: 0x3E, permissions: [.readable, .writeable]),
            ])
        client.ask(.addService(service))
        client.ask(.startAdvertising(AdvertisementContent(localName: "ours")))
        world.run(for: .milliseconds(100))
        let peer = Station(world, "hostile", 0xC0_0000_0000_01, at: Position(x: 1))
        var create = LECreateConnection()
        create.scanInterval = 0x10
        create.scanWindow = 0x10
        create.peer = device.device.address
        create.parameters = ConnectionParameterRange(
            intervalMin: 6, intervalMax: 6, latency: 0, supervisionTimeout: 100)
        #expect(peer.command(create) == .success)
        world.run(for: .milliseconds(500))
        let handle = try #require(peer.connections.last).handle
        peer.host.supply(handle, buffers: 4, Self.supply(3000, seed: UInt64(seed)))
        world.run(for: .seconds(60))
        #expect(client.openRequests.isEmpty)
        // A read of the Device Name (handle 3 of the standard database) is served on a new link, if this one is gone.
        if peer.disconnections.isEmpty {
            #expect(peer.command(Disconnect(handle: handle, reason: .remoteUserTerminated)) == .success)
            world.run(for: .seconds(1))
        }
        #expect(peer.command(create) == .success)
        world.run(for: .milliseconds(500))
        let second = try #require(peer.connections.last).handle
        let before = peer.host.data.count
        peer.host.supply(second, buffers: 4, Self.once([3, 0, 4, 0, 0x0A, 3, 0]))
        world.run(for: .seconds(1))
        let answers = peer.host.data[before...].map(\.payload)
        #expect(answers.contains([5, 0, 4, 0, 0x0B] + Array("ours".utf8)), "\(answers)")
    }

    @Test("A central of ours stands 3000 malformed PDUs of every opcode, and its requests end", arguments: 1...4)
    func central(seed: Int) throws {
        let world = World(seed: UInt64(seed))
        let (_, client) = Self.advertising(world, services: false)
        let peer = Station(world, "hostile", 0xA0_0000_0000_02, at: Position(x: 1))
        peer.advertise()
        world.run(for: .milliseconds(100))
        let peerID = PeerID(peer.device.address)
        client.ask(.connect(peerID))
        world.run(for: .milliseconds(300))
        let handle = try #require(peer.connections.last).handle
        peer.host.supply(handle, buffers: 4, Self.supply(3000, seed: UInt64(seed)))
        var asked: [RequestNumber] = []
        for number in 0..<200 {
            let attribute = AttributeHandle(rawValue: UInt16(number % 9 + 1))
            let characteristic = RemoteCharacteristic(
                uuid: .uuid16(0xFFF1), declaration: attribute, value: attribute,
                end: AttributeHandle(rawValue: attribute.rawValue + UInt16(number % 3)), properties: 0x3E)
            let service = RemoteService(uuid: .uuid16(0xFFF0), handles: 1...0xFFFF)
            let requests: [HostRequest] = [
                .discoverServices(peerID, only: nil), .discoverServices(peerID, only: [.uuid16(0xFFF0)]),
                .discoverIncludedServices(peerID, of: service), .discoverCharacteristics(peerID, of: service),
                .discoverDescriptors(peerID, of: characteristic), .read(peerID, attribute),
                .write(peerID, attribute, value: Array(repeating: 1, count: 200), withResponse: true),
                .subscribe(peerID, characteristic, .notifications),
            ]
            asked.append(client.ask(requests[number % requests.count]))
            world.run(for: .milliseconds(100))
        }
        world.run(for: .seconds(40))
        client.ask(.disconnect(peerID))
        world.run(for: .seconds(3))
        #expect(client.openRequests.isEmpty)
        for number in asked { #expect(client.answers(number) == 1) }
    }

    private static func once(_ pdu: [UInt8]) -> () -> [UInt8]? {
        var left: [UInt8]? = pdu
        return {
            defer { left = nil }
            return left
        }
    }
}

/// A client that answers all questions and counts its answers.
private final class HostClientBox: @unchecked Sendable {
    // `@unchecked`: used on the thread that runs the world alone.
    private let device: HostedDevice
    private var id: ClientID?
    private var lastNumber: UInt64 = 0
    private var answered: [RequestNumber: Int] = [:]

    init(_ device: HostedDevice) {
        self.device = device
        device.withHost { host in id = host.attach({ [unowned self] in hear($0) }, at: device.world.now) }
    }

    private func hear(_ event: HostEvent) {
        switch event {
        case .answer(let number, _): answered[number, default: 0] += 1
        case .readRequested(let request): later(.respond(request.id, errorCode: 0, value: [1, 2, 3]))
        case .writeRequested(let request) where request.needsResponse:
            later(.respond(request.id, errorCode: 0, value: []))
        default: break
        }
    }

    private func later(_ request: HostRequest) { device.loop.enqueue { [self] _ in ask(request) } }

    @discardableResult
    func ask(_ request: HostRequest) -> RequestNumber {
        lastNumber += 1
        let number = RequestNumber(lastNumber)
        device.withHost { $0.submit(request, number: number, client: id!, at: device.world.now) }
        return number
    }

    func answers(_ number: RequestNumber) -> Int { answered[number] ?? 0 }

    var openRequests: [HostRequest] {
        var open: [HostRequest] = []
        device.withHost { open = $0.requests.open.map(\.request) }
        return open
    }
}
