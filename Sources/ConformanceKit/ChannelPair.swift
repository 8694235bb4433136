import EventLoop
import GATT
import L2CAP

/// One side of a signalling channel, and what has come of it.
struct ChannelEndpoint {
    var machine: Signalling
    /// What its owner was told, in order.
    private(set) var told: [Signalling.Effect] = []
    private(set) var received: [UInt8] = []
    private(set) var ended: [UInt64] = []

    init(role: Signalling.Role = .peripheral, capacity: ChannelCapacity = ChannelCapacity()) {
        machine = Signalling(role: role, capacity: capacity)
    }

    /// - Returns: the L2CAP PDUs that go to the other side.
    mutating func ask(_ input: Signalling.Input) -> [[UInt8]] {
        var pdus: [[UInt8]] = []
        var inputs = [input]
        while !inputs.isEmpty {
            for effect in machine.handle(inputs.removeFirst(), at: Instant()) {
                switch effect {
                case .send(let payload): pdus.append(l2capPDU(payload, channel: .signalling))
                case .sendFrame(let pdu, let token):
                    pdus.append(pdu)
                    if let token { ended.append(token) }
                case .received(let channel, let sdu):
                    received += sdu
                    inputs.append(.read(channel, sdu.count))
                    told.append(effect)
                case .update, .updateFinished, .opened, .openFailed, .accepted, .closed, .reconfigured,
                    .peerTakesMore:
                    told.append(effect)
                }
            }
        }
        return pdus
    }

    /// - Parameter command: of the signalling channel.
    /// - Returns: the commands that answer it.
    mutating func hear(_ command: [UInt8]) -> [[UInt8]] {
        ask(.receive(command[...])).map { Array($0.dropFirst(4)) }
    }

    mutating func take(_ pdu: Reassembler.PDU) -> [[UInt8]] {
        ask(pdu.channel == .signalling ? .receive(pdu.payload) : .receiveFrame(pdu.channel, pdu.payload))
    }
}

/// The stack under test and a tester with the same machine, on one link.
struct ChannelPair {
    var iut: ChannelEndpoint
    var tester = ChannelEndpoint()
    private var toIUT: [[UInt8]] = []
    private var toTester: [[UInt8]] = []

    init(capacity: ChannelCapacity, spsm: UInt16) {
        iut = ChannelEndpoint(role: .central, capacity: capacity)
        tester.machine.offers = [ChannelOffer(spsm: spsm)]
    }

    mutating func ask(_ input: Signalling.Input) { toTester += iut.ask(input) }

    /// Carries PDUs to and fro until there are none.
    mutating func settle() throws(Mismatch) {
        var reassembler = Reassembler(maximumLength: 1000)
        var count = 0
        while !toIUT.isEmpty || !toTester.isEmpty {
            count += 1
            try Mismatch.check("PDUs, at most", true, count < 10_000)
            let isToIUT = toTester.isEmpty
            let octets = isToIUT ? toIUT.removeFirst() : toTester.removeFirst()
            guard let pdu = reassembler.receive(octets[...], isStart: true) else {
                throw Mismatch(place: "PDU \(count)", expected: "a basic frame", actual: "\(octets)")
            }
            if isToIUT { toTester += iut.take(pdu) } else { toIUT += tester.take(pdu) }
        }
    }

    /// Sends octets in SDUs, and compares what arrives.
    mutating func transfer(_ count: Int, on channel: ChannelID, toIUT: Bool) throws(Mismatch) {
        let octets = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 5 &+ $0 >> 8) }
        let source = toIUT ? tester.machine.openChannels.first : channel
        let information = source.flatMap { (toIUT ? tester : iut).machine.information($0) }
        guard let source, let length = information?.bestLength else {
            throw Mismatch(place: "transfer", expected: "an open channel", actual: "none")
        }
        for start in stride(from: 0, to: count, by: length) {
            let sdu = Array(octets[start..<min(start + length, count)])
            if toIUT {
                self.toIUT += tester.ask(.send(source, sdu, token: UInt64(start)))
            } else {
                ask(.send(source, sdu, token: UInt64(start)))
            }
        }
        try settle()
        let received = toIUT ? iut.received : tester.received
        try Mismatch.check("octets", count, received.count)
        try Mismatch.check("octets as they were sent", true, received == octets)
        let ended = (toIUT ? tester : iut).ended.count
        try Mismatch.check("SDUs sent", (count + length - 1) / length, ended)
    }
}

/// The channel of the Attribute Protocol, which needs no set-up.
struct AttributeChannel {
    private var bearer = GATTConnection()
    private var database = AttributeDatabase()

    mutating func initiate() throws(Mismatch) {
        let effects = bearer.handle(.submit(id: 1, .exchangeMTU), database: &database, at: Instant())
        // Exchange MTU Request (Core 6.0, Vol 3, Part F, 3.4.2.1).
        let opcodes = effects.map { if case .send(let pdu, _) = $0 { pdu.first } else { nil as UInt8? } }
        try Mismatch.check("request", [0x02], opcodes)
    }

    mutating func accept() throws(Mismatch) {
        var reassembler = Reassembler()
        let pdu = reassembler.receive([0x03, 0x00, 0x04, 0x00, 0x02, 0x17, 0x00], isStart: true)
        try Mismatch.check("channel", .attribute, pdu?.channel)
        let effects = bearer.handle(.receive(pdu?.payload ?? []), database: &database, at: Instant())
        let opcodes = effects.compactMap { if case .send(let pdu, _) = $0 { pdu.first } else { nil as UInt8? } }
        try Mismatch.check("response", [0x03], opcodes)
    }
}
