public import CoreBluetooth

/// This device as a central, for async code: it scans, and gives out the peripherals that it meets.
///
/// Every call has a deadline, may be cancelled at any moment, and ends exactly once: also when the link or the radio
/// goes, of which CoreBluetooth tells the single calls nothing.
// `@unchecked`: `lock` guards the variables. CoreBluetooth is called with it held, so that what was true when a call
// was decided on is true when it is made; it calls back without any lock of its own held.
public final class Central: @unchecked Sendable {
    /// How long a call may take if it is not told otherwise: as long as a peer may take to answer (Core 6.0, Vol 3,
    /// Part F, 3.3.3).
    public static let defaultLimit = Duration.seconds(30)

    public let time: Timekeeper
    let lock = NSRecursiveLock()
    let manager: CBCentralManager
    /// For tools of this package that do more than Apple's API can.
    package var coreBluetoothManager: CBCentralManager { manager }
    private let relay: CentralRelay
    private var readyCalls: [Call<Void>] = []
    private var stateSources: [EventSource<CBManagerState>] = []
    private var peripherals: [UUID: WeakPeripheral] = [:]
    /// Those whose links are ending: CoreBluetooth wants them kept until they have ended, also when nobody waits.
    private var ending: [RemotePeripheral] = []
    var scans: [Scan] = []
    var currentScan: ScanSettings?

    private struct WeakPeripheral {
        weak var object: RemotePeripheral?
    }

    /// - Parameters:
    ///   - queue: where CoreBluetooth calls back; `nil` means the main queue, and in a simulated world its own loop.
    ///   - time: by which deadlines go.
    ///   - options: of the `CBCentralManager`, by the keys `CBCentralManagerOption…`.
    public init(queue: DispatchQueue? = nil, time: Timekeeper = .continuous, options: [String: Any]? = nil) {
        self.time = time
        relay = CentralRelay()
        manager = CBCentralManager(delegate: relay, queue: queue, options: options)
        relay.central = self
    }

    // MARK: State

    public var state: CBManagerState { manager.state }

    /// The state now, and each change from here on.
    public func states(buffer: BufferPolicy = .newest(16)) -> Events<CBManagerState> {
        let (events, source) = EventSource<CBManagerState>.make(buffer)
        lock.withLock {
            stateSources.append(source)
            source.send(state)
        }
        return events
    }

    /// Returns when the radio is on. Throws ``ToolkitError/radioUnavailable(_:)`` if it is not within `limit`, and at
    /// once if there is none that this program may use.
    public func waitUntilOn(within limit: Duration? = defaultLimit) async throws {
        try Task.checkCancellation()
        let call = Call<Void>()
        lock.withLock {
            if !settle(call) { readyCalls.append(call) }
        }
        do {
            try await call.value(within: limit, by: time)
        } catch {
            lock.withLock { readyCalls.removeAll { $0 === call } }
            throw error is CancellationError ? error : ToolkitError.radioUnavailable(state)
        }
    }

    private func settle(_ call: Call<Void>) -> Bool {
        switch state {
        case .poweredOn: call.succeed()
        case .unsupported, .unauthorized: call.fail(ToolkitError.radioUnavailable(state))
        default: return false
        }
        return true
    }

    func stateChanged() {
        lock.withLock {
            let state = self.state
            for source in stateSources { source.send(state) }
            readyCalls.removeAll { settle($0) }
            guard state != .poweredOn else { return stopForgottenScan() }
            // CoreBluetooth tells no link and no call of its end.
            for peripheral in inOrder { peripheral.radioGone(state) }
            failScans(ToolkitError.radioUnavailable(state))
        }
    }

    /// Those alive, in an order that does not change from run to run.
    private var inOrder: [RemotePeripheral] {
        peripherals.compactMap(\.value.object).sorted { $0.identifier.uuidString < $1.identifier.uuidString }
    }

    // MARK: Peripherals

    /// The device by this name of this host; `nil` if the host does not know it, or the radio is not on.
    public func peripheral(_ identifier: UUID) -> RemotePeripheral? {
        guard state == .poweredOn else { return nil }
        return manager.retrievePeripherals(withIdentifiers: [identifier]).first.map(peripheral)
    }

    /// The devices with one of these services to which this host holds a link, for whichever program.
    public func connectedPeripherals(with services: [CBUUID]) -> [RemotePeripheral] {
        guard state == .poweredOn else { return [] }
        return manager.retrieveConnectedPeripherals(withServices: services).map(peripheral)
    }

    /// The one object that stands for a device in this central.
    func peripheral(_ peripheral: CBPeripheral) -> RemotePeripheral {
        lock.withLock {
            let identifier = peripheral.identifier
            if let known = peripherals[identifier]?.object, known.peripheral === peripheral { return known }
            let made = RemotePeripheral(peripheral, of: self)
            peripherals[identifier] = WeakPeripheral(object: made)
            return made
        }
    }

    func live(_ peripheral: CBPeripheral) -> RemotePeripheral? {
        lock.withLock {
            guard let known = peripherals[peripheral.identifier]?.object, known.peripheral === peripheral
            else { return nil }
            return known
        }
    }

    func note(_ peripheral: RemotePeripheral, isEnding: Bool) {
        lock.withLock {
            ending.removeAll { $0 === peripheral }
            if isEnding { ending.append(peripheral) }
        }
    }

    func released(_ identifier: UUID) {
        lock.withLock {
            if let entry = peripherals[identifier], entry.object == nil { peripherals[identifier] = nil }
        }
    }
}

/// The delegate, which CoreBluetooth holds weakly and calls on its queue.
// `@unchecked`: `central` is set once, before anybody calls.
private final class CentralRelay: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    weak var central: Central?

    func centralManagerDidUpdateState(_ manager: CBCentralManager) { central?.stateChanged() }

    func centralManager(
        _ manager: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard let central else { return }
        central.discovered(Advertisement(of: central.peripheral(peripheral), advertisementData, rssi: RSSI))
    }

    func centralManager(_ manager: CBCentralManager, didConnect peripheral: CBPeripheral) {
        central?.live(peripheral)?.connected()
    }

    func centralManager(
        _ manager: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
        central?.live(peripheral)?.ended(error.map { LinkEnd($0) } ?? .notEstablished)
    }

    func centralManager(
        _ manager: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        central?.live(peripheral)?.ended(LinkEnd(error))
    }
}
