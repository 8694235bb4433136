import Glibc

/// The kernel's small text files, in /proc and /sys.
enum SystemFile {
    /// The text of a file; `nil` if it cannot be read. What is longer than 64 KiB is cut.
    static func text(_ path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var octets: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while octets.count < 1 << 16 {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
            if count < 0 { return nil }
            if count == 0 { break }
            octets += chunk[..<count]
        }
        return String(decoding: octets, as: UTF8.self)
    }

    /// A number that stands alone in a file.
    static func number(_ path: String) -> Int? {
        text(path).flatMap { Int($0.split(whereSeparator: \.isWhitespace).first ?? "") }
    }

    /// The names in a folder, in order; none if it cannot be read.
    static func names(in folder: String) -> [String] {
        guard let stream = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { octets in
                unsafe String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Where a symbolic link leads; `nil` if that cannot be read.
    static func target(ofLink path: String) -> String? {
        var characters = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink(path, &characters, characters.count)
        guard count > 0 else { return nil }
        return String(decoding: characters[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
