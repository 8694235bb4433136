import BluetoothTypes
import HostInterface

/// What this device can show and take in; it decides which ways of pairing there are.
///
/// Source: Core 6.0, Vol 3, Part H, 2.3.2.
public enum PairingCapability: Sendable, CaseIterable {
    case displayOnly
    /// A display, and a way to say yes or no.
    case displayYesNo
    case keyboardOnly
    /// Nobody is asked anything.
    case none
    case keyboardDisplay

    var hostValue: IOCapability {
        switch self {
        case .displayOnly: .displayOnly
        case .displayYesNo: .displayYesNo
        case .keyboardOnly: .keyboardOnly
        case .none: .noInputNoOutput
        case .keyboardDisplay: .keyboardDisplay
        }
    }
}

/// How pairings go on this device. As it is without any, a pairing asks nobody, and gives no protection from somebody
/// in the middle.
public struct PairingPolicy: Equatable, Sendable {
    /// What to do when a bonded peer has lost its keys, or has others.
    public enum LostBond: Sendable {
        /// As Apple's systems do: the link ends with `CBError.peerRemovedPairingInformation` until the bond is removed
        /// with ``BluetoothSecurity/removeBond(of:completion:)``.
        case disconnect
        /// The link goes on unencrypted, and what needs more pairs anew, no weaker than before. Whoever takes the
        /// peer's address can get a bond by it, if the old one was not authenticated.
        case pairAgain
    }

    /// What the delegate can show to a person, and ask one.
    public var capability: PairingCapability
    /// Whether a pairing fails in which somebody in the middle would not be found out.
    public var requiresAuthentication = false
    /// Nothing but authenticated LE Secure Connections with keys of 128 bits.
    public var isSecureConnectionsOnly = false
    /// Whether LE Secure Connections is offered. Switch it off to test how a program does with old devices.
    public var usesSecureConnections = true
    /// Whether keys are kept for later links.
    public var bonds = true
    /// Whether peers may start a pairing.
    public var acceptsPairing = true
    /// Whether the delegate is asked about pairings, too, that ask nothing of a person.
    public var confirmsJustWorks = false
    /// The shortest keys that will do, in octets: 7...16.
    public var minimumKeySize = 7
    /// The longest keys to agree to, in octets: 7...16.
    public var maximumKeySize = 16
    public var lostBond = LostBond.disconnect
    /// Whether a central encrypts a link to a bonded peer before the app hears of it, as Apple's systems do. If not, it
    /// does so when something needs it.
    public var encryptsAtOnce = true

    public init(capability: PairingCapability = .none) { self.capability = capability }

    var hostValue: HostInterface.PairingPolicy {
        precondition(
            7...16 ~= minimumKeySize && minimumKeySize...16 ~= maximumKeySize,
            "Keys have 7 to 16 octets, and the least is not above the most.")
        var policy = HostInterface.PairingPolicy()
        policy.ioCapability = capability.hostValue
        policy.requiresAuthentication = requiresAuthentication
        policy.isSecureConnectionsOnly = isSecureConnectionsOnly
        policy.usesSecureConnections = usesSecureConnections
        policy.bonds = bonds
        policy.acceptsPairing = acceptsPairing
        policy.confirmsJustWorks = confirmsJustWorks
        policy.minimumKeySize = UInt8(minimumKeySize)
        policy.maximumKeySize = UInt8(maximumKeySize)
        policy.encryptsAtOnce = encryptsAtOnce
        policy.lostBond =
            switch lostBond {
            case .disconnect: .disconnect
            case .pairAgain: .pairAgain
            }
        return policy
    }
}
