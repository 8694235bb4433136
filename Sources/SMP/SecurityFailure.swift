/// Why a link could not be encrypted.
package enum SecurityFailure: Hashable, Sendable {
    /// This device ended the pairing, or may not start one yet.
    case local(PairingFailedReason)
    /// The peer ended it.
    case peer(PairingFailedReason)
    /// For thirty seconds nothing came. There is no pairing on this link any more (3.4).
    case timedOut
    /// The peer does not have the key of the bond. The bond is left alone: who it is that lost it, no key proves.
    case keyMissing
    /// The central asked for a key that this device does not have.
    case unknownKey
    /// The link layer did not get the link encrypted.
    case encryptionFailed
    case linkLost
    case cancelled
}
