import Synchronization

/// An SQLite database for values of ours: of one process's threads and of several processes at once.
///
/// A kill at any moment leaves it as the last committed transaction did. A transaction is seen by others as a whole
/// or not at all.
// `@unchecked`: the connection is touched under `lock` alone.
package final class Database: @unchecked Sendable {
    /// How long one waits for another process's transaction.
    package static let patience = Duration.seconds(5)

    private let lock = Mutex<Void>(())
    private let connection: Connection

    /// `:memory:` if it goes with the process.
    package var path: String { connection.path }

    /// Opens a file that exists and is safe, or one in memory, and brings it to the form that `schema` describes.
    init(path: String, schema: Schema) throws(StorageError) {
        connection = try Connection(path: path)
        // Of a file that is damaged in the middle the first question may fail, or none.
        let faults = try connection.rows(of: "PRAGMA quick_check(1)")
        guard faults.map(\.values) == [[.text("ok")]] else {
            throw .damaged(path: path, reason: "SQLite finds faults in it")
        }
        // What the tables hold may come from elsewhere: no function is called by them.
        _ = try connection.rows(of: "PRAGMA trusted_schema = OFF")
        _ = try connection.rows(of: "PRAGMA cell_size_check = ON")
        _ = try connection.rows(of: "PRAGMA secure_delete = ON")
        _ = try connection.rows(of: "PRAGMA foreign_keys = ON")
        // Readers do not wait for writers. Where the file system cannot do it the journal that SQLite then uses
        // survives a kill as well.
        _ = try connection.rows(of: "PRAGMA journal_mode = WAL")
        switch schema.durability {
        case .processEnd: _ = try connection.rows(of: "PRAGMA synchronous = NORMAL")
        case .powerLoss: _ = try connection.rows(of: "PRAGMA synchronous = FULL")
        }
        try migrate(to: schema)
    }

    /// Runs `body` in a transaction that may change the database: all of it is done, or, if it throws, nothing.
    ///
    /// No transaction runs inside another.
    package func write<Result: Sendable>(
        _ body: (Connection) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try transaction("BEGIN IMMEDIATE", body)
    }

    /// Runs `body` in a transaction that sees the database as it is at one moment.
    package func read<Result: Sendable>(
        _ body: (Connection) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try transaction("BEGIN", body)
    }

    private func transaction<Result: Sendable>(
        _ begin: String, _ body: (Connection) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try lock.withLock { _ throws(StorageError) in
            _ = try connection.rows(of: begin)
            do throws(StorageError) {
                let result = try body(connection)
                _ = try connection.rows(of: "COMMIT")
                return result
            } catch {
                // SQLite may have taken it back already.
                _ = try? connection.rows(of: "ROLLBACK")
                throw error
            }
        }
    }

    // MARK: Versions

    private func migrate(to schema: Schema) throws(StorageError) {
        try write { connection throws(StorageError) in
            let version = Int(try connection.rows(of: "PRAGMA user_version")[0].integer(0))
            guard version <= schema.version else {
                throw .newerVersion(path: connection.path, found: version, known: schema.version)
            }
            guard version >= 0 else {
                throw .damaged(path: connection.path, reason: "it has the version \(version)")
            }
            let expected = try Self.tables(after: schema.steps[..<version])
            guard try connection.tables == expected else {
                throw .damaged(path: connection.path, reason: "its tables are not those of its version")
            }
            guard version < schema.version else { return }
            do throws(StorageError) {
                try connection.perform(schema.steps[version...])
                _ = try connection.rows(of: "PRAGMA user_version = \(schema.version)")
            } catch .damaged(_, let reason) {
                // The file is what it should be: it stays as it is, for a version that can do it.
                throw .unavailable(
                    path: connection.path, reason: "it cannot be brought to the format \(schema.version): \(reason)")
            }
        }
    }

    /// How a database looks in which nothing but these steps was done.
    private static func tables(after steps: ArraySlice<[StaticString]>) throws(StorageError) -> [Row] {
        let fresh = try Connection(path: ":memory:")
        try fresh.perform(steps)
        return try fresh.tables
    }
}

extension Connection {
    fileprivate func perform(_ steps: ArraySlice<[StaticString]>) throws(StorageError) {
        for statement in steps.joined() { _ = try rows(of: statement.description) }
    }

    fileprivate var tables: [Row] {
        get throws(StorageError) {
            try rows(of: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").map {
                Row(values: $0.values, path: "")
            }
        }
    }
}
