public import CoreBluetooth
import BluetoothCrypto
import BluetoothTypes
import HostInterface

/// How well an encrypted link, or the keys of a bond, are protected.
public struct LinkSecurity: Hashable, Sendable {
    /// Somebody in the middle would have been found out.
    public let isAuthenticated: Bool
    public let isSecureConnections: Bool
    /// In octets; 7...16.
    public let keySize: Int
    /// The level of LE security mode 1: 2 encrypted, 3 authenticated, 4 authenticated Secure Connections with 128 bits
    /// (Core 6.0, Vol 3, Part C, 10.2.1).
    public let level: Int

    init(_ security: BluetoothTypes.LinkSecurity) {
        isAuthenticated = security.isAuthenticated
        isSecureConnections = security.isSecureConnections
        keySize = security.keySize
        level = security.level
    }
}

/// A peer whose keys are kept.
public struct BondedPeer: Identifiable, Hashable, Sendable {
    /// The identifier of its `CBPeripheral` or `CBCentral`.
    public let id: UUID
    public let name: String?
    /// Its identity address, `AA:BB:CC:DD:EE:FF`, and whether that is a public one.
    public let address: String
    public let isPublicAddress: Bool
    public let security: LinkSecurity

    init(_ record: BondRecord, id: UUID) {
        self.id = id
        name = record.name
        address = record.identity.description
        isPublicAddress = record.identity.kind == .public
        security = LinkSecurity(record.bond.security)
    }
}

/// Why a link is not encrypted, or not well enough.
public struct SecurityProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Each has its own way out, which the description tells.
    public enum Kind: Hashable, Sendable {
        /// The peer does not have the bond's keys any more.
        case peerLostBond
        /// Both sides have keys, and not the same.
        case wrongKey
        /// The peer uses a bond that was removed here.
        case bondMissingHere
        /// The keys of the bond are weaker than the policy wants.
        case tooWeak
        /// Nothing came for thirty seconds. Another try needs another link.
        case timedOut
        /// This side ended the pairing.
        case refused
        case refusedByPeer
        case cancelled
        /// As many bonds are kept as there is room for.
        case tooManyBonds
        case linkLost
    }

    public let kind: Kind
    /// Of a refusal: Core 6.0, Vol 3, Part H, 3.5.5.
    public let reason: Int?
    public let description: String

    init(_ problem: HostInterface.SecurityProblem) {
        description = problem.description
        var reason: Int?
        switch problem {
        case .peerLostBond: kind = .peerLostBond
        case .wrongKey: kind = .wrongKey
        case .bondMissingHere: kind = .bondMissingHere
        case .tooWeak: kind = .tooWeak
        case .timedOut: kind = .timedOut
        case .refused(let code):
            kind = .refused
            reason = Int(code)
        case .refusedByPeer(let code):
            kind = .refusedByPeer
            reason = Int(code)
        case .cancelled: kind = .cancelled
        case .tooManyBonds: kind = .tooManyBonds
        case .linkLost: kind = .linkLost
        }
        self.reason = reason
    }
}
