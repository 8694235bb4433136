public import CoreBluetooth

/// Somebody who looks for devices.
// `@unchecked`: `central.lock` guards what changes.
final class Scan: @unchecked Sendable {
    let services: [CBUUID]?
    let duplicates: Bool
    private let deliver: (Advertisement) -> Void
    let fail: (any Error) -> Void
    /// What was reported last, for scans that want each report once beside one that wants them all.
    private var reported: [UUID: Advertisement] = [:]
    private static let memory = 4096

    init(
        services: [CBUUID]?, duplicates: Bool, deliver: @escaping (Advertisement) -> Void,
        fail: @escaping (any Error) -> Void
    ) {
        self.services = services.flatMap { $0.isEmpty ? nil : $0 }
        self.duplicates = duplicates
        self.deliver = deliver
        self.fail = fail
    }

    func take(_ advertisement: Advertisement, from settings: ScanSettings?) {
        if let services, settings?.services == nil || (settings?.services?.count ?? 0) > services.count {
            guard advertisement.services.contains(where: services.contains) else { return }
        }
        if !duplicates, settings?.duplicates == true {
            let identifier = advertisement.peripheral.identifier
            if let known = reported[identifier], known.sameContent(as: advertisement) { return }
            if reported.count >= Self.memory { reported.removeAll() }
            reported[identifier] = advertisement
        }
        deliver(advertisement)
    }
}

struct ScanSettings: Equatable {
    /// `nil` is all.
    var services: Set<CBUUID>?
    var duplicates: Bool
}

extension Central {
    /// Looks for devices, until the stream ends. Several scans may run; the radio does what all of them need.
    ///
    /// - Parameters:
    ///   - services: only devices that list one of these; `nil` means all.
    ///   - duplicates: whether to report every packet, and not each device once for what it tells.
    ///   - buffer: what becomes of reports that are not read yet.
    /// - Throws: ``ToolkitError/radioUnavailable(_:)`` if the radio is not on; so does the stream when it goes off.
    public func scan(
        for services: [CBUUID]? = nil, duplicates: Bool = false, buffer: BufferPolicy = .newest(256)
    ) throws -> Events<Advertisement> {
        let identity = ScanIdentity()
        let (events, source) = EventSource<Advertisement>.make(buffer) { [weak self] in
            if let scan = identity.scan { self?.end(scan) }
        }
        let scan = Scan(services: services, duplicates: duplicates, deliver: source.send, fail: source.finish)
        identity.scan = scan
        try begin(scan)
        return events
    }

    /// The first device that matches, as it was seen.
    public func first(
        for services: [CBUUID]? = nil, within limit: Duration? = defaultLimit,
        where matches: @escaping @Sendable (Advertisement) -> Bool = { _ in true }
    ) async throws -> Advertisement {
        try Task.checkCancellation()
        let call = Call<Advertisement>()
        let scan = Scan(services: services, duplicates: false) { advertisement in
            if matches(advertisement) { call.end(.success(advertisement)) }
        } fail: {
            call.fail($0)
        }
        try begin(scan)
        defer { end(scan) }
        return try await call.value(within: limit, by: time)
    }

    private func begin(_ scan: Scan) throws {
        try lock.withLock {
            guard state == .poweredOn else { throw ToolkitError.radioUnavailable(state) }
            scans.append(scan)
            // A scan that comes in addition wants to hear what the radio has reported already.
            updateScan(isNew: true)
        }
    }

    func end(_ scan: Scan) {
        lock.withLock {
            guard let index = scans.firstIndex(where: { $0 === scan }) else { return }
            scans.remove(at: index)
            updateScan(isNew: false)
        }
    }

    private func updateScan(isNew: Bool) {
        guard state == .poweredOn else { return }
        guard !scans.isEmpty else {
            if currentScan != nil { manager.stopScan() }
            currentScan = nil
            return
        }
        let all = scans.contains { $0.services == nil }
        let settings = ScanSettings(
            services: all ? nil : Set(scans.flatMap { $0.services ?? [] }),
            duplicates: scans.contains(where: \.duplicates))
        guard isNew || settings != currentScan else { return }
        currentScan = settings
        manager.scanForPeripherals(
            withServices: settings.services?.sorted { $0.uuidString < $1.uuidString },
            options: [CBCentralManagerScanOptionAllowDuplicatesKey: settings.duplicates])
    }

    func discovered(_ advertisement: Advertisement) {
        let (scans, settings) = lock.withLock { (self.scans, currentScan) }
        for scan in scans { scan.take(advertisement, from: settings) }
    }

    /// CoreBluetooth goes on with the scan that ran when the radio went; but whoever wanted it was told of its end.
    func stopForgottenScan() {
        if scans.isEmpty, manager.isScanning { manager.stopScan() }
    }

    /// The radio has gone, and with it all scans.
    func failScans(_ error: any Error) {
        let ended = scans
        scans.removeAll()
        currentScan = nil
        for scan in ended { scan.fail(error) }
    }
}

/// A stream's scan, for the stream's own end.
// `@unchecked`: set once, before the stream is handed out.
private final class ScanIdentity: @unchecked Sendable {
    weak var scan: Scan?
}
