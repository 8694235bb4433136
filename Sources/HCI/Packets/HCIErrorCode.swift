/// What a controller answers to a command, or why a link ended.
///
/// Source: Core 6.0, Vol 1, Part F, 1.3.
package struct HCIErrorCode: RawRepresentable, Hashable, Sendable, Error {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let success = HCIErrorCode(rawValue: 0x00)
    package static let unknownCommand = HCIErrorCode(rawValue: 0x01)
    package static let unknownConnection = HCIErrorCode(rawValue: 0x02)
    package static let hardwareFailure = HCIErrorCode(rawValue: 0x03)
    package static let authenticationFailure = HCIErrorCode(rawValue: 0x05)
    package static let pinOrKeyMissing = HCIErrorCode(rawValue: 0x06)
    package static let memoryCapacityExceeded = HCIErrorCode(rawValue: 0x07)
    package static let connectionTimeout = HCIErrorCode(rawValue: 0x08)
    package static let connectionLimitExceeded = HCIErrorCode(rawValue: 0x09)
    package static let connectionAlreadyExists = HCIErrorCode(rawValue: 0x0B)
    package static let commandDisallowed = HCIErrorCode(rawValue: 0x0C)
    package static let limitedResources = HCIErrorCode(rawValue: 0x0D)
    package static let unsupportedFeature = HCIErrorCode(rawValue: 0x11)
    package static let invalidParameters = HCIErrorCode(rawValue: 0x12)
    package static let remoteUserTerminated = HCIErrorCode(rawValue: 0x13)
    package static let remoteLowResources = HCIErrorCode(rawValue: 0x14)
    package static let remotePowerOff = HCIErrorCode(rawValue: 0x15)
    package static let localHostTerminated = HCIErrorCode(rawValue: 0x16)
    package static let unsupportedRemoteFeature = HCIErrorCode(rawValue: 0x1A)
    package static let invalidLinkLayerParameters = HCIErrorCode(rawValue: 0x1E)
    package static let unspecified = HCIErrorCode(rawValue: 0x1F)
    package static let unsupportedLinkLayerParameter = HCIErrorCode(rawValue: 0x20)
    package static let linkLayerResponseTimeout = HCIErrorCode(rawValue: 0x22)
    package static let linkLayerProcedureCollision = HCIErrorCode(rawValue: 0x23)
    package static let instantPassed = HCIErrorCode(rawValue: 0x28)
    package static let differentTransactionCollision = HCIErrorCode(rawValue: 0x2A)
    package static let controllerBusy = HCIErrorCode(rawValue: 0x3A)
    package static let unacceptableConnectionParameters = HCIErrorCode(rawValue: 0x3B)
    package static let advertisingTimeout = HCIErrorCode(rawValue: 0x3C)
    package static let messageIntegrityFailure = HCIErrorCode(rawValue: 0x3D)
    package static let connectionFailedToBeEstablished = HCIErrorCode(rawValue: 0x3E)
    package static let unknownAdvertisingIdentifier = HCIErrorCode(rawValue: 0x42)
    package static let limitReached = HCIErrorCode(rawValue: 0x43)
    package static let operationCancelled = HCIErrorCode(rawValue: 0x44)
    package static let packetTooLong = HCIErrorCode(rawValue: 0x45)
}

extension HCIErrorCode: CustomStringConvertible {
    /// In plain words, to go on after "because".
    package var description: String { Self.words[rawValue] ?? "of an error with the unknown code \(rawValue)" }

    private static let words: [UInt8: String] = [
        0x00: "nothing went wrong",
        0x01: "the controller does not know the command",
        0x02: "there is no such connection",
        0x03: "the controller's hardware failed",
        0x05: "authentication failed",
        0x06: "a key for the link is missing",
        0x07: "the controller is out of memory",
        0x08: "the peer has not been heard for the supervision timeout",
        0x09: "the controller holds as many connections as it can",
        0x0B: "a connection to this peer exists already",
        0x0C: "the controller does not allow the command now",
        0x0D: "the peer is short of resources",
        0x11: "the controller does not support the feature or the value",
        0x12: "the controller finds the command's parameters invalid",
        0x13: "the peer ended the connection",
        0x14: "the peer ended the connection, being low on resources",
        0x15: "the peer ended the connection, being switched off",
        0x16: "this side ended the connection",
        0x1A: "the peer does not support the feature",
        0x1E: "the peer's link layer finds the parameters invalid",
        0x1F: "of an error that the controller does not specify",
        0x20: "the peer's link layer does not support the parameter",
        0x22: "the peer's link layer did not answer in time",
        0x23: "both sides started the same procedure",
        0x28: "the instant of a change had passed",
        0x2A: "two procedures collided",
        0x3A: "the controller is busy",
        0x3B: "the connection parameters are not acceptable",
        0x3C: "advertising timed out",
        0x3D: "the link was ended by a message that failed its integrity check",
        0x3E: "the connection was not established: the peer did not answer on it",
        0x42: "there is no such advertising set",
        0x43: "a limit was reached",
        0x44: "the host cancelled the operation",
        0x45: "the packet is too long",
    ]
}
