/// The header of a PDU on a data channel.
///
/// Source: Core 6.0, Vol 6, Part B, 2.4.
package struct DataHeader: RawRepresentable, Hashable, Sendable {
    /// What the payload is.
    package enum Kind: UInt16, Sendable {
        case reserved = 0b00
        /// The continuation of an L2CAP PDU, or an empty PDU.
        case continuation = 0b01
        /// An L2CAP PDU from its start.
        case start = 0b10
        case control = 0b11
    }

    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package init(
        _ kind: Kind, nextExpected: Bool, sequence: Bool, hasMoreData: Bool, payloadCount: Int
    ) {
        rawValue =
            kind.rawValue | (nextExpected ? 1 << 2 : 0) | (sequence ? 1 << 3 : 0) | (hasMoreData ? 1 << 4 : 0)
            | UInt16(truncatingIfNeeded: payloadCount) << 8
    }

    package var kind: Kind { Kind(rawValue: rawValue & 0b11)! }
    /// NESN: the sequence number that the sender waits for, which acknowledges the other one.
    package var nextExpected: Bool { rawValue >> 2 & 1 == 1 }
    /// SN.
    package var sequence: Bool { rawValue >> 3 & 1 == 1 }
    /// MD: the sender has more to say in this event.
    package var hasMoreData: Bool { rawValue >> 4 & 1 == 1 }
    package var payloadCount: Int { Int(rawValue >> 8) }
}
