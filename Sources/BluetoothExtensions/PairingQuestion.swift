public import CoreBluetooth
import HostInterface

/// What a person must do for a pairing. It is answered by one of its methods, on any thread; answers that come too
/// late do no harm.
public struct PairingQuestion: Identifiable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// Show the six digits until the question is withdrawn. It needs no answer.
        case showPasskey(Int)
        /// Answer with ``PairingQuestion/enter(passkey:)``.
        case enterPasskey
        /// Do both devices show this number of six digits? Answer with ``PairingQuestion/accept()`` if they do.
        case compare(Int)
        /// Shall the devices pair? Answer with ``PairingQuestion/accept()`` if so.
        case confirm
    }

    public let id: UInt64
    /// The other device: the identifier of its `CBPeripheral` or `CBCentral`.
    public let peer: UUID
    public let kind: Kind
    /// It does not keep the manager alive: who asks nobody any more needs no answer.
    let answer: @Sendable (PairingReply) -> Void

    public func accept() { answer(.yes) }

    /// Ends the pairing. What waited for it fails.
    public func refuse() { answer(.no) }

    /// - Parameter passkey: 0...999,999.
    public func enter(passkey: Int) {
        precondition(0...999_999 ~= passkey, "A passkey has six digits.")
        answer(.passkey(UInt32(passkey)))
    }
}

/// Six digits as people read them: with the zeros in front.
public func passkeyText(_ passkey: Int) -> String {
    let digits = String(passkey)
    return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
}
