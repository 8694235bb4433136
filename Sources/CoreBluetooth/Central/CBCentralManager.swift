import BluetoothTypes
import HostInterface

/// This device as a central: it scans, connects, and uses the services of others.
///
/// Any thread may call it; the delegate is called on the queue given at `init`.
// `@unchecked`: `line.lock` guards the variables.
open class CBCentralManager: CBManager, @unchecked Sendable {
    weak var currentDelegate: (any CBCentralManagerDelegate)?
    /// The scan that the app wants, also while the radio is off.
    var wantedScan: ScanFilter? { didSet { line.lock.markChanged() } }
    /// The peripherals that the app holds, or that wait to be handed to it.
    var peripherals: [PeerID: WeakPeripheral] = [:] { didSet { line.lock.markChanged() } }
    /// What the adapter knows of peers, and the identifiers under which the app asks for them.
    var memory = PeerMemory()
    var recent = RecentDevices()
    var connectionEvents: ConnectionEventFilter?
    var currentDisconnection = DisconnectionDetail(timestamp: 0, isReconnecting: false)

    /// A manager without a delegate; set one soon.
    public convenience init() { self.init(delegate: nil, queue: nil, options: nil) }

    /// - Parameters:
    ///   - delegate: who is told. Held weakly.
    ///   - queue: where the delegate is called; `nil` means the main queue, and in a simulated world the world's own
    ///     loop.
    public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?) {
        self.init(delegate: delegate, queue: queue, options: nil)
    }

    /// - Parameters:
    ///   - delegate: who is told. Held weakly.
    ///   - queue: where the delegate is called; `nil` means the main queue, and in a simulated world the world's own
    ///     loop.
    ///   - options: by the keys `CBCentralManagerOption…`. With a restore identifier its scan and its peripherals are
    ///     found again by the next run of the program: see `willRestoreState`.
    public init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil) {
        super.init(line: HostLine(queue: queue))
        currentDelegate = delegate
        restoreState(options)
        line.open { [weak self] event in self?.handle(event) }
    }

    deinit {
        warnOfEnd()
        for peripheral in peripherals.values { peripheral.object?.radioGone() }
    }

    /// Who is told. Held weakly.
    open weak var delegate: (any CBCentralManagerDelegate)? {
        get { line.lock.withLock { currentDelegate } }
        set { line.lock.withLock { currentDelegate = newValue } }
    }

    /// Whether a scan of this manager is running.
    open var isScanning: Bool { line.lock.withLock { scans } }

    /// The same, for who holds the lock.
    var scans: Bool { wantedScan != nil && (line.isRestoring || line.isOn) }

    /// Whether this device's radio can do all of `features`.
    open class func supports(_ features: CBCentralManager.Feature) -> Bool { features.isEmpty }

    /// The peripherals that this host knows by these identifiers, in the order asked; those unknown are left out.
    open func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
        line.lock.withLock {
            guard line.isPoweredOn(for: self) else { return [] }
            return identifiers.compactMap { identifier in peer(identifier).map { peripheral(for: $0) } }
        }
    }

    /// The peripherals that this host is connected to, for whichever app, and that have one of these services. The
    /// app must still connect to them. An empty list finds none.
    open func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
        let wanted = Set(serviceUUIDs.map(\.bluetoothUUID))
        return line.lock.withLock {
            guard line.isPoweredOn(for: self) else { return [] }
            return memory.identified.filter { !wanted.isDisjoint(with: servicesOfConnected($0)) }
                .map { peripheral(for: $0) }
        }
    }

    /// Starts to look for devices that advertise, or goes on with another filter.
    ///
    /// - Parameters:
    ///   - serviceUUIDs: only devices that list one of these; `nil` and an empty list mean all.
    ///   - options: by the keys `CBCentralManagerScanOption…`.
    open func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
        guard line.isPoweredOn(for: self) else { return }
        line.checkListener(delegate, of: self, "scans for peripherals")
        let solicited = options?[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] as? [CBUUID]
        let filter = ScanFilter(
            services: serviceUUIDs?.map(\.bluetoothUUID) ?? [],
            solicitedServices: solicited?.map(\.bluetoothUUID) ?? [],
            allowDuplicates: flag(CBCentralManagerScanOptionAllowDuplicatesKey, in: options))
        line.lock.withLock {
            wantedScan = filter
            line.ask(.startScan(filter)) { [weak self] answer in self?.scanStarted(filter, answer) }
        }
    }

    /// Stops to look for devices.
    open func stopScan() {
        let wasPoweredOn = line.isPoweredOn(for: self)
        line.lock.withLock {
            // Also while the radio is off: the scan would begin again with it.
            let wasScanning = wantedScan != nil
            wantedScan = nil
            recent.forgetAll()
            if wasPoweredOn && wasScanning { line.ask(.stopScan) }
        }
    }

    /// Connects, however long it takes: an attempt ends with the link, by
    /// ``cancelPeripheralConnection(_:)``, with the last reference to `peripheral`, or when the radio is switched
    /// off.
    ///
    /// - Parameters:
    ///   - peripheral: one of this manager's own.
    ///   - options: by the keys `CBConnectPeripheralOption…`.
    open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
        guard line.isPoweredOn(for: self), owns(peripheral) else { return }
        line.checkListener(delegate, of: self, "connects to a peripheral")
        let wanted = (options?[CBConnectPeripheralOptionStartDelayKey] as? NSNumber)?.doubleValue ?? 0
        // What is no number, or less than nothing, is no delay; and no app waits longer than a year.
        let delay = wanted > 0 ? min(wanted, 365 * 86400) : 0
        peripheral.connect(
            ConnectOptions(
                startDelay: .seconds(delay),
                reconnects: flag(CBConnectPeripheralOptionEnableAutoReconnect, in: options)))
    }

    /// Ends a link, or an attempt. The answer is `didDisconnectPeripheral` without an error.
    open func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
        guard line.isPoweredOn(for: self), owns(peripheral) else { return }
        peripheral.cancelConnection()
    }

    /// Asks to be told when matching devices are connected or disconnected, by whichever app.
    ///
    /// - Parameter options: at most 4 services, or peripherals; `nil` ends it.
    open func registerForConnectionEvents(options: [CBConnectionEventMatchingOption: Any]? = nil) {
        guard line.isPoweredOn(for: self) else { return }
        let services = options?[.serviceUUIDs] as? [CBUUID] ?? []
        if services.count > 4 { line.misuse("\(self) can watch at most 4 services for connection events") }
        line.lock.withLock {
            connectionEvents = options.map { options in
                ConnectionEventFilter(
                    services: Set(services.prefix(4).map(\.bluetoothUUID)),
                    identifiers: Set(options[.peripheralUUIDs] as? [UUID] ?? []))
            }
        }
    }

    open override var description: String { "<CBCentralManager: \(address(of: self))>" }
}

extension CBCentralManager {
    /// What a radio can do beyond the least.
    public struct Feature: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Bluetooth 5's extended advertising, for scanning and connecting.
        public static var extendedScanAndConnect: CBCentralManager.Feature { Self(rawValue: 1 << 0) }
        /// Distance measurement.
        public static var channelSounding: CBCentralManager.Feature { Self(rawValue: 1 << 10) }
    }
}

/// What happened between this host and a device.
public enum CBConnectionEvent: Int, Sendable {
    /// The host is no longer connected to it.
    case peerDisconnected = 0
    /// The host is connected to it.
    case peerConnected = 1
}

/// Which devices' connections an app wants to hear of.
public struct CBConnectionEventMatchingOption: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// `[CBUUID]`, at most 4.
    public static let serviceUUIDs = Self(rawValue: "kCBConnectionEventMatchingOptionServiceUUIDs")
    /// `[UUID]`.
    public static let peripheralUUIDs = Self(rawValue: "kCBConnectionEventMatchingOptionPeripheralUUIDs")
}

/// A `Bool` option, given as a Swift `Bool` or as an `NSNumber`.
func flag(_ key: String, in options: [String: Any]?) -> Bool { (options?[key] as? NSNumber)?.boolValue ?? false }
