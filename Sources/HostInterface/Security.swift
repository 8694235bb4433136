package import BluetoothCrypto
package import BluetoothTypes

/// What a client can ask of a host's security. It is answered as every request is.
package enum SecurityCommand: Equatable, Sendable {
    /// This client speaks for the persons in front of the device from now on, and is asked the pairings' questions;
    /// `nil` takes it back. Where several have asked, the first one counts. Answer: `.done`.
    case setPolicy(PairingPolicy?)
    /// Encrypts the link: with the bond's key if it is good enough, else by a new pairing. A peripheral asks its
    /// central to. Answer: `.link`, when the link is encrypted.
    case secure(PeerID, authenticated: Bool)
    /// The reply to `.asked`; one to a question that has ended is dropped. Answer: `.done`.
    case reply(PairingQuestionID, PairingReply)
    /// What is kept of whom. Answer: `.bonds`, the oldest first.
    case listBonds
    /// Forgets a bond, and ends a link that is encrypted with it. Answer: `.done`, also if there was none.
    case removeBond(PeerID)
    /// Takes bonds from elsewhere, in place of those with the same identities. Answer: `.done`.
    case importBonds([BondRecord])
    /// Data for a pairing with a peer that it is to get by another way than the radio. Good until the next such
    /// command. Answer: `.outOfBand`.
    case makeOutOfBandData
    /// What a peer has given by another way than the radio, for the next pairing with it. Answer: `.done`.
    case setOutOfBandData(PeerID, OutOfBandShare)
    /// Signed Write Without Response (Core 6.0, Vol 3, Part G, 4.9.2); on an encrypted link an unsigned one. Answer:
    /// `.done` once the controller has taken it.
    case writeSigned(PeerID, AttributeHandle, value: [UInt8])
}

/// What a host tells of its security.
package enum SecurityEvent: Equatable, Sendable {
    /// A pairing needs a person. To the client alone whose policy counts.
    case asked(PairingQuestion)
    /// The question needs no answer any more: the pairing has gone on, or ended.
    case questionEnded(PairingQuestionID)
    /// The link is encrypted, or better encrypted than before.
    case secured(PeerID, LinkSecurity)
    case failed(PeerID, SecurityProblem)
    /// Keys are kept from now on.
    case bonded(PeerID)
    case bondRemoved(PeerID)
    /// The store of the bonds cannot be read or written. The sentence says why; the bonds last for this run.
    case storeFailed(String)
}

/// How pairings go.
package struct PairingPolicy: Equatable, Sendable {
    package enum LostBond: Equatable, Sendable {
        /// The link ends, as on Apple's systems. Only who removes the bond can pair anew.
        case disconnect
        /// The link goes on in the clear, and what needs more pairs anew: no weaker than before.
        case pairAgain
    }

    package var ioCapability = IOCapability.noInputNoOutput
    /// A pairing in which somebody in the middle would not be found out fails.
    package var requiresAuthentication = false
    /// Nothing but LE Secure Connections, authenticated, with keys of 128 bits (Core 6.0, Vol 3, Part C, 10.2.4).
    package var isSecureConnectionsOnly = false
    /// Whether Secure Connections is offered. Only a test of old devices wants `false`.
    package var usesSecureConnections = true
    /// Whether keys are kept.
    package var bonds = true
    /// Whether peers may start a pairing.
    package var acceptsPairing = true
    /// Whether a person must agree to a pairing that asks nothing of them.
    package var confirmsJustWorks = false
    /// In octets; 7...16.
    package var minimumKeySize: UInt8 = 7
    package var maximumKeySize: UInt8 = 16
    package var lostBond = LostBond.disconnect
    /// Whether this side, as central, encrypts a link to a bonded peer before anything else. If not, it does so when
    /// something needs it.
    package var encryptsAtOnce = true

    package init() {}
}

/// The number of a pairing's question.
package struct PairingQuestionID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// What a person must do for a pairing.
package struct PairingQuestion: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// Show six digits. It needs no reply.
        case display(passkey: UInt32)
        case enterPasskey
        /// Do both devices show this number of six digits?
        case compare(UInt32)
        /// Shall the devices pair?
        case confirm
    }

    package var id: PairingQuestionID
    package var peer: PeerID
    package var kind: Kind

    package init(id: PairingQuestionID, peer: PeerID, kind: Kind) {
        self.id = id
        self.peer = peer
        self.kind = kind
    }
}

package enum PairingReply: Equatable, Sendable {
    case yes
    /// The pairing ends.
    case no
    /// 0...999,999.
    case passkey(UInt32)
}

/// Why a link is not encrypted, or not well enough. Each has its own way out.
package enum SecurityProblem: Equatable, Sendable {
    /// The peer does not have the bond's key. Removing the bond here lets the devices pair anew.
    case peerLostBond
    /// Both have a key, and not the same. As above.
    case wrongKey
    /// The peer asked for a key that is not here: the bond was removed on this side. It must pair anew.
    case bondMissingHere
    /// The keys at hand are weaker than the policy wants.
    case tooWeak
    /// Nothing came for thirty seconds. Another try needs another link (Core 6.0, Vol 3, Part H, 3.4).
    case timedOut
    /// The pairing was ended here. The reason: Core 6.0, Vol 3, Part H, 3.5.5.
    case refused(reason: UInt8)
    /// The peer ended the pairing.
    case refusedByPeer(reason: UInt8)
    /// The person or the program here took it back.
    case cancelled
    /// As many bonds are kept as there is room for; one must be removed first.
    case tooManyBonds
    /// The link ended.
    case linkLost
}

extension SecurityProblem: CustomStringConvertible {
    /// What happened, for a person, and what can be done.
    package var description: String {
        switch self {
        case .peerLostBond: "the peer has lost the keys of the pairing; remove the bond here and pair anew"
        case .wrongKey: "the peer has other keys than this side; remove the bond on both sides and pair anew"
        case .bondMissingHere: "the peer uses keys of a pairing that was removed here; it must pair anew"
        case .tooWeak: "the keys of the pairing are weaker than asked for; remove the bond and pair anew"
        case .timedOut: "the peer did not go on with the pairing; connect anew to try again"
        case .refused(let reason): "this side ended the pairing for reason \(reason)"
        case .refusedByPeer(let reason): "the peer ended the pairing for reason \(reason)"
        case .cancelled: "the pairing was cancelled here"
        case .tooManyBonds: "there is no room for another bond; remove one"
        case .linkLost: "the link ended"
        }
    }
}

/// A Secure Connections device's part of out-of-band data: Core 6.0, Vol 3, Part H, 2.3.5.6.4.
package struct OutOfBandShare: Hashable, Sendable {
    package var random: SecretKey
    package var confirm: UInt128

    package init(random: SecretKey, confirm: UInt128) {
        self.random = random
        self.confirm = confirm
    }
}
