public import CoreBluetooth

/// Why a link ended, or was not made.
public enum LinkEnd: Error, Hashable, Sendable {
    /// This program wanted it so.
    case requested
    /// The peer ended it.
    case peerEnded
    /// Nothing was heard of the peer for the supervision timeout: out of reach, without power, or disturbed.
    case lost
    /// The peer advertises, but the link did not come about.
    case notEstablished
    /// This device holds as many links as it can.
    case noMoreLinks
    /// The peer has forgotten the bond. Nothing helps but to remove it here too, and to pair anew.
    case bondRemoved
    /// The link could not be encrypted.
    case encryptionFailed
    case radioUnavailable(CBManagerState)
    /// The signal fell below the level at which a ``ConnectionSupervisor`` lets go.
    case tooFar
    /// What has no name here: an error's domain and number.
    case other(domain: String, code: Int)

    /// From what `didDisconnectPeripheral` and `didFailToConnect` tell; no error means that this program asked for it.
    public init(_ error: (any Error)?) {
        guard let error else {
            self = .requested
            return
        }
        guard let error = error as? CBError else {
            let other = error as NSError
            self = .other(domain: other.domain, code: other.code)
            return
        }
        self =
            switch error.code {
            case .operationCancelled: .requested
            case .peripheralDisconnected: .peerEnded
            case .connectionTimeout: .lost
            case .connectionFailed: .notEstablished
            case .connectionLimitReached: .noMoreLinks
            case .peerRemovedPairingInformation: .bondRemoved
            case .encryptionTimedOut: .encryptionFailed
            default: .other(domain: CBErrorDomain, code: error.code.rawValue)
            }
    }

    /// Whether trying again cannot help: this program wanted it so, the bond is gone, or there is no radio that this
    /// program could use.
    public var isFinal: Bool {
        switch self {
        case .requested, .bondRemoved, .radioUnavailable(.unsupported), .radioUnavailable(.unauthorized): true
        case .peerEnded, .lost, .notEstablished, .noMoreLinks, .encryptionFailed, .radioUnavailable, .tooFar, .other:
            false
        }
    }
}

extension LinkEnd: CustomStringConvertible {
    public var description: String {
        switch self {
        case .requested: "this program ended it"
        case .peerEnded: "the other device ended it"
        case .lost: "nothing was heard of the other device any more"
        case .notEstablished: "it did not come about"
        case .noMoreLinks: "this device holds as many links as it can"
        case .bondRemoved: "the other device has removed the bond"
        case .encryptionFailed: "it could not be encrypted"
        case .radioUnavailable(let state): "the radio is \(state.words)"
        case .tooFar: "the other device is too far away"
        case .other(let domain, let code): "\(domain) \(code)"
        }
    }
}
