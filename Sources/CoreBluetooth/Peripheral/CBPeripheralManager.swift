import BluetoothTypes
import HostInterface

/// This device as a peripheral: it publishes services, advertises them, and serves the centrals that come.
///
/// The order is: ``add(_:)`` each service, wait for `didAdd`, then ``startAdvertising(_:)``. Any thread may call;
/// the delegate is called on the queue given at `init`.
// `@unchecked`: `line.lock` guards the variables.
open class CBPeripheralManager: CBManager, @unchecked Sendable {
    weak var currentDelegate: (any CBPeripheralManagerDelegate)?
    var advertising = Advertising.off { didSet { line.lock.markChanged() } }
    /// What is advertised, or was last.
    var advertisement: AdvertisementContent? { didSet { line.lock.markChanged() } }
    /// Counts the starts of advertising.
    var advertisingNumber = 0
    /// Which of them the app was told of.
    var announcedAdvertising = 0 { didSet { line.lock.markChanged() } }
    /// Whether it is of an earlier run of the program, and not on the air again.
    var isAdvertisingRestored = false
    /// Services that the app has added, published or about to be.
    var localServices: [LocalService] = [] { didSet { line.lock.markChanged() } }
    var lastAdded = 0
    /// By their numbers: services that were removed before the host had answered to their adding.
    var withdrawnWhileAdding: Set<Int> = []
    /// Published characteristics, by the handle of their value, and the reverse.
    var characteristics: [AttributeHandle: CBMutableCharacteristic] = [:]
    var handles: [ObjectIdentifier: AttributeHandle] = [:]
    var centrals: [PeerID: WeakCentral] = [:]
    /// Who is not subscribed any more, and the app has yet to hear of it.
    var leavingSubscribers: [Subscription] = [] { didSet { line.lock.markChanged() } }
    /// Who was subscribed in an earlier run of the program.
    var restoredSubscribers: [Subscription] = []
    var updates = SendQueue()
    /// Whether the app was told to wait before the next update.
    var owesReadiness = false
    /// Whether what was published before went with the radio.
    var mustClearDatabase = false
    var publishedChannels: Set<CBL2CAPPSM> = []
    var lostChannels: Set<CBL2CAPPSM> = []

    /// A manager without a delegate; set one soon.
    public convenience init() { self.init(delegate: nil, queue: nil, options: nil) }

    /// - Parameters:
    ///   - delegate: who is told. Held weakly.
    ///   - queue: where the delegate is called; `nil` means the main queue, and in a simulated world the world's own
    ///     loop.
    public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?) {
        self.init(delegate: delegate, queue: queue, options: nil)
    }

    /// - Parameters:
    ///   - delegate: who is told. Held weakly.
    ///   - queue: where the delegate is called; `nil` means the main queue, and in a simulated world the world's own
    ///     loop.
    ///   - options: by the keys `CBPeripheralManagerOption…`. With a restore identifier its services and its
    ///     advertising are found again by the next run of the program: see `willRestoreState`.
    public init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil) {
        super.init(line: HostLine(queue: queue))
        currentDelegate = delegate
        restoreState(options)
        line.open { [weak self] event in self?.handle(event) }
    }

    deinit { warnOfEnd() }

    /// Who is told. Held weakly.
    open weak var delegate: (any CBPeripheralManagerDelegate)? {
        get { line.lock.withLock { currentDelegate } }
        set { line.lock.withLock { currentDelegate = newValue } }
    }

    /// Whether this manager advertises. While the radio is off it does not, and goes on when the radio is back.
    open var isAdvertising: Bool {
        line.lock.withLock { advertising == .on && (line.isRestoring || line.state == .poweredOn) }
    }

    /// The old form of `CBManager.authorization`.
    @available(iOS, introduced: 7.0, deprecated: 13.0)
    @available(macOS, introduced: 10.9, deprecated: 10.15)
    open class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus {
        switch CBManager.authorization {
        case .notDetermined: .notDetermined
        case .restricted: .restricted
        case .denied: .denied
        case .allowedAlways: .authorized
        }
    }

    /// Makes this device seen. Answer: `peripheralManagerDidStartAdvertising`.
    ///
    /// - Parameter advertisementData: a `String` for `CBAdvertisementDataLocalNameKey` and `[CBUUID]` for
    ///   `CBAdvertisementDataServiceUUIDsKey`; other keys are ignored, with a line in the log. They share the 31
    ///   octets of an advertisement, and the name may move to the 31 of the scan response. What does not fit is cut
    ///   or left out, and the log says what.
    open func startAdvertising(_ advertisementData: [String: Any]?) {
        guard line.isPoweredOn(for: self) else { return }
        line.checkListener(delegate, of: self, "starts advertising")
        beginAdvertising(advertisementData ?? [:])
    }

    /// Ends advertising. Nothing answers.
    open func stopAdvertising() {
        guard line.isPoweredOn(for: self) else { return }
        line.lock.withLock {
            guard advertising != .off else { return }
            advertising = .off
            line.ask(.stopAdvertising)
        }
    }

    /// Asks for a pace of the link to `central`: low is every 15 ms, medium every 30 to 60 ms, high every 100 to
    /// 200 ms. The central may refuse.
    open func setDesiredConnectionLatency(
        _ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral
    ) {
        guard line.isPoweredOn(for: self) else { return }
        line.ask(.updateConnectionParameters(central.peer, latency.preference))
    }

    /// Publishes a service. Answer: `didAdd`. What is changed in it afterwards has no effect.
    ///
    /// A service is refused with `CBError.uuidNotAllowed` if it is the system's own (0x1800, 0x1801), and with
    /// `CBError.invalidParameters` if it contradicts itself; the log says how.
    open func add(_ service: CBMutableService) {
        guard line.isPoweredOn(for: self) else { return }
        line.checkListener(delegate, of: self, "adds a service")
        publish(service)
    }

    /// Takes a service back.
    open func remove(_ service: CBMutableService) {
        guard line.isPoweredOn(for: self) else { return }
        withdraw(service)
    }

    /// Takes all services back.
    open func removeAllServices() {
        guard line.isPoweredOn(for: self) else { return }
        line.lock.withLock {
            forgetServices()
            line.ask(.removeAllServices)
        }
    }

    /// Answers a read or a write: exactly once, with the request, or of a write with its first one or the one that
    /// fails. To a write without response this does nothing.
    ///
    /// - Parameters:
    ///   - request: one that the delegate was given, not a copy.
    ///   - result: `.success`, or what the central gets as its error; 0x80...0x9F are free for the app.
    open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
        guard line.isPoweredOn(for: self) else { return }
        answer(request, result)
    }

    /// Notifies centrals of a new value.
    ///
    /// - Parameters:
    ///   - value: cut to what each central can take; see ``CBCentral/maximumUpdateValueLength``.
    ///   - characteristic: a published one, which keeps its own value.
    ///   - centrals: of the subscribed ones; `nil` means all.
    /// - Returns: false if there is no room: nothing was sent, and `peripheralManagerIsReady(toUpdateSubscribers:)`
    ///   tells when to try again.
    @discardableResult
    open func updateValue(
        _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
    ) -> Bool {
        guard line.isPoweredOn(for: self) else { return false }
        return update(value, for: characteristic, to: centrals)
    }

    /// Offers L2CAP channels. Answer: `didPublishL2CAPChannel` with the number under which centrals open them, which
    /// the app tells them, often by the characteristic ``CBUUIDL2CAPPSMCharacteristicString``. Each that one opens
    /// comes by `didOpen`, and the app must hold it.
    ///
    /// - Parameter encryptionRequired: whether the link must be encrypted.
    open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
        guard line.isPoweredOn(for: self) else { return }
        publishChannel(requiresEncryption: encryptionRequired)
    }

    /// Ends an offer, and the channels that were opened by it. Answer: `didUnpublishL2CAPChannel`.
    open func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM) {
        guard line.isPoweredOn(for: self) else { return }
        unpublishChannel(PSM)
    }

    /// Calls back later, on the queue.
    func later(_ call: @escaping @Sendable (CBPeripheralManager) -> Void) {
        line.later { [weak self] in self.map(call) }
    }

    open override var description: String { "<CBPeripheralManager: \(address(of: self))>" }
}

/// How fast a link to a central shall be.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
    /// Every 15 ms: fast, at the cost of both batteries.
    case low = 0
    /// Every 30 to 60 ms.
    case medium = 1
    /// Every 100 to 200 ms: slow and thrifty.
    case high = 2
}

extension CBPeripheralManagerConnectionLatency {
    /// Slots of 1.25 ms and a supervision timeout of 4 s, or 6 s for the slow one.
    fileprivate var preference: ConnectionPreference {
        switch self {
        case .low: ConnectionPreference(intervalSlots: 12...12, latency: 0, supervisionTimeout: 400)
        case .medium: ConnectionPreference(intervalSlots: 24...48, latency: 0, supervisionTimeout: 400)
        case .high: ConnectionPreference(intervalSlots: 80...160, latency: 0, supervisionTimeout: 600)
        }
    }
}
