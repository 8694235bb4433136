import HCI

/// Shares the controller's ACL buffers out among the links: as many packets as there are free buffers, each link in
/// its turn, each link's PDUs in order.
///
/// Source: Core 6.0, Vol 4, Part E, 4.1.1 (host to controller data flow control).
package struct ACLScheduler {
    /// An L2CAP PDU on its way, header included.
    fileprivate struct PDU {
        var octets: [UInt8]
        var sent = 0
        /// Whom to tell when the controller has all of it.
        var token: UInt64?
        var isAnswer: Bool
    }

    fileprivate struct Lane {
        var handle: UInt16
        var pdus: [PDU] = []
        /// The PDUs before this index have been handed over.
        var head = 0
        /// Packets that lie in the controller.
        var outstanding = 0
        /// PDUs that wait here and that this host says by itself, such as answers to the peer.
        var answers = 0
        /// Octets of L2CAP data in a packet.
        var packetLength: Int

        var isEmpty: Bool { head == pdus.count }
    }

    private var lanes: [Lane] = []
    private var turn = 0
    private var freeBuffers: Int
    private let bufferLength: Int

    /// - Parameters:
    ///   - bufferCount: how many packets the controller holds.
    ///   - bufferLength: octets of L2CAP data in one of them, 27 or more.
    package init(bufferCount: Int, bufferLength: Int) {
        freeBuffers = bufferCount
        self.bufferLength = max(bufferLength, 27)
    }

    package mutating func addLink(_ handle: UInt16) {
        lanes.append(Lane(handle: handle, packetLength: packetLength(for: 27)))
    }

    /// The link layer sends so many octets in one of its packets. It cuts up what it is given, and does not join it: so
    /// that none of its packets is short but a PDU's last, it is given a multiple.
    package mutating func setDataLength(_ octets: Int, on handle: UInt16) {
        guard let index = lanes.firstIndex(where: { $0.handle == handle }) else { return }
        lanes[index].packetLength = packetLength(for: octets)
    }

    private func packetLength(for octets: Int) -> Int {
        octets > bufferLength || octets < 1 ? bufferLength : bufferLength / octets * octets
    }

    /// Forgets the link. Its packets in the controller are gone, and their buffers free (4.1.1).
    package mutating func removeLink(_ handle: UInt16) {
        guard let index = lanes.firstIndex(where: { $0.handle == handle }) else { return }
        freeBuffers += lanes.remove(at: index).outstanding
        if turn > index { turn -= 1 }
    }

    /// Sends nothing more on a link that is dead; what lies in the controller counts until the link has ended there.
    package mutating func dropWaiting(on handle: UInt16) {
        guard let index = lanes.firstIndex(where: { $0.handle == handle }) else { return }
        let outstanding = lanes[index].outstanding
        lanes[index] = Lane(handle: handle, packetLength: lanes[index].packetLength)
        lanes[index].outstanding = outstanding
    }

    /// Puts a PDU in line.
    ///
    /// - Parameter isAnswer: whether this host says it by itself; by default, what has no token.
    package mutating func enqueue(_ octets: [UInt8], on handle: UInt16, token: UInt64?, isAnswer: Bool? = nil) {
        let isAnswer = isAnswer ?? (token == nil)
        guard let index = lanes.firstIndex(where: { $0.handle == handle }) else { return }
        lanes[index].pdus.append(PDU(octets: octets, token: token, isAnswer: isAnswer))
        if isAnswer { lanes[index].answers += 1 }
    }

    /// How many PDUs that this host says by itself wait for a link. They pile up if a peer asks and asks, and takes no
    /// answer.
    package func waitingAnswers(on handle: UInt16) -> Int {
        lanes.firstIndex { $0.handle == handle }.map { lanes[$0].answers } ?? 0
    }

    /// How many packets of a link the peer has not yet acknowledged, or would be needed for what waits here.
    package func unacknowledgedPackets(on handle: UInt16) -> Int {
        guard let lane = lanes.first(where: { $0.handle == handle }) else { return 0 }
        return lane.pdus[lane.head...].reduce(lane.outstanding) {
            $0 + ($1.octets.count - $1.sent + lane.packetLength - 1) / lane.packetLength
        }
    }

    /// The controller is done with `count` packets of a link; more than it was given is its error and not counted.
    package mutating func complete(_ count: Int, on handle: UInt16) {
        guard let index = lanes.firstIndex(where: { $0.handle == handle }) else { return }
        let known = min(count, lanes[index].outstanding)
        lanes[index].outstanding -= known
        freeBuffers += known
    }

    /// A packet to hand to the controller, and the token of the PDU that it ends.
    package typealias Packet = (octets: [UInt8], handle: UInt16, token: UInt64?)

    /// The next packet; `nil` while there is nothing to send or no room for it.
    package mutating func next() -> Packet? {
        guard freeBuffers > 0, !lanes.isEmpty else { return nil }
        for step in 0..<lanes.count {
            let index = (turn + step) % lanes.count
            guard !lanes[index].isEmpty else { continue }
            turn = (index + 1) % lanes.count
            freeBuffers -= 1
            return lanes[index].takePacket()
        }
        return nil
    }
}

extension ACLScheduler.Lane {
    fileprivate mutating func takePacket() -> ACLScheduler.Packet {
        let start = pdus[head].sent
        let end = min(start + packetLength, pdus[head].octets.count)
        let packet = aclPacket(
            handle: handle, boundary: start == 0 ? .firstNonFlushable : .continuation,
            payload: pdus[head].octets[start..<end])
        outstanding += 1
        pdus[head].sent = end
        guard end == pdus[head].octets.count else { return (packet, handle, nil) }
        let token = pdus[head].token
        if pdus[head].isAnswer { answers -= 1 }
        pdus[head].octets = []
        head += 1
        // A lane may never run empty, and then what is sent would pile up.
        if head == pdus.count || head > 64 && head > pdus.count / 2 {
            pdus.removeFirst(head)
            head = 0
        }
        return (packet, handle, token)
    }
}
