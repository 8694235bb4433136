import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation

/// How much of a link's limit an L2CAP channel between two of our hosts fills, over two of our controllers.
package struct ChannelBenchmark {
    let name: String
    /// In slots of 1.25 ms.
    let intervalSlots: UInt16
    let physical: LinkCase.Physical
    /// The most octets of an LL data PDU.
    let dataLength: UInt16
    /// What the physics allows on this link, in kbit/s of the stream's octets.
    let limit: Double

    package func run(minutes: Int) -> [Measurement] {
        let world = World(seed: 1)
        var configuration = HostConfiguration()
        configuration.prefers2M = physical == .le2M
        configuration.maximumDataOctets = dataLength
        configuration.connection = ConnectionPreference(
            intervalSlots: intervalSlots...intervalSlots, latency: 0, supervisionTimeout: 200)
        let sink = ChannelEnd(
            HostedDevice(
                in: world, name: "sink", address: DeviceAddress(0xC0_0000_0001, kind: .public), host: configuration))
        let source = ChannelEnd(
            HostedDevice(
                in: world, name: "source", address: DeviceAddress(0xC0_0000_0002, kind: .public),
                position: Position(x: 1, y: 0), host: configuration), peer: sink.peer)
        sink.start()
        source.start()
        world.run(for: .seconds(5))
        precondition(sink.octets > 0, "Nothing came within five seconds of simulated time.")

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

    /// An event of 7.5 ms holds 11 packets of 27 octets on LE 1M, and 5 of 251 on LE 2M: an exchange takes 676 and 1392
    /// us (Core 6.0, Vol 6, Part B, 2.1, 2.2 and 4.1.1). An SDU of 3998 octets goes in four frames of 1000; with its
    /// header each takes 38 packets of the first kind, and 4 of the second.
    package static let all = [
        ChannelBenchmark(
            name: "channel_1M_7.5ms", intervalSlots: 6, physical: .le1M, dataLength: 27,
            limit: 11 * 3998 / (4 * 38) * 8 / 7.5),
        ChannelBenchmark(
            name: "channel_2M_7.5ms_dle", intervalSlots: 6, physical: .le2M, dataLength: 251,
            limit: 5 * 3998 / (4 * 4) * 8 / 7.5),
    ]
}

/// One end of the channel: without a peer it offers it, reads and counts; else it opens it, and sends as fast as it
/// may.
private final class ChannelEnd: @unchecked Sendable {
    // `@unchecked`: used on the world's loop alone.
    private let device: HostedDevice
    private let other: PeerID?
    private var client: ClientID?
    private var number: UInt64 = 0
    private(set) var octets = 0
    private var channel: OpenChannel?
    private var open = 0

    /// The sink's PSM: the first of the dynamic range (Core 6.0, Vol 3, Part A, 4.22).
    private static let psm: UInt16 = 0x80
    /// SDUs on their way to the controller: so many that it never waits for one.
    private static let depth = 4

    var peer: PeerID { PeerID(device.device.address) }

    init(_ device: HostedDevice, peer: PeerID? = nil) {
        self.device = device
        other = peer
    }

    func start() {
        device.loop.enqueue { [self] now in
            device.withHost { host in client = host.attach({ [self] in handle($0) }, at: now) }
        }
    }

    private func handle(_ event: HostEvent) {
        switch event {
        case .state(.poweredOn):
            if let other { submit(.connect(other)) } else { submit(.publishChannel(requiresEncryption: false)) }
        case .answer(_, .success(.channelPublished(let psm))):
            precondition(psm == Self.psm, "The first number of the range is free.")
            submit(.startAdvertising(AdvertisementContent()))
        // An advertisement would take air time from the link.
        case .channelOpened: submit(.stopAdvertising)
        case .channelReceived(let number, let received):
            octets += received.count
            submit(.received(number, received.count))
        case .answer(_, .success(.connected)):
            if let other { submit(.openChannel(other, psm: Self.psm)) }
        case .answer(_, .success(.channel(let opened))):
            channel = opened
            fill()
        case .answer(_, .success(.done)) where channel != nil:
            open -= 1
            fill()
        case .answer(_, .failure(let failure)): preconditionFailure("The channel does not come up: \(failure)")
        default: break
        }
    }

    private func fill() {
        guard let channel else { return }
        while open < Self.depth {
            open += 1
            submit(.send(channel.number, [UInt8](repeating: 0x2A, count: channel.bestLength)))
        }
    }

    private func submit(_ request: HostRequest) {
        device.loop.enqueue { [self] now in
            number += 1
            device.withHost { $0.submit(request, number: RequestNumber(number), client: client!, at: now) }
        }
    }
}
