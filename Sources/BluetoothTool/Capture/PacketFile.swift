import Glibc
import HCITransport

/// A btsnoop file that grows. Only its owner may read it, for it holds what the traffic holds.
final class PacketFile {
    struct Failure: Error {
        var reason: String
    }

    private let descriptor: Int32
    private var pending = BTSnoop.header

    init(_ path: String) throws(Failure) {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(reason: unsafe String(cString: strerror(errno))) }
    }

    deinit {
        flush()
        _ = close(descriptor)
    }

    func append(_ record: [UInt8]) {
        pending += record
        if pending.count > 1 << 16 { flush() }
    }

    /// A full disk ends the record, not the traffic.
    func flush() {
        var rest = pending[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        pending.removeAll(keepingCapacity: true)
    }
}
