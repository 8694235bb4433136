package import HostInterface

extension HostFailure {
    /// The one table by which a host's failures become Apple's errors.
    package var error: any Error {
        switch self {
        case .attribute(let code): CBATTError(.init(rawValue: Int(code)) ?? .unlikelyError)
        // Unsupported Feature, Unsupported Remote Feature (Core 6.0, Vol 1, Part F, 1.3).
        case .controller(0x11), .controller(0x1A): CBError(.operationNotSupported)
        case .disconnected(let reason), .controller(let reason): CBError(Self.linkError(reason))
        case .notConnected, .notPowered, .sessionLost: CBError(.notConnected)
        case .unknownPeer: CBError(.unknownDevice)
        case .cancelled: CBError(.operationCancelled)
        case .noConfigurationDescriptor, .invalidParameters: CBError(.invalidParameters)
        case .alreadyAdvertising: CBError(.alreadyAdvertising)
        case .timedOut: CBError(.connectionTimeout)
        case .security(let problem): problem.error
        case .connectionLimitReached: CBError(.connectionLimitReached)
        case .illegalAnswer(let text): CBError(.unknown, userInfo: [NSLocalizedFailureReasonErrorKey: text])
        case .channelRefused(let result): Self.channelError(result)
        case .channelClosed: CBError(.peripheralDisconnected)
        }
    }

    /// By the result of a request for an L2CAP channel (Core 6.0, Vol 3, Part A, 4.23). What the link lacks has the
    /// same names as for attributes.
    private static func channelError(_ result: UInt16?) -> any Error {
        func because(_ code: CBError.Code, _ text: String) -> CBError {
            CBError(code, userInfo: [NSLocalizedFailureReasonErrorKey: text])
        }
        switch result {
        case 0x0002: return because(.invalidParameters, "The peer offers nothing under this PSM (0x0002).")
        case 0x0004: return because(.connectionLimitReached, "The peer has no resources for a channel (0x0004).")
        case 0x0005: return CBATTError(.insufficientAuthentication)
        case 0x0006: return CBATTError(.insufficientAuthorization)
        case 0x0007: return CBATTError(.insufficientEncryptionKeySize)
        case 0x0008: return CBATTError(.insufficientEncryption)
        case nil: return because(.operationNotSupported, "The peer does not know L2CAP channels.")
        case .some(let other):
            let code = String(other, radix: 16, uppercase: true)
            return because(.connectionFailed, "The peer refuses the channel with the result 0x\(code).")
        }
    }

    /// By the controller's error code (Core 6.0, Vol 1, Part F, 1.3).
    private static func linkError(_ code: UInt8) -> CBError.Code {
        switch code {
        case 0x05, 0x06: .peerRemovedPairingInformation  // Authentication Failure, PIN or Key Missing
        case 0x08, 0x22: .connectionTimeout  // Connection Timeout, LL Response Timeout
        case 0x09, 0x0D: .connectionLimitReached  // Connection Limit Exceeded, Rejected: Limited Resources
        case 0x13, 0x14, 0x15: .peripheralDisconnected  // Remote User, Low Resources, Power Off
        case 0x12: .invalidParameters  // Invalid HCI Command Parameters
        case 0x16: .operationCancelled  // Terminated by Local Host
        case 0x3D: .encryptionTimedOut  // Terminated due to MIC Failure
        case 0x3E: .connectionFailed  // Failed to be Established
        default: .connectionFailed
        }
    }

    /// Whether the link, and with it the request, is gone: then Apple's API answers nothing.
    var endsLink: Bool {
        switch self {
        case .notPowered, .notConnected, .unknownPeer, .cancelled, .disconnected, .sessionLost: true
        case .controller, .attribute, .illegalAnswer, .noConfigurationDescriptor, .alreadyAdvertising,
            .invalidParameters, .timedOut, .connectionLimitReached, .security, .channelRefused,
            .channelClosed:
            false
        }
    }
}

extension SecurityProblem {
    var error: any Error {
        switch self {
        case .peerLostBond: CBError(.peerRemovedPairingInformation)
        case .tooManyBonds: CBError(.tooManyLEPairedDevices)
        case .wrongKey, .timedOut, .linkLost: CBError(.encryptionTimedOut)
        case .bondMissingHere, .tooWeak, .refused, .refusedByPeer, .cancelled: CBATTError(.insufficientAuthentication)
        }
    }
}

/// As Apple's systems print an error; Foundation on Linux leaves the text out.
func errorDescription(of error: NSError) -> String {
    "Error Domain=\(error.domain) Code=\(error.code) \"\(error.localizedDescription)\""
}
