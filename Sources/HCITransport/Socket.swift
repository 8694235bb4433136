import Glibc

/// A socket's address, and what people call it.
struct SocketAddress {
    var storage: sockaddr_storage
    var length: socklen_t
    var name: String

    var family: Int32 { Int32(storage.ss_family) }

    /// - Throws: ``TransportError/pathTooLong(_:)``.
    static func unix(path: String) throws(TransportError) -> SocketAddress {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let octets = Array(path.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path) - 1
        guard octets.count <= room else { throw .pathTooLong(path) }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: octets) }
        return SocketAddress(copying: address, name: path)
    }

    /// An IPv4 address of this machine that nobody else can reach.
    static func loopback(port: UInt16) -> SocketAddress {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return SocketAddress(copying: address, name: "127.0.0.1:\(port)")
    }

    /// A channel of an HCI socket.
    static func hci(adapter: UInt16, channel: UInt16, name: String) -> SocketAddress {
        // linux/bluetooth/hci_sock.h: three fields of 16 bits, the family first.
        SocketAddress(copying: (sa_family_t(LinuxHCI.family), adapter, channel), name: name)
    }

    /// All addresses of a host, in the order in which the system would try them.
    static func resolve(host: String, port: UInt16) throws(TransportError) -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, String(port), &hints, &list) == 0, let first = unsafe list else {
            throw .unknownHost(host)
        }
        defer { unsafe freeaddrinfo(first) }
        var result: [SocketAddress] = []
        var entry: UnsafeMutablePointer<addrinfo>? = unsafe first
        while let current = unsafe entry {
            var storage = sockaddr_storage()
            let length = unsafe current.pointee.ai_addrlen
            unsafe withUnsafeMutableBytes(of: &storage) { target in
                unsafe target.copyMemory(
                    from: UnsafeRawBufferPointer(start: current.pointee.ai_addr, count: Int(length)))
            }
            result.append(SocketAddress(storage: storage, length: length, name: "\(host):\(port)"))
            unsafe entry = current.pointee.ai_next
        }
        return result
    }

    private init(storage: sockaddr_storage, length: socklen_t, name: String) {
        self.storage = storage
        self.length = length
        self.name = name
    }

    private init<Address>(copying address: Address, name: String) {
        var storage = sockaddr_storage()
        unsafe withUnsafeMutableBytes(of: &storage) { target in
            unsafe withUnsafeBytes(of: address) { unsafe target.copyMemory(from: $0) }
        }
        self.init(storage: storage, length: socklen_t(MemoryLayout<Address>.size), name: name)
    }

    /// Calls a function of the system that takes an address.
    func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }
}

/// The last error of the system, in its own words.
func systemError(_ code: Int32 = errno) -> String { unsafe String(cString: strerror(code)) }

func setOption(_ socket: Int32, level: Int32, option: Int32, to value: Int32) {
    // An option that cannot be set costs speed and nothing else.
    var value = value
    _ = unsafe setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
}

func makeNonblocking(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

/// A stream socket that does not block.
func makeSocket(family: Int32) throws(TransportError) -> Int32 {
    let socket = Glibc.socket(family, Int32(SOCK_STREAM.rawValue), 0)
    guard socket >= 0 else { throw .system("Making a socket", reason: systemError()) }
    makeNonblocking(socket)
    return socket
}
