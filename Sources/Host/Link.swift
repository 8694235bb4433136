import EventLoop
import GAP
import GATT
import HCI
import HostInterface
import L2CAP

/// One link, and the machines that live on it.
struct Link {
    /// What a procedure on the link was started for.
    enum Purpose {
        case request(RequestKey)
        /// One peer's share of a notification.
        case share(RequestKey)
        /// Nobody waits for its end.
        case unattended
        case exchangeMTU
        case readName
        case readHash
        case readServerFeatures
        case openBearers
        case discoverServiceChanged(Step)

        enum Step {
            case service
            case characteristic
            case subscription
        }
    }

    let handle: UInt16
    let peer: PeerID
    let role: LinkRole
    var reassembler = Reassembler(maximumLength: max(517, Int(ChannelCapacity().mps)))
    var signalling: Signalling
    var attributes: GATTConnection
    var enhanced = EnhancedBearers()
    var security: LinkGuard
    var tuner: LinkTuner
    var timing: LinkTiming
    var subrating = LinkSubrating()
    /// Whether what was kept of a bonded peer, as a client of this adapter's attributes, is in force again.
    var hasRestoredClient = false
    /// Whether what is found out about the peer's attributes is kept with its bond.
    var keepsDatabase = false
    /// Whether more has been found out than is kept.
    var hasNewFindings = false
    /// What is open on the link, by its number there, and for what.
    var purposes: [UInt64: Purpose] = [:]
    /// Until when `connect` waits for the MTU exchange; `nil` once the link has been reported.
    var reportBy: Instant?
    /// What the peer has told until then.
    var early: [HostEvent] = []
    /// Whether the MTU exchange is over, or was waited for long enough.
    var hasAgreedMTU = false
    /// Who asked for the end of the link and waits for it.
    var disconnects: [RequestKey] = []
    var isEnding: Bool { endingSince != nil }
    var endingSince: Instant?
    /// The peer has another link, so this one is dead, though the controller has yet to say so.
    var isReplaced = false
    /// Why the host itself ends the link, to be told instead of the controller's reason.
    var endReason: HostFailure?
    /// The primary services that were discovered.
    var services: [RemoteService] = []
    /// Whether these are all, as far as the peer has said.
    var knowsAllServices = false
    /// PDUs that broke the protocol.
    var violations = 0

    /// When the link must be woken.
    var deadline: Instant? {
        if isReplaced { return nil }
        var earliest: Instant?
        func consider(_ candidate: Instant?) {
            guard let candidate else { return }
            earliest = min(earliest ?? candidate, candidate)
        }
        consider(attributes.deadline)
        consider(enhanced.retryAt)
        consider(signalling.deadline)
        consider(security.deadline)
        consider(tuner.deadline)
        consider(subrating.deadline)
        if !hasAgreedMTU { consider(reportBy) }
        return earliest
    }
}

/// A peer's question that a client has to answer.
struct Question {
    var client: ClientID
    var link: UInt16
    /// The number under which the link's bearer waits for the answer.
    var bearerID: UInt64
    var since: Instant
}

extension Host {
    package var hasLinks: Bool { !links.isEmpty }

    // By their places, for a link is no small thing to copy.
    func linkIndex(of peer: PeerID) -> Int? {
        links.indices.first { links[$0].peer == peer && !links[$0].isReplaced }
    }

    func linkIndex(handle: UInt16) -> Int? { links.indices.first { links[$0].handle == handle } }
}
