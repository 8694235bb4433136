import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation

/// Two hosts of ours over two virtual controllers and the air, for attacks at the seams below a link's channels.
final class AttackScene: @unchecked Sendable {
    // `@unchecked`: used on the thread that runs the world alone.
    let world = World(seed: 1)
    let central: HostedDevice
    let peripheral: HostedDevice
    /// What the peripheral was given to write, in order.
    private(set) var written: [[UInt8]] = []
    private var clients: [ClientID] = []
    private var events: [[HostEvent]] = [[], []]
    private var lastNumber: UInt64 = 0
    /// A value that its owner is asked for, and one that needs an encrypted link.
    private var open = AttributeHandle(rawValue: 0)
    private var secret = AttributeHandle(rawValue: 0)

    private static let value: [UInt8] = [1, 2, 3]

    /// The peripheral serves two characteristics and advertises.
    init() {
        central = HostedDevice(in: world, name: "central", address: DeviceAddress(0x02_0000_0000_01))
        peripheral = HostedDevice(in: world, name: "peripheral", address: DeviceAddress(0x02_0000_0000_02))
        for (index, device) in [central, peripheral].enumerated() {
            device.withHost { host in
                clients.append(host.attach({ [unowned self] in hear($0, index) }, at: world.now))
            }
        }
        world.run(for: .milliseconds(20))
        let service = ServiceDefinition(
            uuid: .uuid16(0xFFF0),
            characteristics: [
                CharacteristicDefinition(
                    uuid: .uuid16(0xFFF1), properties: 0x0A, permissions: [.readable, .writeable]),
                CharacteristicDefinition(
                    uuid: .uuid16(0xFFF2), properties: 0x02, permissions: .readEncryptionRequired, value: Self.value),
            ])
        if case .success(.published(let service)) = ask(1, .addService(service)) {
            (open, secret) = (service.characteristics[0], service.characteristics[1])
        }
        _ = ask(1, .startAdvertising(AdvertisementContent(localName: "attacked")))
    }

    private func hear(_ event: HostEvent, _ index: Int) {
        events[index].append(event)
        switch event {
        case .readRequested(let request): answer(request.id, Self.value)
        case .writeRequested(let request):
            written += request.parts.map(\.value)
            answer(request.id, [])
        default: break
        }
    }

    private func answer(_ id: ServerRequestID, _ value: [UInt8]) {
        world.enqueue { [unowned self] _ in submit(1, .respond(id, errorCode: 0, value: value)) }
    }

    @discardableResult
    private func submit(_ index: Int, _ request: HostRequest) -> RequestNumber {
        lastNumber += 1
        let number = RequestNumber(lastNumber)
        (index == 0 ? central : peripheral).withHost {
            $0.submit(request, number: number, client: clients[index], at: world.now)
        }
        return number
    }

    /// Asks, and lets the world run until there is an answer.
    private func ask(
        _ index: Int, _ request: HostRequest, within limit: Duration = .seconds(60)
    ) -> Result<HostAnswer, HostFailure>? {
        let number = submit(index, request)
        let end = world.now.advanced(by: limit)
        while world.now < end {
            for case .answer(number, let result) in events[index] { return result }
            world.run(for: .milliseconds(5))
        }
        return nil
    }

    private var peer: PeerID { PeerID(peripheral.device.address) }

    // MARK: Steps

    func connect() throws(Mismatch) {
        try check("connecting", ask(0, .connect(peer)), .connected(mtu: 517))
        world.run(for: .milliseconds(500))
    }

    func startConnecting() { submit(0, .connect(peer)) }

    func read(_ place: String) throws(Mismatch) { try check(place, ask(0, .read(peer, open)), .value(Self.value)) }

    func readSecret() -> Result<HostAnswer, HostFailure>? { ask(0, .read(peer, secret)) }

    func write(_ value: [UInt8]) throws(Mismatch) {
        try check("a write", ask(0, .write(peer, open, value: value, withResponse: true)), .done)
    }

    private func check(
        _ place: String, _ actual: Result<HostAnswer, HostFailure>?, _ expected: HostAnswer
    ) throws(Mismatch) {
        try Mismatch.check(place, .success(expected), actual) { $0.map { "\($0)" } ?? "no answer" }
    }

    // MARK: What must hold

    var linkSecurity: LinkSecurity? {
        guard case .success(.link(let status))? = ask(0, .readLink(peer)) else { return nil }
        return status.security
    }

    func holdings(of device: HostedDevice) -> HostHoldings {
        var holdings = HostHoldings()
        device.withHost { holdings = $0.holdings }
        return holdings
    }

    /// The peers that the central has been told of as found.
    var discovered: [PeerID] {
        events[0].compactMap { if case .discovered(let discovery) = $0 { discovery.peer } else { nil } }
    }

    /// The link is there, in the clear, and serves; nothing is left open.
    func checkUnharmed() throws(Mismatch) {
        try Mismatch.check("links", 1, holdings(of: central).links)
        try Mismatch.check("protection of the link", nil, linkSecurity) { $0.map { "\($0)" } ?? "none" }
        try read("read afterwards")
        world.run(for: .seconds(1))
        var holdings = HostHoldings()
        holdings.links = 1
        try Mismatch.check("what is left open", holdings, self.holdings(of: central)) { "\($0)" }
    }
}
