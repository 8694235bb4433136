import Backends
import HostInterface
import Simulation

/// The rules that a phone's system imposes on the app. A device has none of them until a test sets one, each in one
/// line:
///
///     phone.permission = .denied
///     phone.backgroundModes = .bluetoothCentral
///     phone.isInBackground = true
///     phone.resetBluetooth()
///
/// What the rules keep from happening without a callback is said in ``BluetoothWorld/reports``.
extension SimulatedDevice {
    /// Whether the app may use Bluetooth.
    public enum Permission: Sendable {
        /// The question is on the screen: the state stays `.unknown` until it is answered by another value.
        case notDetermined
        /// Forbidden by whoever manages the device: `.unauthorized`.
        case restricted
        /// Forbidden by the person: `.unauthorized`.
        case denied
        /// The person has allowed it, which is how a device begins.
        case allowed
    }

    /// In which roles the app goes on in the background: `UIBackgroundModes` of its Info.plist.
    public struct BackgroundModes: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `bluetooth-central`: the app goes on as a central.
        public static let bluetoothCentral = BackgroundModes(rawValue: 1 << 0)
        /// `bluetooth-peripheral`: the app goes on as a peripheral.
        public static let bluetoothPeripheral = BackgroundModes(rawValue: 1 << 1)
    }

    /// Whether the app may use Bluetooth; `.allowed` unless set. What it is shows as `CBManager.authorization`.
    public var permission: Permission {
        get {
            switch hosted.policy.permission {
            case .notDetermined: .notDetermined
            case .restricted: .restricted
            case .denied: .denied
            case .allowed: .allowed
            }
        }
        set {
            hosted.policy.permission =
                switch newValue {
                case .notDetermined: .notDetermined
                case .restricted: .restricted
                case .denied: .denied
                case .allowed: .allowed
                }
        }
    }

    /// Whether the app runs in the simulator, which has no Bluetooth: its managers are `.unsupported`.
    public var isSimulator: Bool {
        get { !hosted.policy.hasRadio }
        set { hosted.policy.hasRadio = !newValue }
    }

    /// In which roles the app goes on in the background; none unless set.
    public var backgroundModes: BackgroundModes {
        get { BackgroundModes(rawValue: hosted.policy.backgroundModes.rawValue) }
        set { hosted.policy.backgroundModes = HostInterface.BackgroundModes(rawValue: newValue.rawValue) }
    }

    /// Whether the app is in the background.
    ///
    /// There, a scan needs services and the mode `bluetoothCentral`, reports nothing twice and listens for 11 ms of
    /// every 1.28 s; advertising needs the mode `bluetoothPeripheral`, goes on without the name, with the services in
    /// the overflow area, once a second; links of this device as the central have an interval of 105 ms in place of
    /// 15. A role whose mode is missing is suspended after 5 s: its callbacks come when the app is in the foreground
    /// again. Without `bluetoothPeripheral` centrals that read or write get an error.
    public var isInBackground: Bool {
        get { hosted.policy.isInBackground }
        set { hosted.policy.isInBackground = newValue }
    }

    /// The system's Bluetooth service dies and comes back: `.resetting`, and `.poweredOn` after `duration`. Links
    /// break without a goodbye, and all peripherals are invalid.
    public func resetBluetooth(for duration: Duration = .seconds(1)) { hosted.crashBluetooth(for: duration) }

    /// The system ends the app, as when memory is short: nobody calls its delegates any more, and its links, its scan
    /// and its services go, with a goodbye to whom it was connected to. Start it anew by ``run(_:)``: managers with a
    /// restore identifier find again what they had. ``killApp()`` ends it without a goodbye.
    public func endApp() {
        radio.endProgram()
        hosted.endPrograms()
    }
}
