/// One channel: cuts SDUs into frames as the peer's credits allow, puts the peer's frames together, and counts what
/// the peer may send by what has been read here.
///
///     opening ── response ──▶ open ── close, violation ──▶ closing ── response, timeout ──▶ gone
///
/// Source: Core 6.0, Vol 3, Part A, 3.4 and 10.1.
struct CreditBasedChannel: Sendable {
    enum State: Equatable, Sendable {
        /// The peer has not answered yet.
        case opening
        case open
        /// The peer was asked to close it. Whether the end has been told already.
        case closing(isTold: Bool)
    }

    private struct SDU: Sendable {
        var octets: [UInt8]
        var sent = 0
        var token: UInt64?
    }

    enum Reception: Equatable {
        case nothing
        case sdu(ArraySlice<UInt8>)
        case violation(ChannelViolation)
    }

    let local: ChannelID
    let spsm: UInt16
    let mode: ChannelMode
    var state: State
    /// The peer's number of it; 0 while it is opening.
    var remote = ChannelID(rawValue: 0)

    // Sending.
    private(set) var peerMTU: UInt16 = 0
    private(set) var peerMPS: UInt16 = 0
    private var frameLength = 0
    private var credits = 0
    private var queue: [SDU] = []
    /// The SDUs before this index have been sent.
    private var head = 0

    // Receiving.
    private(set) var capacity: ChannelCapacity
    private var peerCredits: Int
    private var announced = 0
    private var collected: [UInt8] = []
    private var isCollecting = false
    private var unread = 0

    init(local: ChannelID, spsm: UInt16, mode: ChannelMode, capacity: ChannelCapacity) {
        self.local = local
        self.spsm = spsm
        self.mode = mode
        self.capacity = capacity
        state = .opening
        peerCredits = min(capacity.window / Int(capacity.mps), 0xFFFF)
    }

    /// What the peer is told when the channel is opened.
    var initialCredits: UInt16 { UInt16(peerCredits) }

    mutating func open(remote: ChannelID, mtu: UInt16, mps: UInt16, credits: UInt16) {
        self.remote = remote
        self.credits = Int(credits)
        state = .open
        setPeer(mtu: mtu, mps: mps)
    }
}

// MARK: - Sending

extension CreditBasedChannel {
    mutating func setPeer(mtu: UInt16, mps: UInt16) {
        peerMTU = mtu
        peerMPS = mps
        frameLength = Self.frameLength(atMost: Int(mps))
    }

    /// A frame and its header fill whole link-layer packets of 251 octets if it can be; and no frame occupies the
    /// link for long.
    private static func frameLength(atMost mps: Int) -> Int {
        let packets = min((mps + 4) / 251, 4)
        return packets == 0 ? mps : packets * 251 - 4
    }

    /// How long SDUs should be that are a stream of octets anyway: whole frames.
    var bestLength: Int {
        let frames = min((Int(peerMTU) + 2) / frameLength, 8)
        return frames == 0 ? Int(peerMTU) : frames * frameLength - 2
    }

    /// SDUs that have not been sent, or not all of them.
    var waitingCount: Int { queue.count - head }

    /// - Precondition: `octets` are no more than the peer's MTU.
    mutating func enqueue(_ octets: [UInt8], token: UInt64?) {
        precondition(octets.count <= peerMTU, "\(octets.count) octets do not fit the peer's MTU of \(peerMTU).")
        queue.append(SDU(octets: octets, token: token))
    }

    /// The next frame as an L2CAP PDU, and the token of the SDU that it ends; `nil` while there is nothing to send or
    /// no credit.
    mutating func nextFrame() -> (pdu: [UInt8], token: UInt64?)? {
        guard head < queue.count, credits > 0, state == .open else { return nil }
        credits -= 1
        let isFirst = queue[head].sent == 0
        let total = queue[head].octets.count
        let start = queue[head].sent
        let end = min(start + frameLength - (isFirst ? 2 : 0), total)
        var pdu: [UInt8] = []
        let length = end - start + (isFirst ? 2 : 0)
        pdu.reserveCapacity(4 + length)
        func append(_ value: Int) {
            pdu.append(UInt8(truncatingIfNeeded: value))
            pdu.append(UInt8(truncatingIfNeeded: value >> 8))
        }
        append(length)
        append(Int(remote.rawValue))
        if isFirst { append(total) }
        pdu += queue[head].octets[start..<end]
        queue[head].sent = end
        guard end == total else { return (pdu, nil) }
        let token = queue[head].token
        queue[head].octets = []
        head += 1
        // The queue may never run empty, and then what is sent would pile up.
        if head == queue.count || head > 64 && head > queue.count / 2 {
            queue.removeFirst(head)
            head = 0
        }
        return (pdu, token)
    }

    /// Takes the peer's credits; false if they are none, or more than there can be (4.24).
    mutating func add(credits more: UInt16) -> Bool {
        guard more > 0, credits + Int(more) <= 0xFFFF else { return false }
        credits += Int(more)
        return true
    }

    /// Forgets what has not been sent.
    ///
    /// - Returns: the tokens of it, in order.
    mutating func dropQueue() -> [UInt64] {
        defer {
            queue = []
            head = 0
        }
        return queue[head...].compactMap(\.token)
    }
}

// MARK: - Receiving

extension CreditBasedChannel {
    /// Takes the payload of one frame.
    mutating func receive(_ payload: ArraySlice<UInt8>) -> Reception {
        guard peerCredits > 0 else { return .violation(.frameWithoutCredit) }
        peerCredits -= 1
        guard payload.count <= capacity.mps else { return .violation(.frameTooLong) }
        guard !payload.isEmpty else { return .violation(.emptyFrame) }
        return isCollecting ? goOn(payload) : begin(payload)
    }

    private mutating func begin(_ payload: ArraySlice<UInt8>) -> Reception {
        guard payload.count >= 2 else { return .violation(.noLength) }
        let length = Int(payload[payload.startIndex]) | Int(payload[payload.startIndex + 1]) << 8
        let rest = payload.dropFirst(2)
        guard length <= capacity.mtu else { return .violation(.sduTooLong) }
        guard rest.count <= length else { return .violation(.lengthExceeded) }
        if rest.count == length { return complete(rest) }
        isCollecting = true
        announced = length
        collected.reserveCapacity(length)
        collected += rest
        return .nothing
    }

    private mutating func goOn(_ payload: ArraySlice<UInt8>) -> Reception {
        guard collected.count + payload.count <= announced else { return .violation(.lengthExceeded) }
        collected += payload
        guard collected.count == announced else { return .nothing }
        defer { collected = [] }
        isCollecting = false
        return complete(collected[...])
    }

    private mutating func complete(_ sdu: ArraySlice<UInt8>) -> Reception {
        unread += sdu.count
        return .sdu(sdu)
    }

    /// So many octets have been read.
    mutating func read(_ count: Int) { unread = max(0, unread - count) }

    /// Frames that a peer can go on sending for while the packet with new credits is on its way.
    private static let reserve = 12

    /// How many credits the peer is to be given now: not for each frame, for the packet that gives them takes the time
    /// of one that brings data, but before it has none.
    mutating func creditsToGive() -> UInt16? {
        let room = max(0, capacity.window - unread - collected.count)
        let wanted = min(room / Int(capacity.mps), 0xFFFF)
        let gift = wanted - peerCredits
        let enough = max(1, capacity.window / Int(capacity.mps) - Self.reserve)
        guard state == .open, gift > 0, gift >= enough || peerCredits == 0 else { return nil }
        peerCredits += gift
        return UInt16(gift)
    }

    mutating func setOwn(mtu: UInt16, mps: UInt16) {
        capacity = ChannelCapacity(
            mtu: mtu, mps: mps, window: max(capacity.window, Int(mtu) + Int(mps)))
    }
}
