import ATT

/// How far a link is protected, as far as attributes care (Core 6.0, Vol 3, Part C, 10.3.1).
package enum GATTLinkSecurity: Equatable, Sendable {
    /// - Parameter hasKey: whether a key from an earlier pairing is at hand, so that encrypting would do.
    case unencrypted(hasKey: Bool)
    case encrypted
}

/// What client and server of one bearer share.
struct BearerState: Sendable {
    /// ATT_MTU: the longest PDU that either side may send. 23...517.
    private(set) var mtu = ATTLimits.defaultMTU
    /// The longest PDU that this side can take.
    let ownRxMTU: Int
    /// Whether this side's Exchange MTU Request has had its answer: it may be sent once only.
    var hasExchanged = false

    init(ownRxMTU: Int) {
        precondition((ATTLimits.defaultMTU...0xFFFF).contains(ownRxMTU), "An MTU is 23...65535, not \(ownRxMTU).")
        self.ownRxMTU = ownRxMTU
    }

    /// The lesser of the two sides' MTUs becomes ATT_MTU (Core 6.0, Vol 3, Part F, 3.4.2.2).
    mutating func agree(peerRxMTU: UInt16) -> [GATTEffect] {
        let agreed = max(ATTLimits.defaultMTU, min(ownRxMTU, Int(peerRxMTU)))
        guard agreed != mtu else { return [] }
        mtu = agreed
        return [.mtuChanged(agreed)]
    }
}
