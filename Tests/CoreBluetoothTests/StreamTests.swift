import CoreBluetooth
import HostInterface
import Synchronization
import Testing

/// The streams of a channel as they are on a real radio: on run loops and queues. The host is scripted.
@Suite("Streams of a channel", .timeLimit(.minutes(60)))
struct StreamTests {
    private let host = ScriptedHost(hasExecutor: false)
    private let app: CentralApp
    private let number = ChannelNumber(7)

    init() {
        app = host.launch { CentralApp(queue: DispatchQueue(label: "callbacks")) }
        host.powerOn()
        app.manager.scanForPeripherals(withServices: nil)
        host.answer(.done)
        let peer = PeerID(ScriptedHost.address)
        host.tell(
            .discovered(
                Discovery(peer: peer, advertisingData: [], scanResponseData: [], isConnectable: true, rssi: -40)))
        app.manager.connect(app.peripheral)
        host.answer(.connected(mtu: 185))
        app.peripheral.openL2CAPChannel(0xC1)
        host.expect(
            .openChannel(peer, psm: 0xC1),
            answer: .success(.channel(OpenChannel(number: number, peer: peer, psm: 0xC1, mtu: 185, bestLength: 1000))))
    }

    private func received(_ octets: [UInt8]) { host.tell(.channelReceived(number, octets)) }

    /// Runs this thread's loop until it has delivered something.
    private func turn() -> Bool { RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 30)) }

    @Test("B-J3: on a run loop, one event a turn, and each turn returns")
    func runLoop() {
        let end = StreamApp(app.channels[0])
        end.reads = false
        #expect(end.log.isEmpty, "nothing is told from inside a call")
        while end.log.count < 3 { _ = turn() }
        #expect(end.take().sorted() == ["in open", "out open", "out space"])
        received([1, 2, 3])
        _ = turn()
        #expect(end.take() == ["in bytes"])
        #expect(end.read(2) == 2)
        _ = turn()
        #expect(end.take() == ["in bytes"])
        #expect(end.read() == 1 && end.received == [1, 2, 3])
        host.tell(.channelClosed(number, .channelClosed))
        while end.log.count < 2 { _ = turn() }
        #expect(end.take().sorted() == ["in end", "out end"])
    }

    @Test("B-J3: what comes on another thread wakes the run loop")
    func wakes() {
        let end = StreamApp(app.channels[0])
        while end.log.count < 3 { _ = turn() }
        _ = end.take()
        let script = self
        Thread.detachNewThread { script.received([1]) }
        _ = turn()
        #expect(end.take() == ["in bytes"] && end.received == [1])
    }

    @Test("Without a run loop nothing is told, but the streams can be asked")
    func polled() {
        let channel = app.channels[0]
        channel.inputStream.open()
        received([1, 2, 3])
        #expect(channel.inputStream.hasBytesAvailable)
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(unsafe channel.inputStream.read(&buffer, maxLength: 8) == 3)
        host.expect(.received(number, 3))
        #expect(!channel.inputStream.hasBytesAvailable)
        #expect(channel.inputStream.property(forKey: .socksProxyConfigurationKey) == nil)
    }

    @Test("Taken from its run loop a stream is silent there; back on it, it goes on")
    func removed() {
        let end = StreamApp(app.channels[0])
        while end.log.count < 3 { _ = turn() }
        _ = end.take()
        end.input.remove(from: .current, forMode: .default)
        received([1])
        _ = RunLoop.current.run(mode: .default, before: Date())
        #expect(end.take().isEmpty)
        end.input.schedule(in: .current, forMode: .default)
        _ = turn()
        #expect(end.take() == ["in bytes"])
        end.close()
        #expect(end.input.streamStatus == .closed)
    }

    @Test("On a dispatch queue")
    func queue() {
        final class Listener: NSObject, StreamDelegate, Sendable {
            let told = DispatchSemaphore(value: 0)
            let events = Mutex<[UInt]>([])
            func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
                dispatchPrecondition(condition: .onQueue(Self.queue))
                events.withLock { $0.append(eventCode.rawValue) }
                told.signal()
            }
            static let queue = DispatchQueue(label: "streams")
        }
        let listener = Listener()
        let channel = app.channels[0]
        channel.inputStream.delegate = listener
        channel.setDispatchQueue(Listener.queue)
        channel.inputStream.open()
        listener.told.wait()
        received([1])
        listener.told.wait()
        let expected: [Stream.Event] = [.openCompleted, .hasBytesAvailable]
        #expect(listener.events.withLock { $0 } == expected.map(\.rawValue))
        channel.setDispatchQueue(nil)
    }

    @Test("What is written goes to the host in pieces that fill the peer's frames, no more than 8 KiB ahead")
    func pieces() throws {
        let end = StreamApp(app.channels[0])
        #expect(end.put(Array(repeating: 1, count: 2500)) == 2500)
        host.expect(
            .send(number, Array(repeating: 1, count: 1000)), .send(number, Array(repeating: 1, count: 1000)),
            .send(number, Array(repeating: 1, count: 500)))
        #expect(end.put(Array(repeating: 2, count: 20_000)) == 16384 - 2500, "what fits is taken")
        #expect(!end.output.hasSpaceAvailable)
        #expect(host.asked.count == 9, "8500 octets")
        host.answer(.done)
        #expect(host.asked.count == 9 && end.output.hasSpaceAvailable, "one done, one more")
    }

    @Test("Both streams closed: what was written is sent first, then the channel is closed, though nobody holds it")
    func drains() {
        do {
            let end = StreamApp(app.channels[0])
            #expect(end.put([1, 2, 3]) == 3)
            end.close()
            app.channels = []
        }
        host.expect(.send(number, [1, 2, 3]))
        host.answer(.done)
        host.expect(.closeChannel(number))
        #expect(!host.takeReports().contains { $0.contains("nobody holds it") })
    }

    @Test("B-J2: released, it closes at once, and what was written is lost")
    func released() {
        #expect(unsafe app.channels[0].outputStream.write([1], maxLength: 1) == -1, "it is not open")
        app.channels[0].outputStream.open()
        #expect(unsafe app.channels[0].outputStream.write([1], maxLength: 1) == 1)
        app.channels = []
        host.expect(.send(number, [1]), .closeChannel(number))
        #expect(host.takeReports().contains { $0.contains("L2CAP channel 193") })
    }

    @Test("A manager that goes takes its channels with it")
    func managerGone() {
        let output = app.channels[0].outputStream!
        output.open()
        app.dropManager()
        #expect(output.streamStatus == .error)
        #expect((output.streamError as? CBError)?.code == .operationCancelled)
    }
}
