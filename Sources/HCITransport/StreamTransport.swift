package import EventLoop
import Glibc

/// H4 over a stream of octets: a TCP or Unix socket, on either end, or a serial line.
package final class StreamTransport: Transport, LoopParticipant {
    package enum Kind: Equatable, Sendable {
        case tcp
        case unix
        case serial(device: String)
    }

    /// Octets that may wait for the other side to read. HCI's credits keep an honest pair far below.
    static let backlogLimit = 1 << 22

    private let stream: TransportDescriptor
    private let kind: Kind
    private var framer = H4Framer()
    /// What has been sent and not left, from `left` on.
    private var backlog: [UInt8] = []
    private var left = 0
    /// For what one read takes: enough packets that the call costs each of them little, few enough that what comes of
    /// them does not pile up.
    private var buffer = [UInt8](repeating: 0, count: 1 << 14)
    /// How often the system was called to take octets.
    package private(set) var writeCount = 0

    /// Takes over a connected descriptor that does not block. On the loop only.
    package init(_ socket: Int32, kind: Kind, on loop: RealTimeLoop) {
        stream = TransportDescriptor(socket, on: loop)
        self.kind = kind
        if kind == .tcp {
            setOption(socket, level: SOL_SOCKET, option: SO_KEEPALIVE, to: 1)
            setOption(socket, level: Int32(IPPROTO_TCP), option: TCP_NODELAY, to: 1)
        }
        quickenAcknowledgements()
    }

    package var deadline: Instant? { nil }
    package func wake(at now: Instant) {}

    package func open(_ deliver: @escaping (TransportEvent) -> Void) {
        stream.open(for: self, deliver, flush: { $0.flush() }, receive: { $0.receive() })
    }

    package func send(_ packet: [UInt8]) {
        guard stream.isOpen else { return }
        backlog += packet
    }

    package func endTurn() {
        if left < backlog.count { flush() }
    }

    package func close() {
        stream.close(for: self)
        backlog = []
        left = 0
    }
}

// MARK: - Octets

extension StreamTransport {
    private func receive() {
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(stream.number, $0.baseAddress, $0.count) }
        if count < 0 {
            if errno != EAGAIN && errno != EINTR { endByError("Reading from the other side") }
            return
        }
        guard count > 0 else { return endByPeer() }
        quickenAcknowledgements()
        stream.hand(over: framer.receive(Array(buffer[..<count])))
        if let failure = framer.failure { end(.framing(failure)) }
    }

    /// Hands the system all that it takes. The loop comes back when it takes more.
    private func flush() {
        while stream.isOpen, left < backlog.count {
            writeCount += 1
            let count = unsafe backlog.withUnsafeBytes { octets in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: octets[left...])
                if case .serial = kind { return unsafe write(stream.number, rest.baseAddress, rest.count) }
                return unsafe Glibc.send(stream.number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                guard errno == EAGAIN else { return endByError("Writing to the other side") }
                guard backlog.count - left <= Self.backlogLimit else { return end(.peerDoesNotRead) }
                return stream.waits(forRoom: true)
            }
            left += count
        }
        backlog.removeAll(keepingCapacity: backlog.count <= 1 << 16)
        left = 0
        stream.waits(forRoom: false)
    }

    /// Ends a transport after a failed call. A peer that leaves with octets unread resets the stream: it closed it too.
    private func endByError(_ attempt: String) {
        // A serial line whose other end or whose adapter has gone fails with EIO.
        if [ECONNRESET, EPIPE, EIO, ENXIO, ENODEV].contains(errno) { return endByPeer() }
        end(.system(attempt, reason: systemError()))
    }

    private func endByPeer() {
        if case .serial(let device) = kind { return end(.unplugged(device)) }
        end(framer.isBetweenPackets ? .ended : .endedInsidePacket)
    }

    /// Ends a transport that failed, and tells its owner.
    private func end(_ error: TransportError) {
        backlog = []
        left = 0
        stream.end(error, for: self)
    }

    /// Linux forgets this after a while, so it is said after each read. Without it, a controller that sends a packet
    /// in two pieces and leaves Nagle's algorithm on waits forty milliseconds for our acknowledgement.
    private func quickenAcknowledgements() {
        if kind == .tcp { setOption(stream.number, level: Int32(IPPROTO_TCP), option: TCP_QUICKACK, to: 1) }
    }
}
