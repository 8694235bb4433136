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

    public static var unknown: CBError.Code { .unknown }
    public static var invalidParameters: CBError.Code { .invalidParameters }
    public static var invalidHandle: CBError.Code { .invalidHandle }
    public static var notConnected: CBError.Code { .notConnected }
    public static var outOfSpace: CBError.Code { .outOfSpace }
    public static var operationCancelled: CBError.Code { .operationCancelled }
    /// The link was lost: nothing was heard of the peer for the supervision timeout.
    public static var connectionTimeout: CBError.Code { .connectionTimeout }
    /// The peer ended the link.
    public static var peripheralDisconnected: CBError.Code { .peripheralDisconnected }
    public static var uuidNotAllowed: CBError.Code { .uuidNotAllowed }
    public static var alreadyAdvertising: CBError.Code { .alreadyAdvertising }
    public static var connectionFailed: CBError.Code { .connectionFailed }
    public static var connectionLimitReached: CBError.Code { .connectionLimitReached }
    /// The old misspelling of ``unknownDevice``.
    public static var unkownDevice: CBError.Code { .unkownDevice }
    public static var unknownDevice: CBError.Code { .unknownDevice }
    public static var operationNotSupported: CBError.Code { .operationNotSupported }
    public static var peerRemovedPairingInformation: CBError.Code { .peerRemovedPairingInformation }
    public static var encryptionTimedOut: CBError.Code { .encryptionTimedOut }
    public static var tooManyLEPairedDevices: CBError.Code { .tooManyLEPairedDevices }
    public static var leGattExceededBackgroundNotificationLimit: CBError.Code {
        .leGattExceededBackgroundNotificationLimit
    }
    public static var leGattNearBackgroundNotificationLimit: CBError.Code { .leGattNearBackgroundNotificationLimit }
    public static var channelSoundingConfigurationFailed: CBError.Code { .channelSoundingConfigurationFailed }
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
