import BluetoothTypes
import EventLoop
import GAP
import HCI
import HostInterface

/// A client's running scan.
struct ClientScan {
    let filter: ScanFilter
    var duplicates = DiscoveryFilter()

    init(_ filter: ScanFilter) { self.filter = filter }

    /// Whether the client wants to hear of it.
    mutating func wants(_ report: ScanReport) -> Bool {
        guard filter.services.isEmpty && filter.solicitedServices.isEmpty || matches(report) else { return false }
        return filter.allowDuplicates || duplicates.passes(report)
    }

    /// The filter is an OR over the service lists of both packets (B-C2).
    private func matches(_ report: ScanReport) -> Bool {
        let data = AdvertisingData(advertisement: report.advertisingData, scanResponse: report.scanResponseData)
        return data.services.contains { filter.services.contains($0) }
            || data.solicitedServices.contains { filter.solicitedServices.contains($0) }
    }
}

// MARK: - Scanning

extension Host {
    func startScan(_ filter: ScanFilter, for key: RequestKey, at now: Instant) {
        updateClient(key.client) { $0.scan = ClientScan(filter) }
        scanRequests.append(key)
        updateScanner(at: now)
    }

    func stopScan(for key: RequestKey, at now: Instant) {
        updateClient(key.client) { $0.scan = nil }
        scanRequests.append(key)
        updateScanner(at: now)
    }

    /// The controller scans while any client does.
    func updateScanner(at now: Instant) {
        guard let capabilities else { return }
        var configuration: Scanner.Configuration?
        if clients.contains(where: { $0.scan != nil }) {
            configuration = Scanner.Configuration()
            configuration?.ownAddressType = capabilities.ownAddressType
        }
        performScanner(scanner.handle(.want(configuration), at: now), at: now)
    }

    func performScanner(_ effects: [Scanner.Effect], at now: Instant) {
        for effect in effects {
            switch effect {
            case .command(let packet): submit(packet, for: .scanner, at: now)
            case .started, .stopped: endScanRequests(.success(.done))
            case .failed(let failure):
                for index in clients.indices { clients[index].scan = nil }
                endScanRequests(.failure(HostFailure(failure)))
            case .report(let report): deliver(report)
            }
        }
    }

    private func endScanRequests(_ result: Result<HostAnswer, HostFailure>) {
        let ended = scanRequests
        scanRequests = []
        for key in ended { finish(key, result) }
    }

    private func deliver(_ report: ScanReport) {
        for index in clients.indices {
            guard clients[index].scan?.wants(report) == true else { continue }
            clients[index].deliver(
                .discovered(
                    Discovery(
                        peer: PeerID(report.address), advertisingData: report.advertisingData,
                        scanResponseData: report.scanResponseData, isConnectable: report.isConnectable,
                        rssi: report.rssi)))
        }
    }
}

// MARK: - Advertising

extension Host {
    func startAdvertising(_ content: AdvertisementContent, for key: RequestKey, at now: Instant) {
        guard client(key.client)?.advertisement == nil else { return fail(key, .alreadyAdvertising) }
        updateClient(key.client) { $0.advertisement = content }
        advertisingRequests.append(key)
        updateAdvertiser(at: now)
    }

    func stopAdvertising(for key: RequestKey, at now: Instant) {
        updateClient(key.client) { $0.advertisement = nil }
        advertisingRequests.append(key)
        updateAdvertiser(at: now)
    }

    /// What is on the air is what all clients want to be seen: the first name, and all services.
    func updateAdvertiser(at now: Instant) {
        guard let capabilities else { return }
        var configuration: Advertiser.Configuration?
        if let layout = advertisingLayout {
            var wanted = Advertiser.Configuration()
            wanted.advertisingData = layout.advertisingData
            wanted.scanResponseData = layout.scanResponseData
            wanted.isConnectable = clients.contains { $0.advertisement?.isConnectable == true }
            wanted.ownAddressType = capabilities.ownAddressType
            configuration = wanted
        }
        performAdvertiser(advertiser.handle(.want(configuration), at: now), at: now)
    }

    private var advertisingLayout: AdvertisingLayout? {
        let contents = clients.compactMap(\.advertisement)
        guard !contents.isEmpty else { return nil }
        var services: [BluetoothUUID] = []
        for service in contents.flatMap(\.services) where !services.contains(service) { services.append(service) }
        return AdvertisingLayout(
            localName: contents.lazy.compactMap(\.localName).first, services: services,
            manufacturerData: contents.lazy.compactMap(\.manufacturerData).first)
    }

    func performAdvertiser(_ effects: [Advertiser.Effect], at now: Instant) {
        for effect in effects {
            switch effect {
            case .command(let packet): submit(packet, for: .advertiser, at: now)
            case .started:
                guard let layout = advertisingLayout else { continue }
                let placement = AdvertisementPlacement(
                    advertisingData: layout.advertisingData, scanResponseData: layout.scanResponseData,
                    omittedServices: layout.omittedServices, isNameShortened: layout.isNameShortened)
                endAdvertisingRequests(.success(.advertising(placement)))
            case .stopped: endAdvertisingRequests(.success(.done))
            case .failed(let failure):
                for index in clients.indices { clients[index].advertisement = nil }
                endAdvertisingRequests(.failure(HostFailure(failure)))
            }
        }
    }

    /// A request to stop is done whatever the others' requests come to.
    private func endAdvertisingRequests(_ result: Result<HostAnswer, HostFailure>) {
        let ended = advertisingRequests
        advertisingRequests = []
        for key in ended { finish(key, requests.request(key) == .stopAdvertising ? .success(.done) : result) }
    }
}

extension HostFailure {
    init(_ failure: CommandFailure) {
        self = failure.error.map { .controller(status: $0.rawValue) } ?? .timedOut
    }
}
