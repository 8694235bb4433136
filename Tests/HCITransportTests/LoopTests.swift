import Dispatch
import EventLoop
import Foundation
import HCITransport
import ProtocolTestKit
import Synchronization
import Testing

@Suite("The loop on real time", .timeLimit(.minutes(60)))
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

@Suite("Errands of the loop's thread", .timeLimit(.minutes(60)))
struct ErrandTests {
    @Test("An errand that waits for the loop does not keep it: a deputy goes on, with the other errands too")
    func deputy() {
        let loop = RealTimeLoop()
        loop.start()
        let other = Errand {}
        let first = Errand {
            let reached = DispatchSemaphore(value: 0)
            loop.enqueue { _ in
                loop.checkIsolated()
                reached.signal()
            }
            reached.wait()
            other.done.wait()
        }
        loop.enqueue { _ in
            for errand in [first, other] { #expect(loop.send(on: errand)) }
        }
        first.done.wait()
        first.relieved.wait()
        loop.stop()
        #expect(first.runs.withLock { $0 } == 1)
        #expect(other.runs.withLock { $0 } == 1)
    }

    @Test("Called from an errand, stop does not wait for itself, and the loop ends")
    func stopsFromErrand() {
        let loop = RealTimeLoop()
        loop.start()
        let errand = Errand { loop.stop() }
        loop.enqueue { _ in _ = loop.send(on: errand) }
        errand.done.wait()
        loop.stop()
        loop.enqueue { _ in Issue.record("The loop goes on.") }
    }

    @Test("A loop that nobody has started has no thread for errands")
    func unstarted() {
        let loop = RealTimeLoop()
        #expect(!loop.send(on: Errand {}))
    }

    @Test("Whatever errands do, what threads put in runs once, in the order of each, one at a time, until the end")
    func stress() async {
        let (threads, each) = (4, 500)
        let loop = RealTimeLoop()
        // Without a lock, for the loop is one: the thread sanitizer would see it otherwise.
        let log = Unguarded(Array(repeating: [Int](), count: threads))
        let errands = Shared<[Errand]>([])
        loop.start()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    for number in 0..<each {
                        loop.enqueue { _ in
                            log.value[thread].append(number)
                            guard number % 10 == 0 else { return }
                            // Each hundredth waits for the loop, and so is relieved.
                            let errand = Errand {
                                guard number % 100 == 0 else { return }
                                let passed = DispatchSemaphore(value: 0)
                                loop.enqueue { _ in passed.signal() }
                                passed.wait()
                            }
                            if loop.send(on: errand) { errands.value.withLock { $0.append(errand) } }
                        }
                    }
                }
            }
        }
        let reached = DispatchSemaphore(value: 0)
        loop.enqueue { _ in
            loop.enqueue { _ in reached.signal() }
        }
        reached.wait()
        let sent = errands.value.withLock { $0 }
        for errand in sent { errand.done.wait() }
        loop.stop()
        #expect(log.value == Array(repeating: Array(0..<each), count: threads))
        #expect(sent.count == threads * each / 10)
        #expect(sent.allSatisfy { errand in errand.runs.withLock { $0 } == 1 })
    }
}

@Suite("Connecting and listening", .timeLimit(.minutes(60)))
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

private final class Errand: LoopErrand {
    let done = DispatchSemaphore(value: 0)
    let relieved = DispatchSemaphore(value: 0)
    let runs = Mutex(0)
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    func run() -> Bool {
        work()
        runs.withLock { $0 += 1 }
        done.signal()
        return false
    }

    func ended(inTime: Bool) { if !inTime { relieved.signal() } }
}

/// `@unchecked`: it belongs to a loop, and to the test when that has ended.
private final class Unguarded<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

private final class Shared<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
}
