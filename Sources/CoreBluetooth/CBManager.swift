import Backends
import HostInterface

/// What the two managers have in common: the state of the radio, and the permission to use it.
///
/// An app makes a ``CBCentralManager`` or a ``CBPeripheralManager``, never this.
// `@unchecked`: stored properties are constants; what changes lives in the line's lock.
open class CBManager: NSObject, @unchecked Sendable {
    let line: HostLine

    init(line: HostLine) {
        self.line = line
        super.init()
    }

    /// The state of the radio. It is `.unknown` until the delegate has first been told, and changes just before the
    /// delegate is told.
    open var state: CBManagerState { line.state }

    /// Whether this app may use Bluetooth.
    @available(iOS, introduced: 13.0, deprecated: 13.1)
    open var authorization: CBManagerAuthorization { line.authorization }

    /// Whether this app may use Bluetooth: `.denied` if the system lets this process not open the radio, in which
    /// case the log has the reason, else `.allowedAlways`; on a simulated phone, what its permission is.
    open class var authorization: CBManagerAuthorization {
        CBManagerAuthorization(SessionProvider.current.permission)
    }

    deinit { line.close() }
}

/// The states of the radio. "Below" is meant by number: see ``CBCentralManagerDelegate``.
public enum CBManagerState: Int, Sendable {
    /// Not known yet; another update follows.
    case unknown = 0
    /// The connection to the radio was lost for a moment; another update follows.
    case resetting = 1
    /// There is no radio, or none that knows Bluetooth Low Energy.
    case unsupported = 2
    /// This app may not use it.
    case unauthorized = 3
    /// It is switched off.
    case poweredOff = 4
    /// It is on and ready.
    case poweredOn = 5
}

/// Whether an app may use Bluetooth.
public enum CBManagerAuthorization: Int, Sendable {
    /// The person has not been asked yet.
    case notDetermined = 0
    /// The device does not let the person decide.
    case restricted = 1
    /// The person, or the system, refuses it.
    case denied = 2
    /// It may.
    case allowedAlways = 3
}

extension CBManagerAuthorization {
    init(_ permission: RadioPermission) {
        self =
            switch permission {
            case .notDetermined: .notDetermined
            case .restricted: .restricted
            case .denied: .denied
            case .allowed: .allowedAlways
            }
    }
}

/// The old type of ``CBManager/state`` at a central; use ``CBManagerState``.
@available(iOS, introduced: 5.0, deprecated: 10.0)
@available(macOS, introduced: 10.7, deprecated: 10.13)
public enum CBCentralManagerState: Int, Sendable {
    /// Not known yet.
    case unknown = 0
    /// Lost for a moment.
    case resetting = 1
    /// No radio that knows Low Energy.
    case unsupported = 2
    /// The app may not use it.
    case unauthorized = 3
    /// Switched off.
    case poweredOff = 4
    /// On and ready.
    case poweredOn = 5
}

/// The old type of ``CBManager/state`` at a peripheral; use ``CBManagerState``.
@available(iOS, introduced: 6.0, deprecated: 10.0)
@available(macOS, introduced: 10.9, deprecated: 10.13)
public enum CBPeripheralManagerState: Int, Sendable {
    /// Not known yet.
    case unknown = 0
    /// Lost for a moment.
    case resetting = 1
    /// No radio that knows Low Energy.
    case unsupported = 2
    /// The app may not use it.
    case unauthorized = 3
    /// Switched off.
    case poweredOff = 4
    /// On and ready.
    case poweredOn = 5
}

/// The old form of ``CBManagerAuthorization``.
@available(iOS, introduced: 7.0, deprecated: 13.0)
@available(macOS, introduced: 10.9, deprecated: 10.15)
public enum CBPeripheralManagerAuthorizationStatus: Int, Sendable {
    /// The person has not been asked yet.
    case notDetermined = 0
    /// The device does not let the person decide.
    case restricted = 1
    /// The person, or the system, refuses it.
    case denied = 2
    /// It may.
    case authorized = 3
}
