import Backends
import BluetoothTypes
import HostInterface

/// A remote device whose services this device uses.
///
/// Any thread may call it; the delegate is called on the manager's queue. Commands need a link: without one they are
/// dropped, and reported as a misuse in the log.
// `@unchecked`: `line.lock` guards the variables.
open class CBPeripheral: CBPeer, @unchecked Sendable {
    let line: HostLine
    weak var manager: CBCentralManager?
    weak var currentDelegate: (any CBPeripheralDelegate)?
    var advertisedName: String?
    /// The GAP Device Name, once the system has read it; it wins over the advertised one.
    var systemName: String?
    /// Whether an earlier run's name has been looked for.
    var hasLookedForName = false
    var lastRSSI: NSNumber?

    // The link: see Link.swift.
    var linkState = CBPeripheralState.disconnected { didSet { line.lock.markChanged() } }
    /// Which link or attempt it is: what was asked on an earlier one is answered no more.
    var linkNumber = 0
    var options = ConnectOptions(startDelay: .zero, reconnects: false) { didSet { line.lock.markChanged() } }
    /// What to do when the running disconnection is over.
    var nextConnection: ConnectOptions? { didSet { line.lock.markChanged() } }
    /// Whether the app has yet to hear that the link, or the attempt, is over.
    var owesEnd = false { didSet { line.lock.markChanged() } }
    /// Whether it was restored to be connected when the radio is on, and then what of: see RestoredLink.swift.
    var isAwaitingRadio = false
    var restoredLink: RestoredLink?
    var mtu = 0
    var writes = SendQueue()
    /// Whether a value has come for a delegate that has no method for it.
    var hasUnheardValue = false

    // What was discovered, by handle: see Discovery.swift.
    var foundServices: [CBService]? { didSet { line.lock.markChanged() } }
    var knownServices: [UInt16: CBService] = [:]
    var knownCharacteristics: [AttributeHandle: CBCharacteristic] = [:]

    /// The adapter that met it, until the meeting is kept beyond the run of the program.
    private var meeting: DeviceAddress?

    init(peer: PeerID, identifier: UUID, manager: CBCentralManager) {
        line = manager.line
        meeting = manager.line.adapterAddress
        self.manager = manager
        super.init(peer: peer, identifier: identifier)
    }

    deinit { manager?.released(self) }

    /// The name of this device on this host: the same at each meeting, another on each host, and not its address.
    open override var identifier: UUID {
        line.lock.withLock { keepMeeting() }
        return super.identifier
    }

    /// A program that has been told the identifier may ask for the device by it in its next run; one that has passed
    /// by a device without a look at it will not, and there may be many of them. Called with the lock held.
    func keepMeeting() {
        guard let adapter = meeting else { return }
        meeting = nil
        line.program.peers.met(peer, at: adapter)
    }

    /// Who is told. Held weakly.
    open weak var delegate: (any CBPeripheralDelegate)? {
        get { line.lock.withLock { currentDelegate } }
        set { line.lock.withLock { currentDelegate = newValue } }
    }

    /// The device's own name, as the system has read it from the device, or else as it advertises.
    open var name: String? { line.lock.withLock { currentName } }

    /// What ``readRSSI()`` last found, in dBm. A leftover of an old API.
    @available(iOS, introduced: 5.0, deprecated: 8.0)
    @available(macOS, introduced: 10.7, deprecated: 10.13)
    open var rssi: NSNumber? { line.lock.withLock { lastRSSI } }

    /// Changes just before the manager's delegate is told.
    open var state: CBPeripheralState { line.lock.withLock { linkState } }

    /// The services, as far as discovered on this link, in the order of the peer; `nil` before.
    open var services: [CBService]? { line.lock.withLock { foundServices } }

    /// Whether there is room for a write without response. If not, `peripheralIsReady(toSendWriteWithoutResponse:)`
    /// tells when.
    open var canSendWriteWithoutResponse: Bool { line.lock.withLock { linkState == .connected && !writes.isFull } }

    /// Only Apple's phones have this service: always false.
    open var ancsAuthorized: Bool { false }

    /// Measures the signal strength. Answer: `didReadRSSI`.
    open func readRSSI() {
        checkListener("Reading RSSI for peripheral", "peripheral:didReadRSSI:error:")
        ask(.readRSSI(peer)) { peripheral, answer in
            switch answer {
            case .success(.rssi(let strength)):
                let number = NSNumber(value: strength)
                peripheral.line.lock.withLock { peripheral.lastRSSI = number }
                peripheral.delegate?.peripheral(peripheral, didReadRSSI: number, error: nil)
            default:
                let unavailable = NSNumber(value: 127)
                peripheral.delegate?.peripheral(peripheral, didReadRSSI: unavailable, error: answer.error)
            }
        }
    }

    /// How many octets one write can carry: 512 with response, for the system splits it; ATT_MTU - 3 without, and 0
    /// without a link.
    open func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
        line.lock.withLock {
            guard linkState == .connected else { return 0 }
            return type == .withResponse ? longestValue : mtu - 3
        }
    }

    /// Finds services. Answer: `didDiscoverServices`.
    ///
    /// - Parameter serviceUUIDs: `nil` or an empty list means all. Generic Access and Generic Attribute are the
    ///   system's own and never appear.
    open func discoverServices(_ serviceUUIDs: [CBUUID]?) { findServices(serviceUUIDs) }

    /// Finds the services that `service` includes. Answer: `didDiscoverIncludedServicesFor`.
    open func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService) {
        findIncludedServices(includedServiceUUIDs, of: service)
    }

    /// Finds the characteristics of `service`. Answer: `didDiscoverCharacteristicsFor`.
    ///
    /// - Parameters:
    ///   - characteristicUUIDs: `nil` or an empty list means all.
    ///   - service: one that has been discovered on this link.
    open func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
        findCharacteristics(characteristicUUIDs, of: service)
    }

    /// Finds the descriptors of `characteristic`. Answer: `didDiscoverDescriptorsFor`.
    open func discoverDescriptors(for characteristic: CBCharacteristic) { findDescriptors(of: characteristic) }

    /// Reads the value, however long. Answer: `didUpdateValueFor`.
    open func readValue(for characteristic: CBCharacteristic) { read(characteristic) }

    /// Writes the value.
    ///
    /// - Parameters:
    ///   - data: at most ``maximumWriteValueLength(for:)`` octets.
    ///   - characteristic: one that has been discovered on this link.
    ///   - type: with response, `didWriteValueFor` answers. Without, nothing does: the write is dropped, with a line
    ///     in the log, if the characteristic does not admit it or there is no room.
    open func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
        write(data, to: characteristic, type)
    }

    /// Switches notifications on or off, or indications if the characteristic has only these. Answer:
    /// `didUpdateNotificationStateFor`, before this returns if there is nothing to change.
    open func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
        subscribe(enabled, to: characteristic)
    }

    /// Reads the descriptor. Answer: `didUpdateValueFor`.
    open func readValue(for descriptor: CBDescriptor) { read(descriptor) }

    /// Writes the descriptor, with response. Answer: `didWriteValueFor`.
    ///
    /// The Client Characteristic Configuration (0x2902) belongs to ``setNotifyValue(_:for:)``; writing it here is a
    /// mistake in the program and ends it.
    open func writeValue(_ data: Data, for descriptor: CBDescriptor) { write(data, to: descriptor) }

    /// Opens a stream to the device. Answer: `didOpen`, with a channel that the app must hold, or an error.
    ///
    /// - Parameter PSM: the number under which the device offers it, often the value of the characteristic
    ///   ``CBUUIDL2CAPPSMCharacteristicString``.
    open func openL2CAPChannel(_ PSM: CBL2CAPPSM) { openChannel(PSM) }

    /// Measures the distance. No radio here can: `didCompleteChannelSoundingSession` says so.
    open func startChannelSoundingSession(_ configuration: CBChannelSoundingSessionConfiguration) {
        answerUnsupported {
            $0.delegate?.peripheral($0, didCompleteChannelSoundingSession: CBError(.operationNotSupported))
        }
    }

    /// Ends a measurement; there is none.
    open func cancelChannelSoundingSession() {}

    open override var description: String {
        let state = ["disconnected", "connecting", "connected", "disconnecting"][self.state.rawValue]
        return "<CBPeripheral: \(address(of: self)), identifier = \(identifier.uuidString), "
            + "name = \(name ?? "(null)"), mtu = \(line.lock.withLock { mtu }), state = \(state)>"
    }
}

/// How things stand between this app and a device.
public enum CBPeripheralState: Int, Sendable {
    /// There is no link and no attempt.
    case disconnected = 0
    /// An attempt runs, for as long as it takes.
    case connecting = 1
    /// The link is up: services can be found and used.
    case connected = 2
    /// The link is being ended.
    case disconnecting = 3
}

/// Whether the peer confirms a write.
public enum CBCharacteristicWriteType: Int, Sendable {
    /// It does: `didWriteValueFor` follows.
    case withResponse = 0
    /// It does not, and no callback follows.
    case withoutResponse = 1
}

/// The longest value that an attribute can have. Core 6.0, Vol 3, Part F, 3.2.9.
let longestValue = 512
