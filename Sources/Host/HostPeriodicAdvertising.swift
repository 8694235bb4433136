import BluetoothTypes
import EventLoop
import GAP
import HCI
import HostInterface

// MARK: - Advertising periodically

extension Host {
    /// Why a client's periodic advertising cannot be; `nil` if it can.
    func problem(ofPeriodic wanted: ExtendedAdvertisement) -> HostFailure? {
        guard let periodic = wanted.periodic else { return nil }
        let needed: [HCIOpcode] = [
            .leSetPeriodicAdvertisingParameters, .leSetPeriodicAdvertisingData, .leSetPeriodicAdvertisingEnable,
            .leRemoveAdvertisingSet,
        ]
        guard let capabilities, capabilities.features.contains(.periodicAdvertising),
            needed.allSatisfy(capabilities.commands.contains)
        else { return .controller(status: HCIErrorCode.unsupportedFeature.rawValue) }
        guard !wanted.content.isConnectable else {
            return .invalidParameters("Who advertises periodically cannot be connected to by the same advertisement.")
        }
        guard periodic.interval >= 6 else { return .invalidParameters("The interval is 7.5 ms at least.") }
        guard AdvertisingLayout(periodic: periodic.content).isComplete else {
            return .invalidParameters("Periodic advertising holds 1650 octets, 254 in one structure.")
        }
        return nil
    }

    /// What the packets say is changed, while they go on.
    func updatePeriodicAdvertising(_ content: AdvertisementContent, for key: RequestKey, at now: Instant) {
        guard var wanted = client(key.client)?.extendedAdvertising?.content, wanted.periodic != nil else {
            return fail(key, .invalidParameters("Nothing is advertised periodically."))
        }
        wanted.periodic?.content = content
        if let problem = problem(ofPeriodic: wanted) { return fail(key, problem) }
        updateClient(key.client) {
            $0.extendedAdvertising?.content = wanted
            $0.extendedAdvertising?.requests.append(key)
        }
        updateExtendedAdvertiser(of: key.client, at: now)
    }
}

extension AdvertisingLayout {
    /// It has no flags, which are for those who may connect.
    init(periodic content: AdvertisementContent) {
        self.init(
            localName: content.localName, services: content.services, serviceData: content.serviceData,
            manufacturerData: content.manufacturerData, capacity: 1650, flags: nil)
    }
}

// MARK: - Following it

/// Several clients may follow the same device; its train is established once, and ends with the last of them.
extension Host {
    /// Controllers follow fewer; beyond their own number they refuse.
    private static let mostTrains = 64

    private var canFollow: Bool {
        let needed: [HCIOpcode] = [
            .lePeriodicAdvertisingCreateSync, .lePeriodicAdvertisingCreateSyncCancel,
            .lePeriodicAdvertisingTerminateSync,
        ]
        guard usesExtendedCommands, let capabilities else { return false }
        return capabilities.features.contains(.periodicAdvertising)
            && needed.allSatisfy(capabilities.commands.contains)
    }

    func synchronize(_ peer: PeerID, _ preference: SynchronizationPreference, for key: RequestKey, at now: Instant) {
        guard canFollow else { return fail(key, .controller(status: HCIErrorCode.unsupportedFeature.rawValue)) }
        guard preference.skip <= 499, preference.timeout.map({ (10...0x4000).contains($0) }) ?? true else {
            return fail(key, .invalidParameters("At most 499 packets are left out; the timeout is 0.1 to 163.84 s."))
        }
        guard synchronizer.count < Self.mostTrains else { return fail(key, .connectionLimitReached) }
        updateClient(key.client) { $0.trains.insert(peer) }
        if let train = synchronizer.train(of: peer.address) {
            return finish(key, .success(.synchronized(TrainStatus(train))))
        }
        let parameters = Synchronizer.Parameters(skip: preference.skip, timeout: preference.timeout)
        performSynchronizer(synchronizer.handle(.follow(peer.address, parameters), at: now), at: now)
        updateScanner(at: now)
    }

    func endSynchronization(_ peer: PeerID, for key: RequestKey, at now: Instant) {
        for entry in requests.open where entry.key.client == key.client && entry.isSynchronize(to: peer) {
            fail(entry.key, .cancelled)
        }
        updateClient(key.client) { $0.trains.remove(peer) }
        letGo(ofTrains: [peer], at: now)
        finish(key, .success(.done))
    }

    /// A client does not follow these any more: whoever nobody else follows goes.
    func letGo(ofTrains peers: Set<PeerID>, at now: Instant) {
        for peer in peers.sorted() where !clients.contains(where: { $0.trains.contains(peer) }) {
            performSynchronizer(synchronizer.handle(.end(peer.address), at: now), at: now)
        }
        if !peers.isEmpty { updateScanner(at: now) }
    }

    /// While somebody is looked for, advertisements are asked whether they tell of a train.
    func noteTrains(in reports: ExtendedAdvertisingReports, at now: Instant) {
        for report in reports where report.periodicInterval != 0 {
            guard let address = report.address else { continue }
            let advertiser = PeriodicAdvertiser(address: address, identifier: report.identifier)
            let device = peer(behind: address).address
            performSynchronizer(
                synchronizer.handle(
                    .heard(device, advertiser: advertiser, interval: report.periodicInterval), at: now), at: now)
        }
    }

    func performSynchronizer(_ effects: [Synchronizer.Effect], at now: Instant) {
        for effect in effects {
            switch effect {
            case .command(let packet): submit(packet, for: .synchronizer, at: now)
            case .established(let device, let train):
                endSynchronizeRequests(for: device, .success(.synchronized(TrainStatus(train))))
                updateScanner(at: now)
            case .failed(let device, let failure):
                for index in clients.indices { clients[index].trains.remove(PeerID(device)) }
                endSynchronizeRequests(for: device, .failure(HostFailure(failure)))
                updateScanner(at: now)
            case .report(let device, let data, let rssi, let txPower):
                let report = PeriodicReport(data: data, rssi: rssi, transmitPower: txPower)
                let peer = PeerID(device)
                for client in clients where client.trains.contains(peer) {
                    client.deliver(.periodicReport(peer, report))
                }
            case .lost(let device):
                for index in clients.indices where clients[index].trains.remove(PeerID(device)) != nil {
                    clients[index].gate.pass(.synchronizationLost(PeerID(device)))
                }
            }
        }
    }

    private func endSynchronizeRequests(for device: DeviceAddress, _ result: Result<HostAnswer, HostFailure>) {
        for entry in requests.open where entry.isSynchronize(to: PeerID(device)) { finish(entry.key, result) }
    }

    /// The radio goes: requests have failed already, and what was followed is lost.
    func endTrains() {
        let old = synchronizer
        synchronizer = Synchronizer()
        for index in clients.indices {
            let followed = clients[index].trains.sorted().filter { old.train(of: $0.address) != nil }
            clients[index].trains = []
            for peer in followed { clients[index].gate.pass(.synchronizationLost(peer)) }
        }
    }
}

extension RequestRegistry.Entry {
    fileprivate func isSynchronize(to peer: PeerID) -> Bool {
        if case .synchronize(peer, _) = request { true } else { false }
    }
}

extension TrainStatus {
    fileprivate init(_ event: LEPeriodicAdvertisingSyncEstablished) {
        self.init(interval: event.interval, phy: event.phy.rawValue)
    }
}
