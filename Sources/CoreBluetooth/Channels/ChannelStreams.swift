/// What comes from the peer.
final class ChannelInputStream: InputStream {
    private let core: ChannelCore
    private var side: StreamSide { core.inputSide }

    init(_ core: ChannelCore) {
        self.core = core
        super.init(data: Data())
        side.attach(self)
    }

    override func open() { side.open() }
    override func close() { if side.close() { core.streamClosed() } }
    override var delegate: (any StreamDelegate)? {
        get { side.delegate }
        set { side.delegate = newValue }
    }
    override var streamStatus: Stream.Status { side.status }
    override var streamError: (any Error)? { side.error }
    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { side.schedule(in: aRunLoop, mode) }
    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { side.remove(from: aRunLoop, mode) }
    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override var hasBytesAvailable: Bool { side.isUsable }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        unsafe core.read(into: UnsafeMutableBufferPointer(start: buffer, count: max(0, len)))
    }

    /// The octets lie in several pieces: there is no one buffer to give.
    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool { false }
}

/// What goes to the peer.
final class ChannelOutputStream: OutputStream {
    private let core: ChannelCore!
    private var side: StreamSide { core.outputSide }

    init(_ core: ChannelCore) {
        self.core = core
        super.init(toMemory: ())
        side.attach(self)
    }

    @available(*, unavailable, message: "The stream of a channel comes with its channel.")
    required init(toMemory: ()) { fatalError("The stream of a channel comes with its channel.") }

    override func open() { side.open() }
    override func close() { if side.close() { core.streamClosed() } }
    override var delegate: (any StreamDelegate)? {
        get { side.delegate }
        set { side.delegate = newValue }
    }
    override var streamStatus: Stream.Status { side.status }
    override var streamError: (any Error)? { side.error }
    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { side.schedule(in: aRunLoop, mode) }
    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { side.remove(from: aRunLoop, mode) }
    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override var hasSpaceAvailable: Bool { side.isUsable }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        unsafe core.write(UnsafeBufferPointer(start: buffer, count: max(0, len)))
    }
}
