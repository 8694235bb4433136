import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation

/// How much of a link's limit two of our hosts fill, over two of our controllers, and what a simulated minute costs.
package struct AirBenchmark {
    let valueLength: Int
    /// In slots of 1.25 ms.
    let intervalSlots: UInt16
    let physical: LinkCase.Physical
    /// The most octets of an LL data PDU.
    let dataLength: UInt16

    private var name: String {
        "notify_\(physical.rawValue)_\(valueLength)B_\(Double(intervalSlots) * 1.25)ms"
            + (dataLength > 27 ? "_dle" : "")
    }

    /// What the physics allows on this link, in kbit/s of values.
    private var limit: Double {
        LinkCase(
            .value(name, "", octets: valueLength, dataLength: dataLength), physical, isEncrypted: false,
            interval: intervalSlots
        ).limit
    }

    package func run(minutes: Int) -> [Measurement] {
        let world = World(seed: 1)
        var configuration = HostConfiguration()
        configuration.preferredMTU = UInt16(valueLength + 3)
        configuration.prefers2M = physical == .le2M
        configuration.maximumDataOctets = dataLength
        configuration.connection = ConnectionPreference(
            intervalSlots: intervalSlots...intervalSlots, latency: 0, supervisionTimeout: 200)
        let source = NotificationSource(
            HostedDevice(
                in: world, name: "source", address: DeviceAddress(0xC0_0000_0001, kind: .public),
                host: configuration), valueLength: valueLength)
        let sink = NotificationSink(
            HostedDevice(
                in: world, name: "sink", address: DeviceAddress(0xC0_0000_0002, kind: .public),
                position: Position(x: 1, y: 0), host: configuration), peer: source.peer)
        source.start()
        sink.start()
        world.run(for: .seconds(5))
        precondition(sink.count > 0, "No notification came within five seconds of simulated time.")

        let before = sink.octets
        let elapsed = ContinuousClock().measure { world.run(for: .seconds(60 * minutes)) }
        let kilobits = Double(sink.octets - before) * 8 / Double(60 * minutes) / 1000
        return [
            Measurement(name: "air_\(name)", value: kilobits, unit: "kbit/s"),
            Measurement(name: "air_\(name)_of_limit", value: kilobits / limit, unit: "ratio"),
            Measurement(
                name: "air_\(name)_real_seconds_per_simulated_minute", value: elapsed / .seconds(minutes), unit: "s"),
        ]
    }

    /// From small values on an old link to those that fill one and two of the longest packets, and what a program gets
    /// that takes the longest value there is.
    package static let all =
        [AirBenchmark(valueLength: 20, intervalSlots: 6, physical: .le1M, dataLength: 27)]
        + [6, 12, 24, 80].flatMap { interval in
            [244, 495, 512].map {
                AirBenchmark(valueLength: $0, intervalSlots: interval, physical: .le2M, dataLength: 251)
            }
        }
}

/// A peripheral that notifies as fast as it may.
private final class NotificationSource: @unchecked Sendable {
    // `@unchecked`: used on the world's loop alone.
    private let device: HostedDevice
    private let value: [UInt8]
    private var client: ClientID?
    private var number: UInt64 = 0
    private var characteristic: AttributeHandle?
    private var isSubscribed = false
    private var open = 0
    /// Enough for two events.
    private let depth = 24

    var peer: PeerID { PeerID(device.device.address) }

    init(_ device: HostedDevice, valueLength: Int) {
        self.device = device
        value = [UInt8](repeating: 0x2A, count: valueLength)
    }

    func start() {
        device.loop.enqueue { [self] now in
            device.withHost { host in client = host.attach({ [self] in handle($0) }, at: now) }
        }
    }

    private func handle(_ event: HostEvent) {
        switch event {
        case .state(.poweredOn):
            let characteristic = CharacteristicDefinition(
                uuid: .uuid16(0xFFF1), properties: 0x10, permissions: .readable)
            submit(.addService(ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [characteristic])))
        case .answer(_, .success(.published(let service))):
            characteristic = service.characteristics[0]
            submit(.startAdvertising(AdvertisementContent(services: [.uuid16(0xFFF0)])))
        case .subscribed:
            // An advertisement would take air time from the link.
            submit(.stopAdvertising)
        case .answer(_, .success(.done)) where !isSubscribed:
            isSubscribed = true
            fill()
        case .answer(_, .success(.done)) where isSubscribed:
            open -= 1
            if open <= depth / 2 { fill() }
        default: break
        }
    }

    private func fill() {
        guard let characteristic else { return }
        let missing = depth - open
        open = depth
        device.loop.enqueue { [self] now in
            device.withHost { host in
                for _ in 0..<missing {
                    number += 1
                    host.submit(
                        .notify(characteristic, value: value, to: nil), number: RequestNumber(number),
                        client: client!, at: now)
                }
            }
        }
    }

    private func submit(_ request: HostRequest) {
        device.loop.enqueue { [self] now in
            number += 1
            device.withHost { $0.submit(request, number: RequestNumber(number), client: client!, at: now) }
        }
    }
}

/// A central that connects, subscribes and counts.
private final class NotificationSink: @unchecked Sendable {
    // `@unchecked`: used on the world's loop alone.
    private let device: HostedDevice
    private let peer: PeerID
    private var client: ClientID?
    private var number: UInt64 = 0
    private(set) var count = 0
    private(set) var octets = 0

    init(_ device: HostedDevice, peer: PeerID) {
        self.device = device
        self.peer = peer
    }

    func start() {
        device.loop.enqueue { [self] now in
            device.withHost { host in client = host.attach({ [self] in handle($0) }, at: now) }
        }
    }

    private func handle(_ event: HostEvent) {
        switch event {
        case .state(.poweredOn): submit(.connect(peer))
        case .answer(_, .success(.connected)): submit(.discoverServices(peer, only: [.uuid16(0xFFF0)]))
        case .answer(_, .success(.services(let services))): submit(.discoverCharacteristics(peer, of: services[0]))
        case .answer(_, .success(.characteristics(let characteristics))):
            submit(.subscribe(peer, characteristics[0], .notifications))
        case .answer(_, .failure(let failure)): preconditionFailure("The link does not come up: \(failure)")
        case .notified(_, _, let value):
            count += 1
            octets += value.count
        default: break
        }
    }

    private func submit(_ request: HostRequest) {
        device.loop.enqueue { [self] now in
            number += 1
            device.withHost { $0.submit(request, number: RequestNumber(number), client: client!, at: now) }
        }
    }
}
