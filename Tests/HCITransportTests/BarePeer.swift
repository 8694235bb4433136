import Foundation
import HCITransport

/// The other side of a connection, without any code of ours: what it writes is on the wire, what it reads was.
final class BarePeer {
    enum Kind: CaseIterable, Sendable {
        case tcp
        case unix
    }

    private let descriptor: Int32
    private var isOpen = true
    /// Our end.
    let accepted: StreamTransport

    init(_ kind: Kind, on loop: RealTimeLoop) throws {
        var transport: StreamTransport?
        switch kind {
        case .tcp:
            let listener = try SocketListener(port: 0, on: loop) { transport = $0 }
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            descriptor = client
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
        case .unix:
            var ends: [Int32] = [-1, -1]
            unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
            descriptor = ends[0]
            _ = fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | O_NONBLOCK)
            transport = StreamTransport(ends[1], isTCP: false, on: loop)
        }
        accepted = transport!
    }

    deinit { close() }

    func write(_ octets: [UInt8]) {
        let count = unsafe octets.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, 0) }
        precondition(count == octets.count, "The test's own write came to \(count) octets.")
    }

    /// Waits for octets, `count` at most, and returns them; none at the end of the stream.
    func read(_ count: Int) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: count)
        let taken = unsafe octets.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
        return Array(octets.prefix(max(0, taken)))
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        _ = Foundation.close(descriptor)
    }
}
