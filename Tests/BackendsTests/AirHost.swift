import Foundation

/// A host without any code of ours: what it writes is on the wire. Every wait of its system calls is limited.
final class AirHost {
    private let descriptor: Int32

    /// How long one wait may take, in seconds.
    static let limit = 20

    init(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        connect(address)
    }

    init(path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        connect(address)
    }

    private func connect<Address>(_ address: Address) {
        var limit = timeval(tv_sec: Self.limit, tv_usec: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        unsafe withUnsafeBytes(of: address) { octets in
            unsafe octets.withMemoryRebound(to: sockaddr.self) { addresses in
                let result = unsafe Foundation.connect(
                    descriptor, addresses.baseAddress!, socklen_t(MemoryLayout<Address>.size))
                precondition(result == 0, "Nobody listens there.")
            }
        }
    }

    deinit { close() }

    private var isOpen = true

    func close() {
        guard isOpen else { return }
        isOpen = false
        _ = Foundation.close(descriptor)
    }

    func write(_ octets: [UInt8]) {
        _ = unsafe octets.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// The next `count` octets; fewer at the end of the stream.
    func read(_ count: Int) -> [UInt8] {
        var octets: [UInt8] = []
        while octets.count < count {
            var part = [UInt8](repeating: 0, count: count - octets.count)
            let taken = unsafe part.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
            guard taken > 0 else { break }
            octets += part.prefix(taken)
        }
        return octets
    }

    /// The next event: its octets behind the packet indicator; none at the end of the stream.
    func event() -> [UInt8] {
        let header = read(3)
        guard header.count == 3 else { return [] }
        return header.dropFirst() + read(Int(header[2]))
    }

    /// Sends a command and returns the next event.
    func exchange(_ command: [UInt8]) -> [UInt8] {
        write(command)
        return event()
    }
}
