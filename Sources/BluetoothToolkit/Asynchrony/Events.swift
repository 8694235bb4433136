import Foundation

/// What a stream does with what its reader has not taken yet.
public enum BufferPolicy: Sendable, Equatable {
    /// Keeps everything. For streams whose source is slower than their reader.
    case unbounded
    /// Keeps the newest; what is older is dropped, and counted.
    case newest(Int)
    /// Keeps the oldest; what comes on top is dropped, and counted.
    case oldest(Int)
}

/// A stream of what happens, for one reader. It ends, and with it what it costs the radio, when its reader's task is
/// cancelled or the last copy of it is gone.
public struct Events<Element: Sendable>: AsyncSequence, Sendable {
    private let stream: AsyncThrowingStream<Element, any Error>
    private let source: EventSource<Element>

    /// How many elements the reader did not get because it came too late for them.
    public var dropped: Int { source.dropped }

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var iterator: AsyncThrowingStream<Element, any Error>.AsyncIterator

        /// The next element; `nil` at the end. Throws why the stream ended early, and `CancellationError` in a
        /// cancelled task.
        public mutating func next() async throws -> Element? {
            if let element = try await iterator.next() { return element }
            try Task.checkCancellation()
            return nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iterator: stream.makeAsyncIterator()) }

    fileprivate init(_ stream: AsyncThrowingStream<Element, any Error>, _ source: EventSource<Element>) {
        self.stream = stream
        self.source = source
    }
}

/// The end of a stream at which things happen, for whoever has something of their own to tell.
// `@unchecked`: `lock` guards the count; the continuation is made for all threads.
public final class EventSource<Element: Sendable>: @unchecked Sendable {
    private let continuation: AsyncThrowingStream<Element, any Error>.Continuation
    private let lock = NSLock()
    private var count = 0

    var dropped: Int { lock.withLock { count } }

    private init(_ continuation: AsyncThrowingStream<Element, any Error>.Continuation) {
        self.continuation = continuation
    }

    /// A stream and its source.
    ///
    /// - Parameters:
    ///   - policy: what becomes of elements that are not read yet.
    ///   - onEnd: called once, when nobody reads any more or the source has finished.
    public static func make(
        _ policy: BufferPolicy, onEnd: @escaping @Sendable () -> Void = {}
    ) -> (events: Events<Element>, source: EventSource<Element>) {
        let limit: AsyncThrowingStream<Element, any Error>.Continuation.BufferingPolicy =
            switch policy {
            case .unbounded: .unbounded
            case .newest(let count): .bufferingNewest(count)
            case .oldest(let count): .bufferingOldest(count)
            }
        let (stream, continuation) = AsyncThrowingStream<Element, any Error>.makeStream(bufferingPolicy: limit)
        continuation.onTermination = { _ in onEnd() }
        let source = EventSource(continuation)
        return (Events(stream, source), source)
    }

    public func send(_ element: Element) {
        if case .dropped = continuation.yield(element) { lock.withLock { count += 1 } }
    }

    /// - Parameter error: why it ends early; `nil` at its proper end.
    public func finish(_ error: (any Error)? = nil) { continuation.finish(throwing: error) }
}
