import HostInterface

/// What a channel and its two streams share: the octets on their way, and how the channel stands with the host.
///
///     open ── both streams closed ──▶ draining ── all is sent ──▶ ended
///       │                                │
///       └── released, peer, link, radio ─┴──────────────────────▶ ended
// `@unchecked`: the manager's lock guards the variables.
final class ChannelCore: @unchecked Sendable {
    private enum State {
        case open
        /// Both streams are closed; what was written before is still being sent.
        case draining
        case ended
    }

    /// How many octets may have been written without being with the controller yet.
    private static let capacity = 16384
    /// How many of them the host is given ahead of the controller.
    private static let mostWithHost = 8192

    let psm: CBL2CAPPSM
    let number: ChannelNumber
    let inputSide: StreamSide
    let outputSide: StreamSide
    private let line: HostLine
    private let bestLength: Int

    private var state = State.open
    private var inbox: [[UInt8]] = []
    /// Octets of the first one that have been read.
    private var readOfFirst = 0
    private var available = 0
    private var outbox: [UInt8] = []
    private var withHost = 0

    init(_ channel: OpenChannel, line: HostLine) {
        psm = channel.psm
        number = channel.number
        bestLength = channel.bestLength
        self.line = line
        inputSide = StreamSide(.hasBytesAvailable, line: line)
        outputSide = StreamSide(.hasSpaceAvailable, line: line)
        outputSide.isReady = true
    }

    /// Changes what the streams show, and lets them tell it.
    private func change<Result>(_ body: () -> Result) -> Result {
        let result = line.lock.withLock(body)
        inputSide.signal()
        outputSide.signal()
        return result
    }
}

// MARK: - Input

extension ChannelCore {
    /// The peer has sent something.
    func received(_ octets: [UInt8]) {
        change {
            guard state != .ended else { return }
            // Nobody is going to read it; the peer may go on, and must if it is to take what is still unsent here.
            guard inputSide.status != .closed else { return acknowledge(octets.count) }
            inbox.append(octets)
            available += octets.count
            inputSide.isReady = true
        }
    }

    /// As `InputStream.read`: how many octets were taken, 0 at the end, -1 on an error.
    func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        change {
            guard inputSide.mayTransfer else { return inputSide.status == .atEnd ? 0 : -1 }
            inputSide.isArmed = true
            guard available > 0 else {
                inputSide.transientError = NSError(domain: NSPOSIXErrorDomain, code: Int(EAGAIN))
                return -1
            }
            inputSide.transientError = nil
            var count = 0
            while count < buffer.count, let first = inbox.first {
                let part = min(first.count - readOfFirst, buffer.count - count)
                for offset in 0..<part { unsafe buffer[count + offset] = first[readOfFirst + offset] }
                count += part
                readOfFirst += part
                guard readOfFirst == first.count else { break }
                inbox.removeFirst()
                readOfFirst = 0
            }
            available -= count
            acknowledge(count)
            showInput()
            return count
        }
    }

    private func acknowledge(_ count: Int) {
        if state != .ended { line.ask(.received(number, count)) }
    }

    /// What came before the end is read before the end is told.
    private func showInput() {
        inputSide.isReady = available > 0
        inputSide.isAtLastOctet = available == 0
    }
}

// MARK: - Output

extension ChannelCore {
    /// As `OutputStream.write`: how many octets were taken, -1 if none ever will be.
    func write(_ octets: UnsafeBufferPointer<UInt8>) -> Int {
        change {
            guard outputSide.mayTransfer else { return -1 }
            outputSide.isArmed = true
            let count = min(octets.count, Self.capacity - outbox.count - withHost)
            unsafe outbox.append(contentsOf: octets.prefix(count))
            pump()
            return count
        }
    }

    /// Hands the host what it may have ahead. Called with the lock held.
    private func pump() {
        var start = 0
        while start < outbox.count, withHost < Self.mostWithHost {
            let end = min(start + bestLength, outbox.count)
            let piece = Array(outbox[start..<end])
            start = end
            withHost += piece.count
            line.ask(.send(number, piece)) { [self] _ in sent(piece.count) }
        }
        outbox.removeFirst(start)
        outputSide.isReady = state == .open && outbox.count + withHost < Self.capacity
    }

    private func sent(_ count: Int) {
        change {
            withHost -= count
            if state != .ended { pump() }
            if state == .draining, outbox.isEmpty, withHost == 0 { close() }
        }
    }
}

// MARK: - The end

extension ChannelCore {
    /// One of the streams has been closed.
    func streamClosed() {
        change {
            if inputSide.status == .closed, available > 0 {
                acknowledge(available)
                inbox = []
                available = 0
                showInput()
            }
            guard state == .open, inputSide.status == .closed, outputSide.status == .closed else { return }
            state = .draining
            if outbox.isEmpty, withHost == 0 { close() }
        }
    }

    /// B-J2: nobody holds the channel.
    func channelReleased() {
        change {
            guard state == .open else { return }
            line.warn(
                "Closing L2CAP channel \(psm) because nobody holds it. Did you forget to keep a reference to it?")
            close()
            show(end: CBError(.operationCancelled), isLoss: true)
        }
    }

    private func close() {
        state = .ended
        outbox = []
        line.channels.remove(number)
        line.ask(.closeChannel(number))
    }

    /// It ended without this app's doing: in order if `error` is `nil`.
    func ended(_ error: (any Error)?) {
        change {
            guard state != .ended else { return }
            let isCut = !outbox.isEmpty || withHost > 0
            state = .ended
            outbox = []
            show(end: error ?? (isCut ? CBError(.peripheralDisconnected) : nil), isLoss: error != nil)
        }
    }

    /// - Parameter isLoss: whether the input ends by the error too; else the peer has said all that it had to say.
    private func show(end error: (any Error)?, isLoss: Bool) {
        showInput()
        inputSide.ending = isLoss ? .failed(error ?? CBError(.unknown)) : .atEnd
        outputSide.ending = error.map { .failed($0) } ?? .atEnd
        outputSide.isReady = false
        outputSide.isAtLastOctet = true
    }
}
