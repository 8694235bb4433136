import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation

/// How much of a link's limit two of our hosts fill, over two of our controllers: all that a program sends goes through
/// ATT or a channel, L2CAP, HCI and the link layer, and up again on the other side.
package struct HostedLink {
    package enum Traffic: String, CaseIterable {
        case notifications, writes
        case channelUp = "channel_up"
        case channelDown = "channel_down"

        package var direction: LinkCase.Direction {
            switch self {
            case .notifications, .channelUp: .up
            case .writes, .channelDown: .down
            }
        }

        package var isChannel: Bool { self == .channelUp || self == .channelDown }

        package var title: String {
            switch self {
            case .notifications: "Notifications"
            case .writes: "Writes without response"
            case .channelUp: "Channel, to the central"
            case .channelDown: "Channel, to the peripheral"
            }
        }
    }

    package let link: LinkCase
    package let traffic: Traffic

    package init(_ link: LinkCase, _ traffic: Traffic) {
        self.link = link
        self.traffic = traffic
    }

    package var name: String { "hosts_\(traffic.rawValue)_\(link.name(traffic.direction))" }

    package struct Result {
        /// In kbit/s of a program's octets.
        package var rate: Double
        /// Of the limit.
        package var share: Double
        /// Real time for a simulated minute, in s.
        package var realSecondsPerMinute: Double
    }

    /// - Parameter seconds: of simulated time, once the link is what it is to be; ten times as many for a channel.
    package func measure(seconds: Int) -> Result {
        let pair = HostedPair(link, traffic)
        pair.settle()
        // An SDU is received as a whole, and is a large part of what a slow link carries in a second.
        let seconds = traffic.isChannel ? 10 * seconds : seconds
        let before = pair.octets
        let elapsed = ContinuousClock().measure { pair.world.run(for: .seconds(seconds)) }
        let rate = Double(pair.octets - before) * 8 / Double(seconds) / 1000
        return Result(
            rate: rate, share: rate / link.limit, realSecondsPerMinute: elapsed / .seconds(1) * 60 / Double(seconds))
    }

    package func measurements(_ result: Result) -> [Measurement] {
        [
            Measurement(name: name, value: result.rate, unit: "kbit/s"),
            Measurement(name: name + "_of_limit", value: result.share, unit: "ratio"),
        ]
    }

    // MARK: Tables

    /// What our hosts send where programs follow what they are told of lengths, and the rows that others publish.
    private static func shapes(_ traffic: Traffic) -> [LinkCase.Shape] {
        typealias Shape = LinkCase.Shape
        guard !traffic.isChannel else {
            return [
                .channel("coc_mps1000_dle", "MPS 1000, 251 octets a PDU", payload: 1000, sdu: 3998, dataLength: 251),
                .channel("coc_mps1000_nodle", "MPS 1000, 27 octets a PDU", payload: 1000, sdu: 3998, dataLength: 27),
            ]
        }
        return ["mtu247_dle", "mtu498_dle", "mtu23_nodle", "mtu185_nodle"].map { name in
            Shape.all.first { $0.name == name }!
        }
    }

    /// The rows of the table, each for all of ``LinkCase/intervals``.
    package static let rows: [HostedLink] = Traffic.allCases.flatMap { traffic in
        shapes(traffic).flatMap { shape in
            [LinkCase.Physical.le1M, .le2M].flatMap { physical in
                [true, false].map { HostedLink(LinkCase(shape, physical, isEncrypted: $0, interval: 6), traffic) }
            }
        }
    }

    /// Events of a phone, by notifications and by writes.
    package static let phoneRows: [HostedLink] = [Traffic.notifications, .writes].flatMap { traffic in
        LinkCase.phoneRows.map { HostedLink($0, traffic) }
    }

    package func with(interval: UInt16) -> HostedLink {
        var link = link
        link.interval = interval
        return HostedLink(link, traffic)
    }
}

/// Two hosts, a central that connects and a peripheral, and what goes over their link.
private final class HostedPair {
    let world = World(seed: 1)
    private let link: LinkCase
    private let traffic: HostedLink.Traffic
    private let central: HostedEnd
    private let peripheral: HostedEnd

    /// The first of the dynamic range (Core 6.0, Vol 3, Part A, 4.22).
    private static let psm: UInt16 = 0x80

    /// How many octets have arrived.
    var octets: Int { traffic.direction == .up ? central.octets : peripheral.octets }

    init(_ link: LinkCase, _ traffic: HostedLink.Traffic) {
        self.link = link
        self.traffic = traffic
        var configuration = HostConfiguration()
        if !traffic.isChannel { configuration.preferredMTU = UInt16(link.shape.octets + 3) }
        configuration.prefers2M = link.physical == .le2M
        configuration.maximumDataOctets = link.shape.dataLength
        configuration.connection = ConnectionPreference(
            intervalSlots: link.interval...link.interval, latency: 0, supervisionTimeout: 400)
        peripheral = Self.end(in: world, "peripheral", 0xC0_0000_0001, at: Position(), configuration)
        central = Self.end(in: world, "central", 0xC0_0000_0002, at: Position(x: 1), configuration)
        (traffic.direction == .up ? peripheral : central).device.device.packetsPerEvent = link.packetsPerEvent
        peripheral.onEvent = { [unowned self] in takeAtPeripheral($0) }
        central.onEvent = { [unowned self] in takeAtCentral($0) }
        peripheral.start()
        central.start()
    }

    private static func end(
        in world: World, _ name: String, _ address: UInt64, at position: Position, _ configuration: HostConfiguration
    ) -> HostedEnd {
        HostedEnd(
            HostedDevice(
                in: world, name: name, address: DeviceAddress(address, kind: .public), position: position,
                host: configuration))
    }

    /// Runs until octets flow and the link layer's procedures are over.
    func settle() {
        for _ in 0..<30 where octets == 0 { world.run(for: .seconds(1)) }
        precondition(octets > 0, "Nothing came within thirty seconds of simulated time.")
        world.run(for: .seconds(4))
    }

    private func takeAtPeripheral(_ event: HostEvent) {
        switch event {
        case .state(.poweredOn) where traffic.isChannel:
            peripheral.submit(.publishChannel(requiresEncryption: false)) { [unowned self] answer in
                precondition(answer == .channelPublished(psm: Self.psm), "The first number of the range is free.")
                peripheral.submit(.startAdvertising(AdvertisementContent()))
            }
        case .state(.poweredOn):
            let characteristic = CharacteristicDefinition(
                uuid: .uuid16(0xFFF1), properties: 0x14, permissions: .writeable)
            let service = ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [characteristic])
            peripheral.submit(.addService(service)) { [unowned self] _ in
                peripheral.submit(.startAdvertising(AdvertisementContent(services: [.uuid16(0xFFF0)])))
            }
        case .subscribed(_, let characteristic, _):
            // An advertisement would take air time from the link.
            peripheral.submit(.stopAdvertising)
            let value = [UInt8](repeating: 0x2A, count: link.shape.octets)
            keepSending(.notify(characteristic, value: value, to: nil), from: peripheral, atOnce: 24)
        case .writeRequested(let request):
            if peripheral.octets == 0 { peripheral.submit(.stopAdvertising) }
            for part in request.parts { peripheral.octets += part.value.count }
        case .channelOpened(let channel):
            peripheral.submit(.stopAdvertising)
            if traffic == .channelUp { keepSending(on: channel, from: peripheral) }
        case .channelReceived(let number, let received): take(received, on: number, at: peripheral)
        default: break
        }
    }

    private func takeAtCentral(_ event: HostEvent) {
        switch event {
        case .state(.poweredOn):
            central.submit(.connect(peripheral.peer)) { [unowned self] _ in
                guard link.isEncrypted else { return useLink() }
                central.submit(.security(.secure(peripheral.peer, authenticated: false))) { [unowned self] _ in
                    useLink()
                }
            }
        case .notified(_, _, let value): central.octets += value.count
        case .channelReceived(let number, let received): take(received, on: number, at: central)
        default: break
        }
    }

    private func useLink() {
        let peer = peripheral.peer
        if traffic.isChannel {
            return central.submit(.openChannel(peer, psm: Self.psm)) { [unowned self] answer in
                guard case .channel(let channel) = answer, traffic == .channelDown else { return }
                keepSending(on: channel, from: central)
            }
        }
        central.submit(.discoverServices(peer, only: [.uuid16(0xFFF0)])) { [unowned self] answer in
            guard case .services(let services) = answer else { return }
            central.submit(.discoverCharacteristics(peer, of: services[0])) { [unowned self] answer in
                guard case .characteristics(let characteristics) = answer else { return }
                guard traffic == .writes else {
                    return central.submit(.subscribe(peer, characteristics[0], .notifications))
                }
                let value = [UInt8](repeating: 0x2A, count: link.shape.octets)
                keepSending(
                    .write(peer, characteristics[0].value, value: value, withResponse: false), from: central,
                    atOnce: 24)
            }
        }
    }

    private func take(_ received: [UInt8], on number: ChannelNumber, at end: HostedEnd) {
        end.octets += received.count
        end.submit(.received(number, received.count))
    }

    private func keepSending(on channel: OpenChannel, from end: HostedEnd) {
        precondition(channel.bestLength == link.shape.octets, "The limit is that of SDUs of \(channel.bestLength).")
        let octets = [UInt8](repeating: 0x2A, count: channel.bestLength)
        // So many that the controller never waits for one.
        keepSending(.send(channel.number, octets), from: end, atOnce: 4)
    }

    /// Sends a request over and over, so many at once; a program that goes by the answers does the same.
    private func keepSending(_ request: HostRequest, from end: HostedEnd, atOnce depth: Int) {
        var open = 0
        func fill() {
            let missing = depth - open
            open = depth
            end.submit(request, times: missing) { _ in
                open -= 1
                if open <= depth / 2 { fill() }
            }
        }
        fill()
    }
}
