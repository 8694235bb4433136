import BluetoothCrypto
import BluetoothTypes
import EventLoop
import HCI
import HostInterface
import SMP

/// What protects one link: its Security Manager, and who waits for it.
struct LinkGuard {
    var manager: SecurityManager
    /// The peer's identity address, once a bond has told it.
    var identity: DeviceAddress?
    /// Requests that the peer refused for want of security, with its error code. They are tried again.
    var refused: [(key: RequestKey, code: UInt8)] = []
    /// What is open on the bearer under this number, or one below, was asked before the link was as secure as now.
    var lastIDBefore: UInt64 = 0
    /// Requests to secure the link, and whether it must be authenticated.
    var demands: [(key: RequestKey, authenticated: Bool)] = []
    var question: PairingQuestion?
    var askedAt: Instant?
    /// By when the controller must have told how the encryption went.
    var encryptBy: Instant?
    /// Why the last encryption failed.
    var encryptionStatus = HCIErrorCode.success
    /// Whether the link is reported to those who connect only when it is encrypted.
    var delaysReport = false
    /// The link is secured, but the peer has keys of a new bond only after so many packets more.
    var keysUnderWay: (security: LinkSecurity, packets: Int)?
    /// Encrypted with a key that nothing has yet proved to be the peer's too.
    var awaitsProof = false

    /// How the link is protected; `nil` in the clear.
    var level: LinkSecurity? { manager.security }

    var deadline: Instant? {
        guard let encryptBy else { return manager.deadline }
        return manager.deadline.map { min($0, encryptBy) } ?? encryptBy
    }
}
