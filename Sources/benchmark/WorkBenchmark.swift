import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import VirtualController

/// One operation of a host again and again, without a transport and without a controller: what is left is the host's
/// own work, whose instructions Benchmarks/budgets counts.
final class WorkBenchmark: @unchecked Sendable {
    // `@unchecked`: used on the thread that runs the world alone.
    enum Operation: String, CaseIterable {
        case notificationReceived = "notification-received"
        case notificationSent = "notification-sent"
        case writeCommandSent = "write-command-sent"
        case writeCommandReceived = "write-command-received"
        case readRoundTrip = "read-round-trip"
        case advertisingReport = "advertising-report"
        case channelSent = "channel-sent"
        case channelReceived = "channel-received"
    }

    private let world = World(seed: 1)
    private let devices: [HostedDevice]
    private var clients: [ClientID] = []
    private var number: UInt64 = 0
    private var heard = 0
    private var characteristic: RemoteCharacteristic?
    private var channels: [OpenChannel?] = [nil, nil]
    private var psm: UInt16 = 0

    /// What the first link has at both controllers.
    private static let link: UInt16 = 0x0040
    private static let value = [UInt8](repeating: 0x2A, count: 244)

    init() {
        devices = (0..<2).map { [world] in
            let address = DeviceAddress(0x02_0000_0000_01 + UInt64($0))
            var controller = ControllerConfiguration(address: address)
            controller.aclLength = 251
            return HostedDevice(in: world, name: "\($0)", address: address, controller: controller)
        }
    }

    /// Device 0 is connected to device 1, subscribed, and has a channel to it.
    private func setUp() {
        for index in devices.indices {
            devices[index].withHost { host in
                clients.append(host.attach({ [unowned self] in hear($0, at: index) }, at: world.now))
            }
        }
        world.run(for: .milliseconds(50))
        let definition = CharacteristicDefinition(
            uuid: .uuid16(0xFFF1), properties: 0x1E, permissions: [.readable, .writeable])
        ask(1, .addService(ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [definition])))
        ask(1, .publishChannel(requiresEncryption: false))
        ask(1, .startAdvertising(AdvertisementContent(services: [.uuid16(0xFFF0)])))
        let peer = PeerID(devices[1].device.address)
        ask(0, .connect(peer))
        world.run(for: .seconds(2))
        ask(0, .discoverServices(peer, only: [.uuid16(0xFFF0)]))
        world.run(for: .seconds(1))
        ask(0, .openChannel(peer, psm: psm))
        ask(0, .startScan(ScanFilter(allowDuplicates: true)))
        world.run(for: .seconds(2))
        precondition(characteristic != nil && channels[0] != nil && channels[1] != nil, "The link did not come up.")
    }

    private func ask(_ index: Int, _ request: HostRequest) {
        devices[index].withHost { host in submit(request, to: host, of: index) }
    }

    private func submit(_ request: HostRequest, to host: Host, of index: Int) {
        number += 1
        host.submit(request, number: RequestNumber(number), client: clients[index], at: world.now)
    }

    private func hear(_ event: HostEvent, at index: Int) {
        heard += 1
        let peer = PeerID(devices[1].device.address)
        switch event {
        case .answer(_, .success(.channelPublished(let published))): psm = published
        case .answer(_, .success(.services(let services))):
            later(.discoverCharacteristics(peer, of: services[0]))
        case .answer(_, .success(.characteristics(let found))):
            characteristic = found[0]
            later(.subscribe(peer, found[0], .notifications))
        case .answer(_, .success(.channel(let channel))), .channelOpened(let channel): channels[index] = channel
        default: break
        }
    }

    private func later(_ request: HostRequest) { world.enqueue { [self] _ in ask(0, request) } }

    /// - Returns: how many events the clients heard.
    func run(_ operation: Operation, count: Int) -> Int {
        setUp()
        guard let characteristic, let own = channels[0], let theirs = channels[1] else { return 0 }
        // From here on the controllers are out of it.
        for hosted in devices { hosted.device.hciFault = { _, _ in [] } }
        heard = 0
        let peer = PeerID(devices[1].device.address)
        let handle = characteristic.value
        let attribute = [UInt8(truncatingIfNeeded: handle.rawValue), UInt8(handle.rawValue >> 8)]
        switch operation {
        case .notificationReceived: feed(0, Self.data(0x0004, [0x1B] + attribute + Self.value), count)
        case .writeCommandReceived: feed(1, Self.data(0x0004, [0x52] + attribute + Self.value), count)
        case .advertisingReport: feed(0, Self.report, count)
        case .notificationSent: send(1, .notify(handle, value: Self.value, to: nil), count)
        case .writeCommandSent: send(0, .write(peer, handle, value: Self.value, withResponse: false), count)
        case .readRoundTrip: send(0, .read(peer, handle), count, answer: Self.data(0x0004, [0x0B] + Self.value))
        case .channelSent:
            // The peer's credits: one frame each (Core 6.0, Vol 3, Part A, 4.24).
            let credits = Self.data(0x0005, [0x16, 0x01, 0x04, 0x00, 0x40, 0x00, 0x01, 0x00])
            send(0, .send(own.number, Self.value), count, answer: credits)
        case .channelReceived:
            let sdu = [UInt8(Self.value.count - 2), 0] + Self.value.dropLast(2)
            let frame = Self.data(0x0040, sdu)
            devices[1].withHost { host in
                for _ in 0..<count {
                    host.receive(frame, at: world.now)
                    submit(.received(theirs.number, Self.value.count - 2), to: host, of: 1)
                    host.receive(Self.completed, at: world.now)
                }
            }
        }
        return heard
    }

    private func feed(_ index: Int, _ packet: [UInt8], _ count: Int) {
        devices[index].withHost { host in for _ in 0..<count { host.receive(packet, at: world.now) } }
    }

    private func send(_ index: Int, _ request: HostRequest, _ count: Int, answer: [UInt8]? = nil) {
        devices[index].withHost { host in
            for _ in 0..<count {
                submit(request, to: host, of: index)
                host.receive(Self.completed, at: world.now)
                if let answer { host.receive(answer, at: world.now) }
            }
        }
    }

    // MARK: Packets of a controller

    private static func data(_ channel: UInt16, _ payload: [UInt8]) -> [UInt8] {
        let length = UInt8(payload.count)
        return [0x02, UInt8(link & 0xFF), 0x20, length + 4, 0x00, length, 0x00, UInt8(channel), 0x00] + payload
    }

    /// Number Of Completed Packets: one.
    private static let completed: [UInt8] = [0x04, 0x13, 0x05, 0x01, UInt8(link & 0xFF), 0x00, 0x01, 0x00]

    /// LE Advertising Report: an ADV_IND with 31 octets.
    private static let report: [UInt8] = {
        let data: [UInt8] = [0x02, 0x01, 0x06, 0x1B, 0x09] + [UInt8](repeating: 0x41, count: 26)
        return [0x04, 0x3E, UInt8(12 + data.count), 0x02, 0x01, 0x00, 0x00, 1, 2, 3, 4, 5, 6, UInt8(data.count)]
            + data + [0xC4]
    }()
}
