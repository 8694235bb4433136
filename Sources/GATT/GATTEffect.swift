/// What the owner of a bearer must do, in order.
package enum GATTEffect: Equatable, Sendable {
    /// Hand the PDU to the link, on this bearer.
    case send([UInt8], on: GATTBearerID = .fixed)
    /// Hand the PDU to the link, on the fixed channel. Nobody will answer it: what was asked for under `id` is done
    /// when the link has taken it, which is the owner's to tell, for only the owner knows the buffers.
    case sendUnanswered([UInt8], id: UInt64)
    /// What was asked for under `id` has ended. It comes exactly once.
    case finish(id: UInt64, Result<GATTAnswer, GATTFailure>)
    /// ATT_MTU of the fixed channel has changed.
    case mtuChanged(Int)

    // Client side.
    /// A notification, or an indication that has already been confirmed.
    case notified(handle: UInt16, value: [UInt8])
    /// The peer's Service Changed: what lies in these handles must be discovered anew.
    case servicesChanged(ClosedRange<UInt16>)

    // Server side.
    case readRequested(GATTReadRequest)
    case writeRequested(GATTWriteRequest)
    /// The peer wrote the configuration descriptor of the characteristic whose value is at `handle`.
    case subscribed(handle: UInt16, GATTSubscription)
    case unsubscribed(handle: UInt16)
    /// ``GATTConnection/clientStatus`` is another.
    case clientChanged

    /// Log it: this PDU from the peer breaks the protocol, or nobody waits for it.
    case reportViolation([UInt8])
    /// Close this channel: by the protocol nothing may be sent on it any more. For this machine it is gone already.
    case closeBearer(GATTBearerID)
    /// Drop the link: by the protocol nothing may be sent on its fixed channel any more.
    case drop
}

/// The peer reads a value that only the owner knows. It is answered by `respond` with the value from `offset` on.
package struct GATTReadRequest: Equatable, Sendable {
    package var id: UInt64
    package var handle: UInt16
    package var offset: Int

    package init(id: UInt64, handle: UInt16, offset: Int) {
        self.id = id
        self.handle = handle
        self.offset = offset
    }
}

/// The peer writes values that only the owner can take: one, or all parts of an executed queue together.
package struct GATTWriteRequest: Equatable, Sendable {
    package var id: UInt64
    package var parts: [GATTWritePart]
    /// Whether the peer waits for `respond`. A Write Command does not.
    package var needsResponse: Bool

    package init(id: UInt64, parts: [GATTWritePart], needsResponse: Bool) {
        self.id = id
        self.parts = parts
        self.needsResponse = needsResponse
    }
}
