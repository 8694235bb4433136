import EventLoop
import Foundation
import HCITransport
import ProtocolTestKit
import Testing

/// What every kind of transport owes its owner. The other side is a bare socket, and the loop runs on the test's own
/// thread, until what must come has come.
@Suite("Transports", .timeLimit(.minutes(60)))
struct TransportTests {
    private static let command = hex("01 03 0C 00")
    private static let event = hex("04 0E 04 01 03 0C 00")
    private static let data = hex("02 40 20 03 00 AA BB CC")

    @Test("Packets in order, both ways", arguments: BarePeer.Kind.allCases)
    func bothWays(kind: BarePeer.Kind) throws {
        let bench = try Bench(kind)
        bench.peer.write(packets: [Self.event, Self.data])
        bench.run { bench.packets.count == 2 }
        #expect(bench.packets == [Self.event, Self.data])
        bench.transport.send(Self.data)
        bench.transport.send(Self.command)
        bench.turn()
        var received: [UInt8] = []
        while received.count < Self.data.count + Self.command.count { received += bench.peer.read(64) }
        #expect(received == Self.data + Self.command)
    }

    @Test("A packet in single octets comes out once, whole", arguments: BarePeer.Kind.streams)
    func partial(kind: BarePeer.Kind) throws {
        let bench = try Bench(kind)
        for octet in Self.event.dropLast() {
            bench.peer.write([octet])
            bench.turn()
        }
        #expect(bench.events.isEmpty)
        bench.peer.write([Self.event.last!])
        bench.run { !bench.events.isEmpty }
        #expect(bench.packets == [Self.event])
    }

    @Test("Many packets that are there together come out in one batch", arguments: BarePeer.Kind.allCases)
    func batch(kind: BarePeer.Kind) throws {
        let bench = try Bench(kind)
        bench.peer.write(packets: Array(repeating: Self.event, count: 50))
        // The kernel hands an adapter's packets on when it comes to them.
        bench.run { kind == .userChannel ? bench.packets.count == 50 : !bench.events.isEmpty }
        #expect(bench.packets == Array(repeating: Self.event, count: 50))
        if kind != .userChannel { #expect(bench.events.count == 1) }
    }

    @Test("More packets than one turn takes come out in the next")
    func manyBatches() throws {
        let bench = try Bench(.packets)
        bench.peer.write(packets: Array(repeating: Self.event, count: 100))
        bench.run { bench.packets.count == 100 }
        #expect(bench.events.count == 2)
    }

    @Test(
        "Where packets come one by one, what is none is dropped, and the next counts",
        arguments: ["48", "04 0E 04 01 03 0C", "04 0E 04 01 03 0C 00 00", "04", "02 40 20"])
    func noPacket(octets: String) throws {
        let bench = try Bench(.packets)
        bench.peer.write(packets: [Self.event, hex(octets), Self.data])
        bench.run { bench.packets.count == 2 }
        #expect(bench.packets == [Self.event, Self.data])
        #expect((bench.transport as? PacketTransport)?.malformedPackets == 1)
    }

    @Test("An unknown type ends a stream, behind the packets before", arguments: BarePeer.Kind.streams)
    func unknownType(kind: BarePeer.Kind) throws {
        let bench = try Bench(kind)
        bench.peer.write(Self.event + [0x48] + Self.event)
        bench.run { bench.events.count == 2 }
        #expect(
            bench.events == [
                .packets([Self.event[...]]), .closed(.framing(.notH4(octet: 0x48, offset: 7))),
            ])
        bench.transport.send(Self.event)  // Into the void.
        bench.turn()
    }

    @Test("The other side goes, between packets and inside one", arguments: BarePeer.Kind.allCases)
    func closed(kind: BarePeer.Kind) throws {
        let bench = try Bench(kind)
        bench.peer.close()
        bench.run { !bench.events.isEmpty }
        #expect(bench.events == [.closed(bench.peer.ended())])

        let other = try Bench(kind)
        other.peer.write(Array(Self.event.dropLast()))
        other.peer.close()
        other.run { !other.events.isEmpty }
        #expect(other.events == [.closed(other.peer.ended(insidePacket: true))])
    }

    @Test("A peer that leaves without having read has closed the stream, too", arguments: BarePeer.Kind.allCases)
    func reset(kind: BarePeer.Kind) throws {
        // Linux answers a close with octets unread by a reset: the next read fails with ECONNRESET.
        let bench = try Bench(kind)
        bench.transport.send(Self.data)
        bench.turn()
        bench.peer.close()
        bench.run { !bench.events.isEmpty }
        #expect(bench.events == [.closed(bench.peer.ended())])

        // Written to, a stream that the peer has closed fails with EPIPE.
        let other = try Bench(kind)
        other.transport.send(Self.data)
        other.turn()
        other.peer.close()
        other.transport.send(Self.data)
        other.turn()
        other.run { !other.events.isEmpty }
        #expect(other.events == [.closed(other.peer.ended())])
    }

    @Test("Closed on this side, it says nothing any more", arguments: BarePeer.Kind.allCases)
    func closedHere(kind: BarePeer.Kind) throws {
        let bench = try Bench(kind)
        bench.peer.write(Self.event)
        bench.transport.close()
        bench.turn()
        #expect(bench.events.isEmpty)
        // An adapter outlives who had it.
        if kind != .userChannel { #expect(bench.peer.read(1).isEmpty) }
    }

    /// The kernel's user channel takes one packet a call, and refuses sendmmsg(2).
    @Test(
        "What a turn sends leaves in one call of the system, or one a packet, and alone it does not wait",
        arguments: BarePeer.Kind.allCases)
    func oneCall(kind: BarePeer.Kind) throws {
        let bench = try Bench(kind)
        bench.transport.send(Self.command)
        bench.turn()
        #expect(bench.writeCount == 1 && bench.peer.read(64) == Self.command)
        for _ in 0..<8 { bench.transport.send(Self.data) }
        bench.turn()
        #expect(bench.writeCount == (kind.isStream ? 2 : 1 + 8))
        var received: [UInt8] = []
        while received.count < 8 * Self.data.count {
            let octets = bench.peer.read(512)
            if !kind.isStream { #expect(octets == Self.data) }
            received += octets
        }
        #expect(received == Array(repeating: Self.data, count: 8).flatMap { $0 })
    }

    @Test("A peer that reads late loses nothing", arguments: BarePeer.Kind.allCases)
    func backPressure(kind: BarePeer.Kind) throws {
        let bench = try Bench(kind)
        let count = kind == .userChannel ? 5000 : 100_000
        for _ in 0..<count { bench.transport.send(Self.data) }
        bench.turn()
        bench.turn()
        var received: [UInt8] = []
        while received.count < count * Self.data.count {
            received += bench.peer.read(1 << 16)
            bench.turn()
        }
        #expect(received == (0..<count).flatMap { _ in Self.data })
        bench.peer.write(Self.event)
        bench.run { !bench.events.isEmpty }
        #expect(bench.packets == [Self.event])
    }

    /// The kernel keeps whatever an adapter's driver does not take, and so this is no affair of the user channel.
    @Test(
        "A peer that never reads is given up",
        arguments: BarePeer.Kind.allCases.filter { $0 != .userChannel })
    func neverReads(kind: BarePeer.Kind) throws {
        let bench = try Bench(kind)
        while bench.events.isEmpty {
            for _ in 0..<100_000 { bench.transport.send(Self.data) }
            bench.turn()
        }
        #expect(bench.events == [.closed(.peerDoesNotRead)])
    }

    @Test("A recording holds what passed, both ways")
    func recording() throws {
        let path = NSTemporaryDirectory() + "recording-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let loop = RealTimeLoop()
        let peer = try BarePeer(.unix, on: loop)
        let recording = try RecordingTransport(peer.accepted, path: path, on: loop)
        var isHeard = false
        recording.open { _ in isHeard = true }
        recording.send(Self.data)
        peer.write(Self.event)
        loop.run { isHeard }
        recording.close()
        let file = try [UInt8](Data(contentsOf: URL(filePath: path)))
        #expect(Array(file.prefix(16)) == BTSnoop.header)
        #expect(file.count == 16 + 24 + Self.data.count + 24 + Self.event.count)
        #expect(file.suffix(Self.event.count) == Self.event[...])
        #expect(file[40..<40 + Self.data.count] == Self.data[...])
    }
}

/// One transport with a bare socket at its other end.
private final class Bench {
    let loop = RealTimeLoop()
    let peer: BarePeer
    let transport: any Transport
    private(set) var events: [TransportEvent] = []

    var packets: [[UInt8]] {
        events.flatMap { event -> [[UInt8]] in
            if case .packets(let packets) = event { packets.map(Array.init) } else { [] }
        }
    }

    init(_ kind: BarePeer.Kind) throws {
        peer = try BarePeer(kind, on: loop)
        transport = peer.accepted
        transport.open { [unowned self] in events.append($0) }
    }

    deinit { transport.close() }

    /// How often the system was called to take what was sent.
    var writeCount: Int? { (transport as? StreamTransport)?.writeCount ?? (transport as? PacketTransport)?.writeCount }

    func run(until isDone: () -> Bool) { loop.run(until: isDone) }

    /// One turn that looks at every descriptor and waits for none.
    func turn() {
        var turns = 0
        loop.enqueue { _ in }
        loop.run {
            turns += 1
            loop.enqueue { _ in }
            return turns == 2
        }
    }
}
