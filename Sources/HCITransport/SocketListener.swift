import Glibc

/// Offers a place where hosts can connect to controllers: on the loopback address, or as a Unix socket that only
/// its owner may open. Each connection is a transport of its own, for one controller.
///
/// It lives on the loop, and is used there only.
package final class SocketListener {
    private let loop: RealTimeLoop
    private let socket: Int32
    private let path: String?
    private var isOpen = true

    /// The TCP port on which it listens; 0 for a Unix socket.
    package let port: UInt16

    /// - Parameters:
    ///   - port: 0 for any that is free.
    ///   - accept: takes each connection.
    package init(
        port: UInt16, on loop: RealTimeLoop, accept: @escaping (StreamTransport) -> Void
    ) throws(TransportError) {
        let address = SocketAddress.loopback(port: port)
        self.loop = loop
        path = nil
        socket = try makeSocket(family: address.family)
        setOption(socket, level: SOL_SOCKET, option: SO_REUSEADDR, to: 1)
        do throws(TransportError) {
            try bind(socket, to: address)
        } catch {
            isOpen = false
            _ = Glibc.close(socket)
            throw error
        }
        self.port = boundPort(socket)
        watch(accept)
    }

    /// - Parameters:
    ///   - path: where the socket is to be. A socket that lies there and that nobody listens on is replaced.
    ///   - accept: takes each connection.
    package init(
        path: String, on loop: RealTimeLoop, accept: @escaping (StreamTransport) -> Void
    ) throws(TransportError) {
        let address = try SocketAddress.unix(path: path)
        self.loop = loop
        self.path = path
        port = 0
        try removeAbandoned(address)
        socket = try makeSocket(family: address.family)
        // Linux gives the file the permissions of the socket, so that there is no moment without them.
        _ = fchmod(socket, 0o600)
        do throws(TransportError) {
            try bind(socket, to: address)
        } catch {
            isOpen = false
            _ = Glibc.close(socket)
            throw error
        }
        watch(accept)
    }

    deinit { if isOpen { end() } }

    package func close() {
        guard isOpen else { return }
        isOpen = false
        loop.unwatch(socket)
        end()
    }

    private func end() {
        _ = Glibc.close(socket)
        if let path { _ = unsafe unlink(path) }
    }

    private func watch(_ accept: @escaping (StreamTransport) -> Void) {
        // The loop keeps the listener alive until it is closed.
        loop.watch(socket, for: .readable) { [self] _ in
            guard isOpen else { return }
            let connection = Glibc.accept(socket, nil, nil)
            guard connection >= 0 else { return }
            makeNonblocking(connection)
            accept(StreamTransport(connection, kind: path == nil ? .tcp : .unix, on: loop))
        }
    }
}

private func bind(_ socket: Int32, to address: SocketAddress) throws(TransportError) {
    guard unsafe address.with({ unsafe Glibc.bind(socket, $0, $1) }) == 0, listen(socket, 16) == 0 else {
        switch errno {
        case EADDRINUSE: throw .addressInUse(address.name)
        case EACCES, EPERM: throw .notPermitted(address.name)
        default: throw .system("Listening at \(address.name)", reason: systemError())
        }
    }
}

/// Removes a socket at which nobody listens. One at which somebody does is left alone, and binding fails.
private func removeAbandoned(_ address: SocketAddress) throws(TransportError) {
    let probe = try makeSocket(family: address.family)
    defer { _ = Glibc.close(probe) }
    let isAbandoned = unsafe address.with { unsafe Glibc.connect(probe, $0, $1) } != 0 && errno == ECONNREFUSED
    var status = stat()
    guard unsafe lstat(address.name, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else { throw .pathTaken(address.name) }
    if isAbandoned { _ = unsafe unlink(address.name) }
}

private func boundPort(_ socket: Int32) -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(socket, $0, &length) }
    }
    return UInt16(bigEndian: address.sin_port)
}
