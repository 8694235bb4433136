import Foundation
import HCITransport

/// The other side of a connection, without any code of ours: what it writes is on the wire, what it reads was.
final class BarePeer {
    enum Kind: CaseIterable, Sendable {
        case tcp
        case unix
        /// A pseudo-terminal for a serial line.
        case serial
        /// A socket that keeps packets apart, as the kernel's user channel does.
        case packets

        static let streams: [Kind] = [.tcp, .unix, .serial]
    }

    private let descriptor: Int32
    private let kind: Kind
    private var isOpen = true
    /// What errors call the other side.
    private let name: String
    /// Our end.
    let accepted: any Transport

    init(_ kind: Kind, on loop: RealTimeLoop) throws {
        self.kind = kind
        switch kind {
        case .tcp:
            (descriptor, accepted) = try Self.tcp(on: loop)
            name = "TCP"
        case .unix:
            let ends = Self.pair(SOCK_STREAM)
            (descriptor, name) = (ends.peer, "Unix")
            accepted = StreamTransport(ends.ours, kind: .unix, on: loop)
        case .serial:
            (descriptor, name) = Self.pseudoTerminal()
            accepted = try StreamTransport.open(serial: name, baud: 1_000_000, on: loop)
        case .packets:
            let ends = Self.pair(SOCK_SEQPACKET)
            (descriptor, name) = (ends.peer, "hci7")
            accepted = PacketTransport(ends.ours, name: name, on: loop)
        }
    }

    deinit { close() }

    /// Linux, ioctl_tty(2): TIOCSPTLCK unlocks the other end, TIOCGPTN tells its number.
    private static func pseudoTerminal() -> (Int32, String) {
        let descriptor = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var lock: Int32 = 0
        var number: Int32 = 0
        _ = unsafe ioctl(descriptor, 0x4004_5431, &lock)
        _ = unsafe ioctl(descriptor, 0x8004_5430, &number)
        return (descriptor, "/dev/pts/\(number)")
    }

    private static func tcp(on loop: RealTimeLoop) throws -> (Int32, StreamTransport) {
        var transport: StreamTransport?
        let listener = try SocketListener(port: 0, on: loop) { transport = $0 }
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = listener.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        unsafe withUnsafePointer(to: &address) { pointer in
            _ = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        loop.run { transport != nil }
        listener.close()
        return (client, transport!)
    }

    private static func pair(_ type: __socket_type) -> (peer: Int32, ours: Int32) {
        var ends: [Int32] = [-1, -1]
        unsafe socketpair(AF_UNIX, Int32(type.rawValue), 0, &ends)
        _ = fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | O_NONBLOCK)
        return (ends[0], ends[1])
    }

    /// How our end must say that this side has gone.
    func ended(insidePacket: Bool = false) -> TransportError {
        switch kind {
        case .tcp, .unix: insidePacket ? .endedInsidePacket : .ended
        case .serial, .packets: .unplugged(name)
        }
    }

    /// Whole packets, as this kind of line carries them: streams in one write.
    func write(packets: [[UInt8]]) {
        if kind == .packets { packets.forEach(write) } else { write(packets.flatMap { $0 }) }
    }

    func write(_ octets: [UInt8]) {
        let count = unsafe octets.withUnsafeBytes { unsafe Foundation.write(descriptor, $0.baseAddress, $0.count) }
        precondition(count == octets.count, "The test's own write came to \(count) octets.")
    }

    /// Waits for octets, `count` at most, and returns them; none at the end of the stream.
    func read(_ count: Int) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: count)
        let taken = unsafe octets.withUnsafeMutableBytes {
            unsafe Foundation.read(descriptor, $0.baseAddress, $0.count)
        }
        return Array(octets.prefix(max(0, taken)))
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        _ = Foundation.close(descriptor)
    }
}
