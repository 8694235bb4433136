import Foundation
import Glibc
import Simulation

/// A file that only its owner may read, and that is replaced as a whole: at each moment there is the old one or the new
/// one.
enum OwnerFile {
    /// - Parameters:
    ///   - contents: what the file is to hold.
    ///   - path: where. Of a link, it is the file that it leads to.
    /// - Throws: a sentence. Whatever is there and is no regular file stays as it is.
    static func write(_ contents: Data, to path: String) throws(CommandFailure) {
        let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let kind = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        if let kind, kind != .typeRegular {
            let what = kind == .typeDirectory ? "is a folder" : "is not a regular file"
            throw CommandFailure(sentence: "\(path) \(what), and stays as it is")
        }
        var name = Array("\(path).XXXXXX".utf8CString)
        let file = unsafe mkstemp(&name)
        guard file >= 0 else { throw failure(path) }
        defer { close(file) }
        let isWritten = unsafe contents.withUnsafeBytes { octets in
            var done = 0
            while done < octets.count {
                let count = unsafe Glibc.write(file, octets.baseAddress! + done, octets.count - done)
                if count < 0 && errno != EINTR { return false }
                done += max(count, 0)
            }
            return true
        }
        guard isWritten, fsync(file) == 0, unsafe rename(name, path) == 0 else {
            let failure = failure(path)
            _ = unsafe unlink(name)
            throw failure
        }
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(sentence: "\(path) cannot be written: \(fileTrouble(code: errno))")
    }
}
