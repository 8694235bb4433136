/// What waits to be sent on one connection: control PDUs first, then the fragments of the host's packets.
struct TransmitQueue: Sendable {
    /// A PDU without the bits of its header that change with each attempt.
    struct Outgoing: Sendable {
        var kind: DataHeader.Kind
        /// As it goes on the air.
        var payload: ArraySlice<UInt8>
        /// The opcode of a control PDU.
        var opcode: UInt8?
        /// Whether a packet of the host is through once this is acknowledged.
        var completesPacket = false

        static let empty = Outgoing(kind: .continuation, payload: [])
    }

    private struct HostPacket: Sendable {
        var kind: DataHeader.Kind
        var payload: ArraySlice<UInt8>
    }

    /// PDUs that nothing holds back: of the encryption procedures, and the last word on a connection.
    private var urgent: [[UInt8]] = []
    private var controls: [[UInt8]] = []
    private var packets = Fifo<HostPacket>()
    /// Payload octets of one data PDU. Core 6.0, Vol 6, Part B, 4.5.10, `connEffectiveMaxTxOctets`.
    var maxOctets = 27

    /// Whether only urgent PDUs go out, as while encryption starts or pauses. Core 6.0, Vol 6, Part B, 5.1.3.
    var isPaused = false

    /// Whether nothing may be sent now.
    var isEmpty: Bool { urgent.isEmpty && (isPaused || controls.isEmpty && packets.isEmpty) }
    var controlCount: Int { controls.count }

    mutating func append(_ payload: ArraySlice<UInt8>, isContinuation: Bool) {
        packets.append(HostPacket(kind: isContinuation ? .continuation : .start, payload: payload))
    }

    mutating func append(control payload: [UInt8]) { controls.append(payload) }
    mutating func append(urgent payload: [UInt8]) { urgent.append(payload) }

    mutating func removeAll() {
        urgent.removeAll()
        controls.removeAll()
        packets.removeAll()
    }

    /// How many octets of payload the next PDU has.
    var nextCount: Int {
        if let control = urgent.first { return control.count }
        if isPaused { return 0 }
        if let control = controls.first { return control.count }
        return min(packets.first?.payload.count ?? 0, maxOctets)
    }

    private func control(_ payload: [UInt8]) -> Outgoing {
        Outgoing(kind: .control, payload: payload[...], opcode: payload.first)
    }

    mutating func removeNext() -> Outgoing {
        if !urgent.isEmpty { return control(urgent.removeFirst()) }
        if isPaused { return .empty }
        if !controls.isEmpty { return control(controls.removeFirst()) }
        guard let packet = packets.first else { return .empty }
        guard packet.payload.count > maxOctets else {
            packets.removeFirst()
            return Outgoing(kind: packet.kind, payload: packet.payload, completesPacket: true)
        }
        packets.first = HostPacket(kind: .continuation, payload: packet.payload.dropFirst(maxOctets))
        return Outgoing(kind: packet.kind, payload: packet.payload.prefix(maxOctets))
    }
}
