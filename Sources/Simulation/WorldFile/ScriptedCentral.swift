import BluetoothTypes
import EventLoop
import Host
import HostInterface

/// Plays a phone's steps on a simulated host, one after the other, through the same requests as any client of it.
///
/// A step that fails is told, and the next one follows.
package final class ScriptedCentral: @unchecked Sendable {
    // `@unchecked`: it is made before the world runs and called back by its loop, which has one thread.
    private let steps: [CentralStep]
    private let repeats: Bool
    private let owner: HostedDevice
    private let resolve: (String) -> DeviceAddress?
    private let onTell: (String, [UInt8]?) -> Void

    private var client: ClientID?
    private var boots = 0
    private var lastNumber: UInt64 = 0
    private var next = 0
    /// The request whose answer ends the current step, and what to do with it.
    private var waiting: (number: RequestNumber, then: (Result<HostAnswer, HostFailure>) -> Void)?
    /// Counts the steps, for alarms of an earlier one are stale.
    private var turn = 0
    private var peer: (id: PeerID, name: String)?
    private var characteristics: [RemoteCharacteristic] = []
    private var heard: Set<PeerID> = []

    /// - Parameters:
    ///   - resolve: a device's address, by its name in the file.
    ///   - onTell: takes what it does and gets to know, with the octets it is about.
    init(
        _ steps: [CentralStep], repeats: Bool, on owner: HostedDevice, resolve: @escaping (String) -> DeviceAddress?,
        onTell: @escaping (String, [UInt8]?) -> Void
    ) {
        self.steps = steps
        self.repeats = repeats
        self.owner = owner
        self.resolve = resolve
        self.onTell = onTell
    }

    func start() {
        owner.device.onPowerChange = { [self] isOn in
            client = nil
            waiting = nil
            peer = nil
            boots += 1
            next = 0
            if isOn { attach() }
        }
        attach()
    }

    private var world: World { owner.world }

    private func attach() {
        let boot = boots
        owner.withHost { host in
            client = host.attach(
                { [weak self, world] event in
                    world.enqueue { [weak self] _ in
                        guard let self, boots == boot else { return }
                        handle(event)
                    }
                }, at: world.now)
        }
    }

    private func handle(_ event: HostEvent) {
        switch event {
        case .state(.poweredOn): if turn == 0 || next == 0 { advance() }
        case .answer(let number, let result):
            guard let waiting, waiting.number == number else { return }
            self.waiting = nil
            waiting.then(result)
        case .discovered(let discovery):
            guard heard.insert(discovery.peer).inserted else { return }
            let data = AdvertisingData(
                advertisement: discovery.advertisingData, scanResponse: discovery.scanResponseData)
            onTell("hears \(data.localName ?? discovery.peer.address.description), \(discovery.rssi) dBm", nil)
        case .notified(_, let handle, let value):
            let uuid = characteristics.first { $0.value == handle }?.uuid
            onTell("is notified of \(uuid.map(\.description) ?? "handle \(handle.rawValue)")", value)
        case .disconnected(let id, _) where id == peer?.id:
            onTell("has lost \(peer?.name ?? "its peer")", nil)
            peer = nil
        default: break
        }
    }

    private func ask(_ request: HostRequest, _ then: @escaping (Result<HostAnswer, HostFailure>) -> Void) {
        guard let client else { return }
        lastNumber += 1
        let number = RequestNumber(lastNumber)
        waiting = (number, then)
        owner.withHost { $0.submit(request, number: number, client: client, at: world.now) }
    }

    // MARK: Steps

    private func advance(after delay: Duration = .zero) {
        turn += 1
        let (turn, boot) = (turn, boots)
        world.schedule(after: delay) { [weak self] in
            guard let self, self.turn == turn, boots == boot else { return }
            if next == steps.count, repeats { next = 0 }
            guard next < steps.count else { return }
            next += 1
            take(steps[next - 1])
        }
    }

    private func take(_ step: CentralStep) {
        switch step {
        case .scan(let duration, let services):
            heard = []
            onTell("scans", nil)
            ask(.startScan(ScanFilter(services: services))) { _ in }
            world.schedule(after: duration) { [weak self, turn] in
                guard let self, self.turn == turn else { return }
                ask(.stopScan) { [self] _ in advance() }
            }
        case .connect(let name, let limit): connect(name, within: limit)
        case .wait(let duration): advance(after: duration)
        case .disconnect:
            guard let peer else { return skip("has no link to end") }
            self.peer = nil
            ask(.disconnect(peer.id)) { [self] _ in
                onTell("ends the link to \(peer.name)", nil)
                advance()
            }
        case .read(let uuid):
            with(uuid) { peer, found in .read(peer, found.value) }
        case .write(let uuid, let value, let withResponse):
            with(uuid, "writes \(uuid)", value) { peer, found in
                .write(peer, found.value, value: value, withResponse: withResponse)
            }
        case .subscribe(let uuid):
            with(uuid, "subscribes to \(uuid)") { peer, found in
                // Notifications where there are any, as on Apple's systems.
                .subscribe(peer, found, found.properties & 0x10 != 0 ? .notifications : .indications)
            }
        case .unsubscribe(let uuid):
            with(uuid, "unsubscribes from \(uuid)") { peer, found in .subscribe(peer, found, .none) }
        }
    }

    private func skip(_ text: String, _ value: [UInt8]? = nil) {
        onTell(text, value)
        // The failure may have taken no time; the next step takes some.
        advance(after: .milliseconds(1))
    }

    private func with(
        _ uuid: BluetoothUUID, _ doing: String? = nil, _ octets: [UInt8]? = nil,
        _ request: (PeerID, RemoteCharacteristic) -> HostRequest
    ) {
        guard let peer else { return skip("is not connected, and leaves out a step with \(uuid)") }
        guard let found = characteristics.first(where: { $0.uuid == uuid }) else {
            return skip("finds no \(uuid) on \(peer.name)")
        }
        if let doing { onTell(doing, octets) }
        ask(request(peer.id, found)) { [self] result in
            switch result {
            case .success(.value(let value)): skip("reads \(uuid)", value)
            case .success: skip("\(doing ?? "reads \(uuid)"): done")
            case .failure(let failure): skip("\(doing ?? "reads \(uuid)"): \(failure)")
            }
        }
    }

    private func connect(_ name: String, within limit: Duration) {
        guard let address = resolve(name) else { return skip("knows no \(name)") }
        let id = PeerID(address)
        onTell("connects to \(name)", nil)
        ask(.connect(id)) { [self] result in
            switch result {
            case .success:
                peer = (id, name)
                discover(id, name)
            case .failure(let failure): skip("cannot connect to \(name): \(failure)")
            }
        }
        world.schedule(after: limit) { [weak self, turn] in
            guard let self, self.turn == turn, peer == nil else { return }
            // The connect is answered: taken back.
            if let client {
                lastNumber += 1
                owner.withHost {
                    $0.submit(.disconnect(id), number: RequestNumber(lastNumber), client: client, at: world.now)
                }
            }
        }
    }

    private func discover(_ id: PeerID, _ name: String) {
        characteristics = []
        ask(.discoverServices(id, only: nil)) { [self] result in
            guard case .success(.services(let services)) = result else {
                return skip("finds no services on \(name)")
            }
            discover(services[...], of: id, name)
        }
    }

    private func discover(_ services: ArraySlice<RemoteService>, of id: PeerID, _ name: String) {
        guard let service = services.first else {
            return skip("knows \(name): \(characteristics.count) characteristics")
        }
        ask(.discoverCharacteristics(id, of: service)) { [self] result in
            if case .success(.characteristics(let found)) = result { characteristics += found }
            discover(services.dropFirst(), of: id, name)
        }
    }
}
