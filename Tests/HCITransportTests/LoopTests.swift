import EventLoop
import Foundation
import HCITransport
import ProtocolTestKit
import Synchronization
import Testing

@Suite("The loop on real time", .timeLimit(.minutes(1)))
struct LoopTests {
    @Test("What is enqueued runs in order on the loop's thread, and all of it before the loop ends")
    func inbox() {
        let loop = RealTimeLoop()
        let order = Shared<[Int]>([])
        loop.start()
        for number in 0..<1000 {
            loop.enqueue { _ in
                loop.checkIsolated()
                order.value.withLock { $0.append(number) }
            }
        }
        loop.stop()
        #expect(order.value.withLock { $0 } == Array(0..<1000))
        loop.enqueue { _ in order.value.withLock { $0.append(-1) } }  // Dropped.
    }

    @Test("Work enqueued on the loop runs in a later turn, not inline")
    func notInline() {
        let loop = RealTimeLoop()
        let steps = Shared<[String]>([])
        loop.enqueue { _ in
            loop.enqueue { _ in steps.value.withLock { $0.append("inner") } }
            steps.value.withLock { $0.append("outer") }
        }
        loop.run { steps.value.withLock { $0.count } == 2 }
        #expect(steps.value.withLock { $0 } == ["outer", "inner"])
    }

    @Test("A participant is woken at its deadline and not before, and each turn ends with everybody")
    func deadline() {
        let loop = RealTimeLoop()
        let sleeper = Sleeper(deadline: loop.now.advanced(by: .milliseconds(2)))
        loop.add(sleeper)
        loop.run { sleeper.deadline == nil }
        #expect(sleeper.wakeups.count == 1)
        #expect(sleeper.wakeups.allSatisfy { $0 >= sleeper.due })
        #expect(sleeper.turns >= 1)
    }

    @Test("Stopped from its own thread, it ends without waiting for itself")
    func stopsItself() {
        let loop = RealTimeLoop()
        loop.enqueue { _ in loop.stop() }
        loop.run { false }
    }
}

@Suite("Connecting and listening", .timeLimit(.minutes(1)))
struct ConnectingTests {
    @Test("Client and server, over TCP and over a Unix socket", arguments: [true, false])
    func ends(isTCP: Bool) throws {
        let loop = RealTimeLoop()
        let path = temporaryPath()
        var server: StreamTransport?
        let listener =
            isTCP
            ? try SocketListener(port: 0, on: loop) { server = $0 }
            : try SocketListener(path: path, on: loop) { server = $0 }
        let client =
            isTCP
            ? try StreamTransport.connect(host: "localhost", port: listener.port, on: loop)
            : try StreamTransport.connect(path: path, on: loop)
        var answers: [TransportEvent] = []
        client.open { answers.append($0) }
        loop.run { server != nil }
        server?.open { [weak server] event in
            if case .packets = event { server?.send(hex("04 0E 04 01 03 0C 00")) }
        }
        client.send(hex("01 03 0C 00"))
        loop.run { !answers.isEmpty }
        #expect(answers == [.packets([hex("04 0E 04 01 03 0C 00")[...]])])
        client.close()
        server?.close()
        listener.close()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("Nobody there")
    func nobody() throws {
        let loop = RealTimeLoop()
        let listener = try SocketListener(port: 0, on: loop) { _ in }
        let port = listener.port
        listener.close()
        #expect(throws: TransportError.nobodyListens(at: "127.0.0.1:\(port)")) {
            try StreamTransport.connect(host: "127.0.0.1", port: port, on: loop)
        }
        let path = temporaryPath()
        #expect(throws: TransportError.noSocket(path: path)) { try StreamTransport.connect(path: path, on: loop) }
        try Data().write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: TransportError.nobodyListens(at: path)) { try StreamTransport.connect(path: path, on: loop) }
        let long = "/tmp/" + String(repeating: "x", count: 120)
        #expect(throws: TransportError.pathTooLong(long)) { try StreamTransport.connect(path: long, on: loop) }
    }

    @Test("A Unix socket is its owner's alone, and one that was left behind is replaced")
    func unixSocket() throws {
        let loop = RealTimeLoop()
        let path = temporaryPath()
        #expect(throws: TransportError.pathTaken("/tmp")) { try SocketListener(path: "/tmp", on: loop) { _ in } }
        let listener = try SocketListener(path: path, on: loop) { _ in }
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o777 } == 0o600)
        #expect(throws: TransportError.addressInUse(path)) { try SocketListener(path: path, on: loop) { _ in } }

        // Moved away, it is not removed with its listener.
        try FileManager.default.moveItem(atPath: path, toPath: path + ".left")
        listener.close()
        try FileManager.default.moveItem(atPath: path + ".left", toPath: path)
        let next = try SocketListener(path: path, on: loop) { _ in }
        next.close()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    private func temporaryPath() -> String { NSTemporaryDirectory() + "socket-\(UUID().uuidString)" }
}

private final class Sleeper: LoopParticipant {
    let due: Instant
    private(set) var deadline: Instant?
    private(set) var wakeups: [Instant] = []
    private(set) var turns = 0

    init(deadline: Instant) {
        due = deadline
        self.deadline = deadline
    }

    func wake(at now: Instant) {
        wakeups.append(now)
        deadline = nil
    }

    func endTurn() { turns += 1 }
}

private final class Shared<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
}
