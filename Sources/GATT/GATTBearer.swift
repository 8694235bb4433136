import ATT
import EventLoop

/// How far a link is protected, as far as attributes care (Core 6.0, Vol 3, Part C, 10.3.1).
package enum GATTLinkSecurity: Equatable, Sendable {
    /// - Parameter hasKey: whether a key from an earlier pairing is at hand, so that encrypting would do.
    case unencrypted(hasKey: Bool)
    case encrypted
}

/// Which bearer of a link: the channel on this side that it is on.
package struct GATTBearerID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The one that each link has (Core 6.0, Vol 3, Part A, 2.1).
    package static let fixed = GATTBearerID(rawValue: 0x0004)
}

/// One bearer: what client and server have open on it.
///
/// Source: Core 6.0, Vol 3, Part F, 3.2.11 (bearers) and 3.3.2 (one request at a time on each).
struct GATTBearer: Sendable {
    let id: GATTBearerID
    var state: BearerState
    /// The client's.
    var requests = ATTTransactions()
    var server: GATTServer

    init(id: GATTBearerID, _ state: BearerState) {
        self.id = id
        self.state = state
        server = GATTServer(bearer: id)
    }

    var deadline: Instant? {
        switch (requests.deadline, server.deadline) {
        case (let first?, let second?): min(first, second)
        case (let first, let second): first ?? second
        }
    }

    var openTransactions: [(opcode: ATTOpcode, since: Instant)] {
        [requests.open, server.openIndication].compactMap { $0 }
    }

    // The server's calls that also change what both share.

    mutating func receiveRequest(
        _ pdu: ArraySlice<UInt8>, _ database: inout AttributeDatabase, _ client: inout ServedClient
    ) -> [GATTEffect] {
        server.receiveRequest(pdu, &database, &client, &state)
    }

    mutating func respond(
        to id: UInt64, _ code: ATTErrorCode?, _ value: [UInt8], _ database: inout AttributeDatabase,
        _ client: inout ServedClient
    ) -> [GATTEffect] {
        server.respond(to: id, code, value, &database, &client, &state)
    }

    mutating func forget(
        _ range: ClosedRange<UInt16>, _ database: inout AttributeDatabase, _ client: inout ServedClient
    ) -> [GATTEffect] {
        server.forget(range, &database, &client, &state)
    }
}

/// What client and server of one bearer share.
struct BearerState: Sendable {
    /// ATT_MTU: the longest PDU that either side may send. On the fixed channel 23...517; on another 64 and more.
    private(set) var mtu: Int
    /// The longest PDU that this side can take.
    let ownRxMTU: Int
    /// Whether ATT_MTU can be agreed by a request: on the fixed channel only, where a client may ask once. Other
    /// channels have their sizes by L2CAP (Core 6.0, Vol 3, Part F, 3.4.2).
    let exchanges: Bool
    /// Whether this side's Exchange MTU Request has had its answer.
    var hasExchanged = false

    /// The fixed channel's.
    init(ownRxMTU: Int) {
        precondition((ATTLimits.defaultMTU...0xFFFF).contains(ownRxMTU), "An MTU is 23...65535, not \(ownRxMTU).")
        self.ownRxMTU = ownRxMTU
        mtu = ATTLimits.defaultMTU
        exchanges = true
    }

    /// Of a channel on which neither side takes more than `mtu`.
    init(channelMTU mtu: Int) {
        precondition((64...0xFFFF).contains(mtu), "The MTU of an enhanced bearer is 64...65535, not \(mtu).")
        self.mtu = mtu
        ownRxMTU = mtu
        exchanges = false
    }

    /// The lesser of the two sides' MTUs becomes ATT_MTU (Core 6.0, Vol 3, Part F, 3.4.2.2).
    mutating func agree(peerRxMTU: UInt16) -> [GATTEffect] {
        let agreed = max(ATTLimits.defaultMTU, min(ownRxMTU, Int(peerRxMTU)))
        guard agreed != mtu else { return [] }
        mtu = agreed
        return [.mtuChanged(agreed)]
    }

    /// The channel takes more now.
    mutating func widen(to mtu: Int) { self.mtu = max(self.mtu, mtu) }
}
