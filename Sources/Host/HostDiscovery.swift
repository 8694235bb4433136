import BluetoothTypes
import EventLoop
import GAP
import HCI
import HostInterface

/// A client's running scan.
struct ClientScan {
    let filter: ScanFilter
    var duplicates = DiscoveryFilter()
    // What the system's rules make of it: see HostPolicy.swift.
    var isPaused = false
    var isInBackground = false
    var readsOverflowArea = false

    init(_ filter: ScanFilter) { self.filter = filter }

    /// - Returns: `nil` if the client does not want to hear of it; else the services that it looks for and that may
    ///   be in the device's overflow area.
    mutating func take(_ report: ScanReport) -> [BluetoothUUID]? {
        guard !isPaused else { return nil }
        var overflow: [BluetoothUUID] = []
        if !filter.isEmpty {
            let data = AdvertisingData(advertisement: report.advertisingData, scanResponse: report.scanResponseData)
            if readsOverflowArea { overflow = overflowServices(data) }
            guard matches(data) || !overflow.isEmpty else { return nil }
        }
        let isNews = filter.allowDuplicates && !isInBackground || duplicates.passes(report)
        return isNews ? overflow : nil
    }

    /// The filter is an OR over the service lists of both packets (B-C2).
    private func matches(_ data: AdvertisingData) -> Bool {
        data.services.contains { filter.services.contains($0) }
            || data.solicitedServices.contains { filter.solicitedServices.contains($0) }
    }

    private func overflowServices(_ data: AdvertisingData) -> [BluetoothUUID] {
        for entry in data.manufacturerData {
            guard let area = OverflowArea(manufacturerData: entry.octets) else { continue }
            return filter.services.filter { area.mayContain($0) }
        }
        return []
    }
}

// MARK: - Scanning

extension Host {
    func startScan(_ filter: ScanFilter, for key: RequestKey, at now: Instant) {
        updateClient(key.client) { $0.scan = ClientScan(filter) }
        scanRequests.append(key)
        adviseOnScan(filter)
        updateScanner(at: now)
    }

    func stopScan(for key: RequestKey, at now: Instant) {
        updateClient(key.client) { $0.scan = nil }
        scanRequests.append(key)
        updateScanner(at: now)
    }

    /// The controller scans while any client does, and may.
    func updateScanner(at now: Instant) {
        guard capabilities != nil, addressChange == nil else { return }
        var configuration =
            scanConfiguration() ?? (isSearching || synchronizer.isLooking ? Scanner.Configuration() : nil)
        configuration?.ownAddressType = ownAddressType
        configuration?.isExtended = usesExtendedCommands
        configuration?.hearsCoded = capabilities?.features.contains(.codedPHY) == true
        performScanner(scanner.handle(.want(configuration), at: now), at: now)
    }

    func performScanner(_ effects: [Scanner.Effect], at now: Instant) {
        for effect in effects {
            switch effect {
            case .command(let packet): submit(packet, for: .scanner, at: now)
            // A pause for a new address is nobody's wish.
            case .stopped where addressChange != nil: break
            case .started, .stopped: endScanRequests(.success(.done))
            case .failed(let failure):
                for index in clients.indices { clients[index].scan = nil }
                endScanRequests(.failure(HostFailure(failure)))
            case .report(let report): deliver(report, at: now)
            }
        }
    }

    private func endScanRequests(_ result: Result<HostAnswer, HostFailure>) {
        let ended = scanRequests
        scanRequests = []
        for key in ended { finish(key, result) }
    }

    private func deliver(_ report: ScanReport, at now: Instant) {
        let peer = peer(behind: report.address)
        heard(report, of: peer, at: now)
        for index in clients.indices {
            guard let overflow = clients[index].scan?.take(report) else { continue }
            clients[index].gate.pass(
                .discovered(
                    Discovery(
                        peer: peer, advertisingData: report.advertisingData,
                        scanResponseData: report.scanResponseData, isConnectable: report.isConnectable,
                        rssi: report.rssi, overflowServices: overflow)))
        }
    }
}

// MARK: - Advertising

extension Host {
    func startAdvertising(_ content: AdvertisementContent, for key: RequestKey, at now: Instant) {
        guard client(key.client)?.advertisement == nil else { return fail(key, .alreadyAdvertising) }
        updateClient(key.client) { $0.advertisement = content }
        advertisingRequests.append(key)
        adviseOnAdvertising()
        updateAdvertiser(at: now)
    }

    func stopAdvertising(for key: RequestKey, at now: Instant) {
        updateClient(key.client) { $0.advertisement = nil }
        advertisingRequests.append(key)
        updateAdvertiser(at: now)
    }

    /// What is on the air is what all clients want to be seen: the first name, and all services.
    func updateAdvertiser(at now: Instant) {
        guard capabilities != nil, addressChange == nil else { return }
        var configuration: Advertiser.Configuration?
        if let layout = advertisingLayout {
            var wanted = Advertiser.Configuration()
            wanted.advertisingData = layout.advertisingData
            wanted.scanResponseData = layout.scanResponseData
            wanted.isConnectable = clients.contains { $0.advertisement?.isConnectable == true }
            wanted.ownAddressType = ownAddressType
            wanted.interval = advertisingInterval
            if usesExtendedCommands {
                wanted.extended = Advertiser.Configuration.Extended()
                if ownAddressType == .randomDevice { wanted.extended?.randomAddress = ownAddress }
            }
            configuration = wanted
        }
        performAdvertiser(advertiser.handle(.want(configuration), at: now), at: now)
    }

    private var advertisingLayout: AdvertisingLayout? {
        let contents = clients.compactMap(\.advertisement)
        guard !contents.isEmpty else { return nil }
        var services: [BluetoothUUID] = []
        for service in contents.flatMap(\.services) where !services.contains(service) { services.append(service) }
        return advertisingLayout(contents, services: services)
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
            case .stopped where addressChange != nil: break
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
