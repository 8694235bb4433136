import EventLoop

/// A procedure of the link layer that this side starts.
///
/// Source: Core 6.0, Vol 6, Part B, 5.1.
package enum LinkProcedure: Sendable {
    /// As central: LL_CONNECTION_UPDATE_IND; as peripheral: LL_CONNECTION_PARAM_REQ. 5.1.1, 5.1.7.
    case update(LinkParameterRange)
    /// Central only. 5.1.2.
    case channelMap(UsedChannels)
    /// 5.1.4.
    case featureExchange
    /// 5.1.5.
    case versionExchange
    /// The most octets that this side wants to send in one PDU, and the longest time in µs. 5.1.9.
    case length(maxTxOctets: UInt16, maxTxTime: UInt16)
    /// 5.1.10.
    case phy(PHYPreferences)
    /// Central only. 5.1.3.
    case encrypt(EncryptionOrder)
    /// 5.1.8.
    case ping
    /// As central: LL_SUBRATE_IND, as peripheral: LL_SUBRATE_REQ. 5.1.19, 5.1.20.
    case subrate(SubrateRequest)
}

/// Where the control procedures of one connection stand.
struct ControlState: Sendable {
    /// How long the peer may take to answer: `T_PRT`. Core 6.0, Vol 6, Part B, 5.2.
    static let responseTimeout = Duration.seconds(40)

    /// The procedure of this side that waits for the peer, and until when; one at a time.
    var running: (procedure: LinkProcedure, until: Instant)?
    var waiting: [LinkProcedure] = []
    /// The peer's question about parameters that the host has yet to answer.
    var askedParameters: LinkParameterRange?

    var pendingUpdate: (indication: ConnectionUpdateIndication, event: Int)?
    var pendingChannels: (channels: UsedChannels, event: Int)?
    var pendingPHYs: PHYChange?
    var pendingSubrating: PendingSubrating?
    var acceptableSubrates = SubrateRequest()
    var phyPreferences = PHYPreferences.all

    var remoteFeatures: UInt64?
    /// Whether the host has not asked for the features that are being asked for.
    var isFeatureExchangeQuiet = false
    var remoteVersion: VersionIndication?
    var hasSentVersion = false

    /// When to give up waiting for the acknowledgement of LL_TERMINATE_IND.
    var terminateUntil: Instant?
    /// The peer has ended the connection for this reason; one last packet tells it so.
    var farewell: LinkError?

    var transmitLength = EffectiveLength(octets: 27, time: 328)
    var receiveLength = EffectiveLength(octets: 27, time: 328)
    /// What the peer said it takes and sends in one PDU.
    var peerLengths = LengthParameters()
    var ownMaxTxOctets: UInt16 = 27
    var ownMaxTxTime: UInt16 = 328

    mutating func takeQuiet() -> Bool {
        defer { isFeatureExchangeQuiet = false }
        return isFeatureExchangeQuiet
    }

    var isTerminating: Bool { terminateUntil != nil }
    var awaitsInstant: Bool { pendingUpdate != nil || pendingChannels != nil || pendingPHYs != nil }
    var deadline: Instant? {
        guard let running else { return terminateUntil }
        return terminateUntil.map { min($0, running.until) } ?? running.until
    }
}
