public import CoreBluetooth

/// A stream of octets to a peer and one from it: an L2CAP channel, for async code. Whoever holds it keeps it open; a
/// channel that nobody holds is closed at once.
// `@unchecked`: `lock` guards the variables. CoreBluetooth is called with it held; it calls back without any lock of
// its own held.
public final class Channel: @unchecked Sendable {
    /// The number under which it was opened.
    public let psm: CBL2CAPPSM
    /// By which its deadlines go.
    public let time: Timekeeper
    let identifier: UUID
    private let channel: CBL2CAPChannel
    private let relay = ChannelRelay()
    private let queue = DispatchQueue(label: "BluetoothToolkit.Channel")
    private let lock = NSRecursiveLock()
    private var readCalls: [Call<Void>] = []
    private var writes: [Write] = []
    /// Takes all that comes, in place of ``read(upTo:within:)``.
    private var consumer: Consumer?

    private struct Consumer {
        var take: (Data) -> Void
        var end: (any Error) -> Void
    }

    /// Octets that go out one after the other. What has begun goes out whole, also when nobody waits for it any more.
    private final class Write {
        var rest: Data
        var hasBegun = false
        let call = Call<Void>()

        init(_ data: Data) { rest = data }
    }

    init(_ channel: CBL2CAPChannel, time: Timekeeper) {
        self.channel = channel
        self.time = time
        psm = channel.psm
        identifier = channel.peer.identifier
        relay.owner = self
        channel.inputStream.delegate = relay
        channel.outputStream.delegate = relay
        channel.callBack(on: queue)
        channel.inputStream.open()
        channel.outputStream.open()
    }

    // MARK: Reading

    /// What has come, at most `count` octets; waits for the first one. `nil` is the end: the peer has closed.
    ///
    /// - Throws: ``ToolkitError/linkEnded(_:)`` if the channel ended with the link.
    public func read(upTo count: Int = 4096, within limit: Duration? = nil) async throws -> Data? {
        try Task.checkCancellation()
        let deadline = Deadline(limit, by: time)
        while true {
            let call = Call<Void>()
            let outcome: Data?? = try lock.withLock {
                let outcome = try take(count)
                if outcome == nil { readCalls.append(call) }
                return outcome
            }
            if let outcome { return outcome }
            defer { lock.withLock { readCalls.removeAll { $0 === call } } }
            try await call.value(within: deadline.left, by: time)
        }
    }

    /// - Returns: `nil` if there is nothing yet, `.some(nil)` at the end.
    private func take(_ count: Int) throws -> Data?? {
        if let data = readStream(count) { return .some(data) }
        switch channel.inputStream.streamStatus {
        case .atEnd, .closed: return .some(nil)
        case .error: throw error(of: channel.inputStream)
        default: return nil
        }
    }

    private func readStream(_ count: Int) -> Data? {
        guard channel.inputStream.hasBytesAvailable else { return nil }
        var buffer = [UInt8](repeating: 0, count: max(1, count))
        let taken = unsafe channel.inputStream.read(&buffer, maxLength: buffer.count)
        return taken > 0 ? Data(buffer.prefix(taken)) : nil
    }

    /// Has all that comes taken as it comes, in order, and the end told once.
    func consume(_ take: @escaping (Data) -> Void, end: @escaping (any Error) -> Void) {
        lock.withLock { consumer = Consumer(take: take, end: end) }
        advance()
    }

    // MARK: Writing

    /// Returns when all of it is handed to the system, which sends it. Who writes first is sent first, and nothing
    /// comes in between.
    public func write(_ data: Data, within limit: Duration? = Central.defaultLimit) async throws {
        try Task.checkCancellation()
        let write = Write(data)
        try lock.withLock {
            if let end = endOfOutput { throw end }
            writes.append(write)
            pump()
        }
        defer { lock.withLock { writes.removeAll { $0 === write && !$0.hasBegun } } }
        try await write.call.value(within: limit, by: time)
    }

    private var endOfOutput: (any Error)? {
        switch channel.outputStream.streamStatus {
        case .error: error(of: channel.outputStream)
        case .atEnd, .closed: ToolkitError.linkEnded(.peerEnded)
        default: nil
        }
    }

    private func pump() {
        while let first = writes.first {
            if first.call.isOver, !first.hasBegun {
                writes.removeFirst()
                continue
            }
            while !first.rest.isEmpty, channel.outputStream.hasSpaceAvailable {
                let octets = [UInt8](first.rest.prefix(1 << 14))
                let count = unsafe channel.outputStream.write(octets, maxLength: octets.count)
                guard count > 0 else { break }
                first.hasBegun = true
                first.rest = Data(first.rest.dropFirst(count))
            }
            guard first.rest.isEmpty else { return }
            writes.removeFirst()
            first.call.succeed()
        }
    }

    // MARK: The end

    /// Closes it: what was handed over is sent before.
    public func close() {
        lock.withLock {
            channel.inputStream.close()
            channel.outputStream.close()
        }
        finish(ToolkitError.linkEnded(.requested))
    }

    private func error(of stream: Stream) -> any Error { ToolkitError.linkEnded(LinkEnd(stream.streamError)) }

    private func finish(_ error: any Error) {
        let (reads, writes, consumer) = lock.withLock {
            defer {
                readCalls.removeAll()
                self.writes.removeAll()
                self.consumer = nil
            }
            return (readCalls, self.writes, self.consumer)
        }
        for call in reads { call.succeed() }
        for write in writes { write.call.fail(error) }
        consumer?.end(error)
    }

    // MARK: From CoreBluetooth

    fileprivate func handle(_ event: Stream.Event, of stream: Stream) {
        switch event {
        case .hasBytesAvailable: advance()
        case .hasSpaceAvailable: lock.withLock { pump() }
        case .endEncountered, .errorOccurred:
            advance()
            finish(stream.streamStatus == .error ? error(of: stream) : ToolkitError.linkEnded(.peerEnded))
        default: break
        }
    }

    /// Octets have come.
    private func advance() {
        // One stream calls back for one event at a time: what is taken here stays in order.
        while let consumer = lock.withLock({ consumer }) {
            guard let data = lock.withLock({ readStream(1 << 14) }) else { return }
            consumer.take(data)
        }
        let calls = lock.withLock {
            defer { readCalls.removeAll() }
            return readCalls
        }
        for call in calls { call.succeed() }
    }
}

/// The delegate of both streams, which hold it weakly.
// `@unchecked`: `owner` is set once, before anybody calls.
private final class ChannelRelay: NSObject, StreamDelegate, @unchecked Sendable {
    weak var owner: Channel?

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) { owner?.handle(eventCode, of: aStream) }
}

extension CBL2CAPChannel {
    /// Has the streams speak on a queue, wherever their manager speaks.
    fileprivate func callBack(on queue: DispatchQueue) {
        #if canImport(Darwin)
            CFReadStreamSetDispatchQueue(inputStream, queue)
            CFWriteStreamSetDispatchQueue(outputStream, queue)
        #else
            setDispatchQueue(queue)
        #endif
    }
}

extension RemotePeripheral {
    /// Opens a channel that the peer offers under this number.
    ///
    /// A call that is given up while the peer has not answered closes the channel when it is opened.
    public func openChannel(_ psm: CBL2CAPPSM, within limit: Duration? = Central.defaultLimit) async throws -> Channel {
        let answer = try await ask(.channel, nil, within: limit) { $0.openL2CAPChannel(psm) }
        guard case .channel(let channel) = answer else { throw ToolkitError.notConnected }
        return channel
    }
}
