/// What goes wrong with the radio, a link or a call.
public struct CBError: _BridgedStoredNSError {
    public typealias Code = CBErrorCode

    public let _nsError: NSError

    public init(_nsError error: NSError) {
        precondition(error.domain == CBErrorDomain, "A CBError has the domain \(CBErrorDomain).")
        _nsError = error
    }

    /// The error with `code`, whose text is added to `userInfo` unless that has one.
    public init(_ code: CBError.Code, userInfo: [String: Any] = [:]) {
        let described = userInfo.merging([NSLocalizedDescriptionKey: code.text]) { given, _ in given }
        _nsError = NSError(domain: CBErrorDomain, code: code.rawValue, userInfo: described)
    }

    public static var _nsErrorDomain: String { CBErrorDomain }
    public static var errorDomain: String { CBErrorDomain }

    /// A sentence for a person.
    public var localizedDescription: String { _nsError.localizedDescription }

    public var description: String { errorDescription(of: _nsError) }

    /// What went wrong has no name of its own.
    public static var unknown: CBError.Code { .unknown }
    /// The call, or what it was given, makes no sense: see the log for what.
    public static var invalidParameters: CBError.Code { .invalidParameters }
    /// An attribute was asked for that the peer does not have.
    public static var invalidHandle: CBError.Code { .invalidHandle }
    /// There is no link to the device, or the radio is off.
    public static var notConnected: CBError.Code { .notConnected }
    /// There is no room left for what was asked.
    public static var outOfSpace: CBError.Code { .outOfSpace }
    /// The operation was ended by this side.
    public static var operationCancelled: CBError.Code { .operationCancelled }
    /// The link was lost: nothing was heard of the peer for the supervision timeout.
    public static var connectionTimeout: CBError.Code { .connectionTimeout }
    /// The peer ended the link.
    public static var peripheralDisconnected: CBError.Code { .peripheralDisconnected }
    /// The service belongs to the system (0x1800, 0x1801) and cannot be published.
    public static var uuidNotAllowed: CBError.Code { .uuidNotAllowed }
    /// Advertising has been started before and not been stopped.
    public static var alreadyAdvertising: CBError.Code { .alreadyAdvertising }
    /// The link could not be established, or broke for another reason than those with a code of their own.
    public static var connectionFailed: CBError.Code { .connectionFailed }
    /// The controller, or the peer, has as many links as it can hold.
    public static var connectionLimitReached: CBError.Code { .connectionLimitReached }
    /// The old misspelling of ``unknownDevice``.
    public static var unkownDevice: CBError.Code { .unkownDevice }
    /// The host knows no such device.
    public static var unknownDevice: CBError.Code { .unknownDevice }
    /// This module or this radio cannot do it.
    public static var operationNotSupported: CBError.Code { .operationNotSupported }
    /// The peer has lost the keys of the bond. The bond must be removed on both sides and made anew.
    public static var peerRemovedPairingInformation: CBError.Code { .peerRemovedPairingInformation }
    /// The link could not be encrypted.
    public static var encryptionTimedOut: CBError.Code { .encryptionTimedOut }
    /// There is no room for one more bond.
    public static var tooManyLEPairedDevices: CBError.Code { .tooManyLEPairedDevices }
    /// Only on an Apple watch: more notifications came in the background than the system allows.
    public static var leGattExceededBackgroundNotificationLimit: CBError.Code {
        .leGattExceededBackgroundNotificationLimit
    }
    /// Only on an Apple watch: the limit of notifications in the background is near.
    public static var leGattNearBackgroundNotificationLimit: CBError.Code { .leGattNearBackgroundNotificationLimit }
    /// A distance measurement could not be set up.
    public static var channelSoundingConfigurationFailed: CBError.Code { .channelSoundingConfigurationFailed }
    /// A distance measurement broke off.
    public static var channelSoundingProcedureFailed: CBError.Code { .channelSoundingProcedureFailed }
}

extension CBErrorCode: @retroactive _ErrorCodeProtocol {
    public typealias _ErrorType = CBError
}

extension CBError.Code {
    /// 12, under its right spelling.
    public static var unknownDevice: CBError.Code { .unkownDevice }

    var text: String {
        switch self {
        case .unknown: "Unknown error."
        case .invalidParameters: "One or more parameters were invalid."
        case .invalidHandle: "The handle is invalid."
        case .notConnected: "The specified device is not connected."
        case .outOfSpace: "There is not enough space for this operation."
        case .operationCancelled: "The operation was cancelled."
        case .connectionTimeout: "The connection has timed out unexpectedly."
        case .peripheralDisconnected: "The specified device has disconnected from us."
        case .uuidNotAllowed: "The specified UUID is not allowed for this operation."
        case .alreadyAdvertising: "Advertising has already started."
        case .connectionFailed: "The connection has failed unexpectedly."
        case .connectionLimitReached: "No further connection is possible at the moment."
        case .unkownDevice: "The device is unknown."
        case .operationNotSupported: "The operation is not supported."
        case .peerRemovedPairingInformation: "Peer removed pairing information"
        case .encryptionTimedOut: "Encrypting the connection has timed out."
        case .tooManyLEPairedDevices: "Too many devices are paired."
        case .leGattExceededBackgroundNotificationLimit: "Too many notifications came in the background."
        case .leGattNearBackgroundNotificationLimit: "Notifications in the background come close to their limit."
        case .channelSoundingConfigurationFailed: "Channel Sounding could not be configured."
        case .channelSoundingProcedureFailed: "A Channel Sounding procedure has failed."
        @unknown default: "Unknown error."
        }
    }
}
