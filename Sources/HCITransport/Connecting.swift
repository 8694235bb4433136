import Glibc

extension StreamTransport {
    /// How long a host may take to answer.
    static let connectTimeout = Duration.seconds(5)

    /// Connects to a controller's TCP port. It blocks the loop for five seconds at most for each of the host's
    /// addresses; a loop has nothing else to do before it has its transport.
    package static func connect(
        host: String, port: UInt16, on loop: RealTimeLoop
    ) throws(TransportError) -> StreamTransport {
        var failure = TransportError.unknownHost(host)
        for address in try SocketAddress.resolve(host: host, port: port) {
            do throws(TransportError) {
                return StreamTransport(try connectedSocket(address), kind: .tcp, on: loop)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// Connects to a controller's Unix socket.
    package static func connect(path: String, on loop: RealTimeLoop) throws(TransportError) -> StreamTransport {
        StreamTransport(try connectedSocket(try SocketAddress.unix(path: path)), kind: .unix, on: loop)
    }

    private static func connectedSocket(_ address: SocketAddress) throws(TransportError) -> Int32 {
        let socket = try makeSocket(family: address.family)
        do throws(TransportError) {
            try connect(socket, to: address)
            return socket
        } catch {
            _ = Glibc.close(socket)
            throw error
        }
    }

    private static func connect(_ socket: Int32, to address: SocketAddress) throws(TransportError) {
        guard unsafe address.with({ unsafe Glibc.connect(socket, $0, $1) }) != 0 else { return }
        guard errno == EINPROGRESS || errno == EINTR else { throw failure(errno, at: address) }
        var entries = [pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)]
        let timeout = Int32(connectTimeout / .milliseconds(1))
        guard unsafe poll(&entries, 1, timeout) > 0 else { throw .noAnswer(from: address.name) }
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &length)
        if code != 0 { throw failure(code, at: address) }
    }

    private static func failure(_ code: Int32, at address: SocketAddress) -> TransportError {
        switch code {
        case ECONNREFUSED, ENOTSOCK: .nobodyListens(at: address.name)
        case ENOENT, ENOTDIR: .noSocket(path: address.name)
        case EACCES, EPERM: .notPermitted(address.name)
        case ETIMEDOUT, EHOSTUNREACH, ENETUNREACH: .noAnswer(from: address.name)
        default: .system("Connecting to \(address.name)", reason: systemError(code))
        }
    }
}
