package import BluetoothTypes

/// By which of the two procedures a channel is opened. What flows on it is the same.
///
/// Source: Core 6.0, Vol 3, Part A, 3.4 and 10.
package enum ChannelMode: Equatable, Sendable {
    /// LE credit-based flow control: one channel a request.
    case leCreditBased
    /// Enhanced credit-based flow control: up to five, which can be reconfigured.
    case enhanced

    /// The least MTU and MPS that either side may have (4.22 and 4.25).
    var least: UInt16 {
        switch self {
        case .leCreditBased: 23
        case .enhanced: 64
        }
    }

    /// Whether a peer may announce these.
    func admits(mtu: UInt16, mps: UInt16) -> Bool { mtu >= least && (least...65533).contains(mps) }
}

/// What this side takes on a channel.
package struct ChannelCapacity: Equatable, Sendable {
    /// Octets of an SDU.
    package var mtu: UInt16
    /// Octets of a frame's payload. With the four of the header a multiple of 251 fills the link layer's packets.
    package var mps: UInt16
    /// Octets that may lie here unread; the peer has credits for as many frames as fit.
    package var window: Int

    /// - Precondition: `window` takes an SDU and one frame more, so that no peer's way of cutting gets stuck.
    package init(mtu: UInt16 = 3998, mps: UInt16 = 1000, window: Int = 48_000) {
        precondition(window >= Int(mtu) + Int(mps), "A window of \(window) octets is too small for \(mtu) + \(mps).")
        self.mtu = mtu
        self.mps = mps
        self.window = window
    }
}

/// What a link must be for a channel to be opened on it.
package struct ChannelRequirement: Equatable, Sendable {
    package var encryption = false
    /// Protection against somebody in the middle.
    package var authentication = false
    package var authorization = false
    /// Octets, 7...16; only of an encrypted link.
    package var keySize = 7

    package init() {}

    package static let encrypted: ChannelRequirement = {
        var requirement = ChannelRequirement()
        requirement.encryption = true
        return requirement
    }()

    /// How a peer on such a link is refused; `nil` if it is not.
    ///
    /// Source: Core 6.0, Vol 3, Part C, 10.3.1 (an unencrypted link lacks encryption if there is a key for it, else
    /// authentication).
    func refusal(on link: LinkProtection) -> ChannelResult? {
        if let security = link.security {
            if authentication && !security.isAuthenticated { return .insufficientAuthentication }
            if encryption && security.keySize < keySize { return .encryptionKeyTooShort }
        } else if encryption || authentication {
            return link.hasKey ? .insufficientEncryption : .insufficientAuthentication
        }
        return authorization && !link.isAuthorized ? .insufficientAuthorization : nil
    }
}

/// What a link is.
package struct LinkProtection: Equatable, Sendable {
    /// `nil` in the clear.
    package var security: LinkSecurity?
    /// Whether the two are bonded, encrypted or not.
    package var hasKey: Bool
    package var isAuthorized = false

    package init(_ security: LinkSecurity? = nil, hasKey: Bool = false) {
        self.security = security
        self.hasKey = hasKey
    }
}

/// What stands under an SPSM.
package struct ChannelOffer: Equatable, Sendable {
    package var spsm: UInt16
    /// By which procedure it may be opened; `nil`: by either.
    package var mode: ChannelMode?
    package var requirement: ChannelRequirement
    /// How many channels a peer may have of it at once.
    package var mostChannels: Int
    /// What this side takes on them; `nil`: as on others.
    package var capacity: ChannelCapacity?

    package init(
        spsm: UInt16, mode: ChannelMode? = nil, requirement: ChannelRequirement = ChannelRequirement(),
        mostChannels: Int = 16, capacity: ChannelCapacity? = nil
    ) {
        self.spsm = spsm
        self.mode = mode
        self.requirement = requirement
        self.mostChannels = mostChannels
        self.capacity = capacity
    }

    func isFor(_ spsm: UInt16, _ mode: ChannelMode) -> Bool {
        self.spsm == spsm && (self.mode == nil || self.mode == mode)
    }

    /// From here to 0x00FF an SPSM is free for whoever needs one (4.22).
    package static let dynamic: ClosedRange<UInt16> = 0x0080...0x00FF
}

/// Why no channel was opened, or none changed.
package enum ChannelFailure: Error, Equatable, Sendable {
    case refused(ChannelResult)
    case notReconfigured(ReconfigureResult)
    /// Command Reject: the peer does not know the request.
    case rejected
    case timedOut
    /// The peer's answer breaks the protocol.
    case illegalAnswer
    /// Nothing was sent: all channels of the link are in use, or the parameters are not allowed.
    case notPossible
}

/// Why a channel ended.
package enum ChannelEnd: Equatable, Sendable {
    /// It was asked for here.
    case closedHere
    case closedByPeer
    /// The peer broke the rules, and the channel was closed for it.
    case violated(ChannelViolation)
}

/// The rules of 3.4.3 and 4.24 that end a channel when they are broken.
package enum ChannelViolation: Equatable, Sendable {
    case frameWithoutCredit
    case frameTooLong
    case emptyFrame
    /// A first frame without the whole of the SDU's length.
    case noLength
    case sduTooLong
    /// More octets than the SDU's length says.
    case lengthExceeded
    /// Credits of 0, or a sum above 65535.
    case impossibleCredits
    /// Another channel has been given the same number by the peer (4.26).
    case doubleDestination
}
