package import EventLoop
import Glibc
import HCI

/// HCI over a socket that keeps packets apart, as the kernel's user channel does: each read is one packet.
///
/// What is no packet is dropped and counted: the next read begins a new one, so nothing is lost by going on.
package final class PacketTransport: Transport, LoopParticipant {
    /// Longer than any packet: a header, and the 65,535 octets that one of ACL data may carry.
    private static let longestPacket = 1 << 16 + 16
    /// How many packets one turn takes, so that a busy controller does not keep the loop from its other work.
    private static let mostPacketsInOneTurn = 64

    private let socket: TransportDescriptor
    private let name: String
    /// What has been sent and not left, from `left` on.
    private var backlog: [[UInt8]] = []
    private var left = 0
    private var backlogOctets = 0
    private var buffer = [UInt8](repeating: 0, count: longestPacket)

    /// Reads that were no packet.
    package private(set) var malformedPackets = 0
    /// How often the system was called to take packets.
    package private(set) var writeCount = 0

    /// Takes over a connected socket that does not block. On the loop only.
    ///
    /// - Parameter name: what people call the adapter.
    package init(_ socket: Int32, name: String, on loop: RealTimeLoop) {
        self.socket = TransportDescriptor(socket, on: loop)
        self.name = name
    }

    package var deadline: Instant? { nil }
    package func wake(at now: Instant) {}

    package func open(_ deliver: @escaping (TransportEvent) -> Void) {
        socket.open(for: self, deliver, flush: { $0.flush() }, receive: { $0.receive() })
    }

    package func send(_ packet: [UInt8]) {
        guard socket.isOpen else { return }
        backlog.append(packet)
        backlogOctets += packet.count
    }

    package func endTurn() {
        if left < backlog.count { flush() }
    }

    package func close() {
        socket.close(for: self)
        backlog = []
        left = 0
    }
}

extension PacketTransport {
    private func receive() {
        var octets: [UInt8] = []
        var ends: [Int] = []
        var failure: TransportError?
        while ends.count < Self.mostPacketsInOneTurn {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(socket.number, $0.baseAddress, $0.count, 0) }
            guard count > 0 else {
                failure = count == 0 ? .unplugged(name) : errno == EAGAIN ? nil : readError()
                break
            }
            let packet = buffer[..<count]
            if isOnePacket(packet) {
                octets += packet
                ends.append(octets.count)
            } else {
                malformedPackets += 1
            }
        }
        socket.hand(over: zip([0] + ends.dropLast(), ends).map { octets[$0..<$1] })
        if let failure { end(failure) }
    }

    /// One packet a call: for all but the last of sendmmsg(2) the kernel adds a flag (MSG_BATCH, net/socket.c) that its
    /// Bluetooth sockets refuse with EINVAL, as they do every flag they do not know (net/bluetooth/hci_sock.c).
    private func flush() {
        while socket.isOpen, left < backlog.count {
            writeCount += 1
            let count = unsafe backlog[left].withUnsafeBytes { octets in
                unsafe Glibc.send(socket.number, octets.baseAddress, octets.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                guard errno == EAGAIN else { return end(readError()) }
                guard backlogOctets <= StreamTransport.backlogLimit else { return end(.peerDoesNotRead) }
                return socket.waits(forRoom: true)
            }
            backlogOctets -= backlog[left].count
            left += 1
        }
        backlog.removeAll(keepingCapacity: backlog.count <= 64)
        left = 0
        socket.waits(forRoom: false)
    }

    /// An adapter that has gone leaves its socket without a device: reading fails with EPIPE, writing with one of
    /// several others (Linux, net/bluetooth/hci_sock.c).
    private func readError() -> TransportError {
        switch errno {
        case EPIPE, EBADFD, ENODEV, ENXIO, ENETDOWN, ECONNRESET: .unplugged(name)
        default: .system("The exchange with \(name)", reason: systemError())
        }
    }

    private func end(_ error: TransportError) {
        backlog = []
        left = 0
        socket.end(error, for: self)
    }
}

private func isOnePacket(_ octets: ArraySlice<UInt8>) -> Bool {
    guard let first = octets.first, let headerLength = HCIPacketType(rawValue: first).headerLength,
        octets.count > headerLength
    else { return false }
    let payload = HCIPacketType(rawValue: first).payloadLength(header: octets.dropFirst())
    return octets.count == 1 + headerLength + payload
}
