import Dispatch
import EventLoop
import HCITransport
import Host
import HostInterface
import LocalSession
import Synchronization
import Testing

@Suite("Sessions of a host on real time", .timeLimit(.minutes(60)))
struct LineTests {
    @Test("Asked by many threads, each session hears each answer once, in order, one at a time, whatever callbacks do")
    func stress() async {
        let (sessions, each) = (4, 400)
        let radio = BareRadio()
        let listeners = (0..<sessions).map { _ in Listener(radio) }
        await withTaskGroup(of: Void.self) { group in
            for listener in listeners {
                group.addTask { for _ in 0..<each { listener.ask() } }
            }
        }
        for listener in listeners { listener.wait(for: each) }
        for listener in listeners {
            #expect(listener.answers == (1...UInt64(each)).map { RequestNumber($0) })
            #expect(!listener.wasCrowded)
        }
        radio.stop()
    }

    @Test("A callback that waits for another session's answer gets it")
    func waits() {
        let radio = BareRadio()
        let other = Listener(radio)
        let first = Listener(radio) {
            other.ask()
            other.wait(for: 1)
        }
        first.ask()
        first.wait(for: 1)
        #expect(other.answers.count == 1)
        radio.stop()
    }

    @Test("On a queue that is suspended nothing is heard, and the others hear all the same")
    func suspended() {
        let radio = BareRadio()
        let sleeper = Listener(radio)
        let other = Listener(radio)
        sleeper.queue.suspend()
        sleeper.ask()
        other.ask()
        other.wait(for: 1)
        #expect(sleeper.heard.load(ordering: .acquiring) == 0)
        sleeper.queue.resume()
        sleeper.wait(for: 1)
        radio.stop()
    }
}

/// A host without a controller. It knows what it waits for, and that is all.
private final class BareRadio: HostOwner, @unchecked Sendable {
    // `@unchecked`: the host is touched on the loop alone.
    private let realTimeLoop = RealTimeLoop()
    private let host = Host { _ in }

    var loop: any AdapterLoop { realTimeLoop }

    init() { realTimeLoop.start() }

    func stop() { realTimeLoop.stop() }

    func withHost(_ body: (Host) -> Void) { body(host) }
}

/// One client of it, on a queue of its own.
private final class Listener: CallbackExecutor, @unchecked Sendable {
    // `@unchecked`: the queue guards what was heard, until the test has waited for it.
    let queue = DispatchQueue(label: "listener")
    private(set) var answers: [RequestNumber] = []
    private(set) var wasCrowded = false
    let heard = Atomic(0)
    private let isBusy = Atomic(false)
    private let arrivals = DispatchSemaphore(value: 0)
    private let session: LocalSession
    private let asked = Mutex<UInt64>(0)
    private let react: @Sendable () -> Void

    init(_ radio: BareRadio, _ react: @escaping @Sendable () -> Void = {}) {
        session = LocalSession(owner: radio)
        self.react = react
        session.open(on: self) { [unowned self] in hear($0) }
    }

    func ask() {
        asked.withLock { number in
            number += 1
            session.submit(.listOpenWork, number: RequestNumber(number))
        }
    }

    func wait(for count: Int) { for _ in 0..<count { arrivals.wait() } }

    private func hear(_ event: HostEvent) {
        dispatchPrecondition(condition: .onQueue(queue))
        guard case .answer(let number, _) = event else { return }
        if isBusy.exchange(true, ordering: .acquiringAndReleasing) { wasCrowded = true }
        answers.append(number)
        react()
        isBusy.store(false, ordering: .releasing)
        heard.add(1, ordering: .releasing)
        arrivals.signal()
    }

    func run(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }
    func settle() {}
    var isOpenToThreads: Bool { true }
    func runHere(_ work: () -> Void) { queue.sync(execute: work) }
}
