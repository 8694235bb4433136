import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import VirtualController

/// Two or more hosts of ours over two real controllers and the air, and clients that write down what they hear.
final class TestWorld {
    let world: World
    private var nextAddress: UInt64 = 0x02_0000_0000_01

    init(seed: UInt64 = 1) { world = World(seed: seed) }

    func device(
        _ name: String, at metres: Double = 0, controller configureController: (inout ControllerConfiguration) -> Void,
        _ configure: (inout HostConfiguration) -> Void = { _ in }
    ) -> TestClient {
        var configuration = HostConfiguration()
        configure(&configuration)
        var controller = ControllerConfiguration(address: DeviceAddress(nextAddress))
        configureController(&controller)
        let device = HostedDevice(
            in: world, name: name, address: DeviceAddress(nextAddress), position: Position(x: metres, y: 0),
            controller: controller, host: configuration)
        nextAddress += 1
        return client(of: device)
    }

    func device(
        _ name: String, at metres: Double = 0, _ configure: (inout HostConfiguration) -> Void = { _ in }
    ) -> TestClient {
        device(name, at: metres, controller: { _ in }, configure)
    }

    func client(of device: HostedDevice) -> TestClient {
        let client = TestClient(device)
        client.open()
        world.run(for: .zero)
        return client
    }

    func run(_ duration: Duration) { world.run(for: duration) }
}

/// One client of one host.
final class TestClient: @unchecked Sendable {
    // `@unchecked`: used on the thread that runs the world alone.
    let device: HostedDevice
    private var id: ClientID?
    private var lastNumber: UInt64 = 0
    private(set) var events: [(at: Duration, event: HostEvent)] = []
    /// Answers a peer's question at once, if set.
    var onQuestion: ((HostEvent) -> HostRequest?)?

    var peer: PeerID { PeerID(device.device.address) }

    /// Requests are numbered from 1 up to this.
    var requestCount: UInt64 { lastNumber }

    init(_ device: HostedDevice) { self.device = device }

    func open() {
        device.withHost { host in
            id = host.attach({ [self] in hear($0) }, at: device.world.now)
        }
    }

    func close() { device.withHost { $0.detach(id!, at: device.world.now) } }

    private func hear(_ event: HostEvent) {
        events.append((device.world.now.sinceStart, event))
        guard let reply = onQuestion?(event) else { return }
        device.loop.enqueue { [self] _ in ask(reply) }
    }

    /// Asks, and returns the number under which the answer will come.
    @discardableResult
    func ask(_ request: HostRequest) -> RequestNumber {
        lastNumber += 1
        let number = RequestNumber(lastNumber)
        device.withHost { $0.submit(request, number: number, client: id!, at: device.world.now) }
        return number
    }

    func answers(_ number: RequestNumber) -> [Result<HostAnswer, HostFailure>] {
        events.compactMap { if case .answer(number, let result) = $0.event { result } else { nil } }
    }

    /// Asks, lets the world run until the answer is there, and returns it.
    func answer(_ request: HostRequest, within limit: Duration = .seconds(60)) -> Result<HostAnswer, HostFailure>? {
        let number = ask(request)
        let end = device.world.now.advanced(by: limit)
        while answers(number).isEmpty, device.world.now < end { device.world.run(for: .milliseconds(1)) }
        return answers(number).first
    }

    func clear() { events = [] }

    var openRequests: [RequestRegistry.Entry] {
        var open: [RequestRegistry.Entry] = []
        device.withHost { open = $0.requests.open }
        return open
    }
}
