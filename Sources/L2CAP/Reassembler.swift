/// Puts the fragments of one link together again.
///
///               start, not all of it                 continuation, the rest
///     waiting ────────────────────────▶ collecting ─────────────────────────▶ waiting, with a PDU
///        │ start of a PDU that is too long  │ start: what was collected is lost
///        ▼                                  │ continuation, more than the rest: likewise
///     skipping ── its last octet ──▶ waiting ◀┘
///
/// A PDU that came in one piece is handed out as a slice of the packet that carried it.
///
/// Source: Core 6.0, Vol 3, Part A, 7.2.2.
package struct Reassembler: Sendable {
    package struct PDU: Equatable, Sendable {
        package var channel: ChannelID
        package var payload: ArraySlice<UInt8>

        package init(channel: ChannelID, payload: ArraySlice<UInt8>) {
            self.channel = channel
            self.payload = payload
        }
    }

    private static let headerLength = 4

    private let maximumLength: Int
    private var collected: [UInt8] = []
    /// Octets of a refused PDU that are still to come.
    private var toSkip = 0

    /// How many fragments did not fit together so far. Their octets are lost.
    package private(set) var violations = 0

    /// - Parameter maximumLength: octets of payload in a PDU, at most. What announces more is refused at once, so
    ///   that a peer cannot make us keep more. The default is the longest PDU of the Attribute Protocol.
    package init(maximumLength: Int = 517) {
        self.maximumLength = maximumLength
    }

    /// Takes what one ACL data packet carries.
    ///
    /// - Parameter isStart: what the packet's boundary flag says.
    /// - Returns: the PDU that ends with this fragment; `nil` if none does.
    package mutating func receive(_ fragment: ArraySlice<UInt8>, isStart: Bool) -> PDU? {
        if isStart {
            if !collected.isEmpty { drop() }
            toSkip = 0
            if let total = total(of: fragment), total == fragment.count, total - Self.headerLength <= maximumLength {
                return pdu(fragment)
            }
        } else if toSkip > 0 {
            toSkip = max(0, toSkip - fragment.count)
            return nil
        } else if collected.isEmpty {
            violations += 1
            return nil
        }
        return collect(fragment)
    }

    private mutating func collect(_ fragment: ArraySlice<UInt8>) -> PDU? {
        guard !fragment.isEmpty else {
            violations += 1
            return nil
        }
        // The header itself may be split.
        let known = collected.count < Self.headerLength ? collected + fragment.prefix(Self.headerLength) : collected
        let length = collected.count + fragment.count
        guard let total = total(of: known[...]) else {
            collected += fragment
            return nil
        }
        guard total - Self.headerLength <= maximumLength else {
            drop()
            toSkip = max(0, total - length)
            return nil
        }
        guard length <= total else {
            drop()
            return nil
        }
        if collected.isEmpty { collected.reserveCapacity(total) }
        collected += fragment
        guard length == total else { return nil }
        defer { collected = [] }
        return pdu(collected[...])
    }

    private mutating func drop() {
        violations += 1
        collected = []
        toSkip = 0
    }

    /// How long the PDU is that begins here, header included; `nil` while its header is not there.
    private func total(of octets: ArraySlice<UInt8>) -> Int? {
        guard octets.count >= Self.headerLength else { return nil }
        return Self.headerLength + Int(octets[octets.startIndex]) + Int(octets[octets.startIndex + 1]) << 8
    }

    private func pdu(_ octets: ArraySlice<UInt8>) -> PDU {
        let start = octets.startIndex
        let channel = UInt16(octets[start + 2]) | UInt16(octets[start + 3]) << 8
        return PDU(channel: ChannelID(rawValue: channel), payload: octets[(start + Self.headerLength)...])
    }
}
