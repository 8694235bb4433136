import Glibc

/// Asks the person at the terminal.
enum Prompt {
    /// Waits for a line; `nil` if there comes none, or `isWanted` is false meanwhile.
    static func ask(_ prompt: String, while isWanted: () -> Bool) -> String? {
        var octets = Array(prompt.utf8)
        _ = unsafe write(STDOUT_FILENO, &octets, octets.count)
        var line: [UInt8] = []
        while isWanted() {
            var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            let count = unsafe poll(&entry, 1, 100)
            if count < 0, errno != EINTR { return nil }
            guard count > 0 else { continue }
            var octet: UInt8 = 0
            guard unsafe read(STDIN_FILENO, &octet, 1) == 1 else { return nil }
            if octet == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            // Nobody types as much.
            guard line.count < 256 else { return nil }
            line.append(octet)
        }
        return nil
    }
}
