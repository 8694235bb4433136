import Glibc

/// A file of this process, such as its standard output, that is written line by line.
///
/// A write that fails is told, and stops nothing: whoever reads may be gone, a disk may be full, or the file may never
/// have been open.
package struct LineFile: Sendable {
    private let descriptor: Int32

    package static let standardOutput = LineFile(descriptor: STDOUT_FILENO)
    package static let standardError = LineFile(descriptor: STDERR_FILENO)

    /// What ``write(_:)`` returns of a pipe or socket whose other end is closed.
    static var readerIsGone: String { unsafe String(cString: strerror(EPIPE)) }

    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// - Returns: the system's words for why the line is not there; `nil` if it is.
    package func write(_ line: String) -> String? {
        var rest = Array((line + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Somebody who shares the file does not want to wait; we do.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&entry, 1, -1)
            } else if errno != EINTR {
                return unsafe String(cString: strerror(errno))
            }
        }
        return nil
    }
}
