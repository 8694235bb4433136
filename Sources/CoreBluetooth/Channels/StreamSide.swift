/// One of a channel's two streams, but for the octets: its state, its delegate, and where that is called.
///
/// As Foundation's streams do, it tells each state once: that there are octets, or room, is told again only after the
/// app has read, or written.
// `@unchecked`: the manager's lock guards the variables.
final class StreamSide: @unchecked Sendable {
    enum Ending {
        case atEnd
        case failed(any Error)
    }

    private enum Life {
        case notOpen, open, closed
    }

    private let line: HostLine
    private let readiness: Stream.Event
    private weak var stream: Stream?
    private weak var currentDelegate: (any StreamDelegate)?
    private var life = Life.notOpen
    private var targets: [any StreamEventTarget] = []
    private var isSignalled = false
    private var owesOpenCompleted = false
    private var hasToldEnd = false

    /// Whether there are octets, or room. This and the following are used with the lock held.
    var isReady = false
    /// Whether the app has done something since it was told so.
    var isArmed = true
    /// How it ends, as soon as ``isAtLastOctet``.
    var ending: Ending?
    var isAtLastOctet = true
    /// What was in the way of the last call, for the moment.
    var transientError: NSError?

    /// - Parameter readiness: the event that tells of octets, or of room.
    init(_ readiness: Stream.Event, line: HostLine) {
        self.readiness = readiness
        self.line = line
    }

    func attach(_ stream: Stream) { self.stream = stream }

    deinit { for target in targets { target.stop() } }

    // MARK: State

    var status: Stream.Status {
        line.lock.withLock {
            switch (life, isAtLastOctet ? ending : nil) {
            case (.notOpen, _): .notOpen
            case (.closed, _): .closed
            case (.open, nil): .open
            case (.open, .atEnd): .atEnd
            case (.open, .failed): .error
            }
        }
    }

    var error: (any Error)? {
        line.lock.withLock {
            guard life != .notOpen, isAtLastOctet, case .failed(let error) = ending else { return transientError }
            return error
        }
    }

    /// Whether octets may pass.
    var mayTransfer: Bool { status == .open }

    /// Whether the stream is open and there are octets, or room.
    var isUsable: Bool { line.lock.withLock { mayTransfer && isReady } }

    func open() {
        line.lock.withLock {
            guard life == .notOpen else { return }
            life = .open
            owesOpenCompleted = true
        }
        signal()
    }

    /// - Returns: whether it was open.
    func close() -> Bool {
        let stopped: [any StreamEventTarget]? = line.lock.withLock {
            guard life != .closed else { return nil }
            life = .closed
            defer { targets = [] }
            return targets
        }
        for target in stopped ?? [] { target.stop() }
        return stopped != nil
    }

    var delegate: (any StreamDelegate)? {
        get { line.lock.withLock { currentDelegate } }
        set {
            line.lock.withLock { currentDelegate = newValue }
            signal()
        }
    }
}

// MARK: - Where events are told

extension StreamSide {
    func schedule(in runLoop: RunLoop, _ mode: RunLoop.Mode) {
        add(RunLoopEventTarget(runLoop, mode) { [weak self] in self?.deliver() })
    }

    func remove(from runLoop: RunLoop, _ mode: RunLoop.Mode) { remove { $0.isRunLoop(runLoop, mode) } }

    func setQueue(_ queue: DispatchQueue?) {
        remove { $0.isQueue }
        if let queue { add(QueueEventTarget(queue) { [weak self] in self?.deliver() }) }
    }

    private func add(_ target: any StreamEventTarget) {
        let isTaken = line.lock.withLock {
            guard life != .closed else { return false }
            targets.append(target)
            isSignalled = false
            return true
        }
        if isTaken { signal() } else { target.stop() }
    }

    private func remove(where matches: (any StreamEventTarget) -> Bool) {
        let removed = line.lock.withLock {
            defer { targets.removeAll(where: matches) }
            isSignalled = false
            return targets.filter(matches)
        }
        for target in removed { target.stop() }
        signal()
    }

    private var hasEvent: Bool {
        guard life == .open, currentDelegate != nil else { return false }
        return owesOpenCompleted || isReady && isArmed || ending != nil && isAtLastOctet && !hasToldEnd
    }

    private func takeEvent() -> Stream.Event? {
        guard hasEvent else { return nil }
        if owesOpenCompleted {
            owesOpenCompleted = false
            return .openCompleted
        }
        if isReady && isArmed {
            isArmed = false
            return readiness
        }
        hasToldEnd = true
        if case .failed = ending { return .errorOccurred }
        return .endEncountered
    }

    /// Has the delegate called, later, if there is something to tell.
    func signal() {
        let target: (any StreamEventTarget)? = line.lock.withLock {
            guard !isSignalled, hasEvent, let target = targets.first else { return nil }
            isSignalled = true
            return target
        }
        guard let target else { return }
        // In a world that a test runs, streams speak where the delegates of the manager do.
        if line.isInTestedWorld { line.onQueue { [weak self] in self?.deliver() } } else { target.signal() }
    }

    /// Tells one thing. What follows is told in a turn of its own.
    private func deliver() {
        let call: (stream: Stream, delegate: any StreamDelegate, event: Stream.Event)? = line.lock.withLock {
            isSignalled = false
            guard !targets.isEmpty, let stream, let delegate = currentDelegate, let event = takeEvent() else {
                return nil
            }
            return (stream, delegate, event)
        }
        guard let call else { return }
        call.delegate.stream(call.stream, handle: call.event)
        signal()
    }
}
