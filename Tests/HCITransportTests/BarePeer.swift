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
        /// That channel itself, of an adapter that this test makes: only in the machine of Tests/BlueZ, which plays
        /// nothing else.
        case userChannel

        static let allCases: [Kind] =
            ProcessInfo.processInfo.environment["BLUEZ_VM_TESTS"] != nil
            ? [.userChannel] : [.tcp, .unix, .serial, .packets]
        static let streams = allCases.filter(\.isStream)

        var isStream: Bool {
            switch self {
            case .tcp, .unix, .serial: true
            case .packets, .userChannel: false
            }
        }
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
        case .userChannel:
            let index: UInt16
            (descriptor, index) = Self.virtualAdapter()
            name = "hci\(index)"
            accepted = try Self.userChannel(of: index, on: loop)
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

    /// Linux, drivers/bluetooth/hci_vhci.c: the packet FF makes an adapter; bit 7 of its octet says that the kernel
    /// leaves it as it is. The answer repeats both, and the adapter's number follows.
    private static func virtualAdapter() -> (Int32, UInt16) {
        let descriptor = unsafe open("/dev/vhci", O_RDWR)
        var octets: [UInt8] = [0xFF, 0x80, 0, 0]
        _ = unsafe Foundation.write(descriptor, &octets, 2)
        _ = unsafe Foundation.read(descriptor, &octets, 4)
        return (descriptor, UInt16(octets[2]) | UInt16(octets[3]) << 8)
    }

    /// The kernel has a look at each new adapter first.
    private static func userChannel(of index: UInt16, on loop: RealTimeLoop) throws -> PacketTransport {
        let end = Date(timeIntervalSinceNow: 20)
        while true {
            let adapter = try LinuxAdapter.named(.index(index))
            let attempt = Result { () throws -> PacketTransport in
                guard let adapter else { throw TransportError.noAdapter("hci\(index)") }
                return try PacketTransport.open(adapter: adapter, on: loop)
            }
            if case .failure = attempt, Date() < end {
                Thread.sleep(forTimeInterval: 0.01)
            } else {
                return try attempt.get()
            }
        }
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
        case .serial, .packets, .userChannel: .unplugged(name)
        }
    }

    /// Whole packets, as this kind of line carries them: streams in one write.
    func write(packets: [[UInt8]]) {
        if kind.isStream { write(packets.flatMap { $0 }) } else { packets.forEach(write) }
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
