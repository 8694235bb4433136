import Foundation
import Storage
import Testing

/// A folder of a test's own, which goes with it.
final class Place: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "storage-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// The folder as another process would see it: nothing of it is open yet.
    var directory: StateDirectory { StateDirectory(path: path) }

    func permissions(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file(name))
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    /// Puts a file there that its owner alone may read.
    func write(_ content: Data, to name: String) throws {
        #expect(
            FileManager.default.createFile(
                atPath: file(name), contents: content, attributes: [.posixPermissions: 0o600]))
    }

    var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }
}

extension Schema {
    static let notes = Schema(name: "notes", steps: [["CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT) STRICT"]])

    /// The same, one version on.
    static let notesWithColour = Schema(
        name: "notes",
        steps: notes.steps + [["ALTER TABLE note ADD COLUMN colour TEXT", "UPDATE note SET colour = 'red'"]])
}

extension Database {
    func add(_ text: String) throws(StorageError) {
        try write { connection throws(StorageError) in
            try connection.run("INSERT INTO note (text) VALUES (?)", .text(text))
        }
    }

    var notes: [String] {
        get throws(StorageError) {
            try read { connection throws(StorageError) in
                var texts: [String] = []
                for row in try connection.rows("SELECT text FROM note ORDER BY id") { texts.append(try row.text(0)) }
                return texts
            }
        }
    }
}
