import Storage
import Synchronization

/// What the managers of a program are to find again when it has ended, however it ended: one record for each role and
/// restore identifier.
package final class RestorationStore: Sendable {
    static let schema = Schema(
        name: "restoration",
        steps: [
            [
                """
                CREATE TABLE manager (
                    program TEXT NOT NULL, role TEXT NOT NULL, identifier TEXT NOT NULL, saved INTEGER NOT NULL,
                    record BLOB NOT NULL,
                    PRIMARY KEY (program, role, identifier)
                ) STRICT
                """
            ]
        ])

    /// How many records are kept, of all programs; the ones that were not changed for longest go.
    static let capacity = 256
    /// The longest record, in octets: more than any radio has links and services for.
    static let longestRecord = 1 << 20

    private let program: String
    private let state: StateDirectory
    fileprivate let database: KeptDatabase
    fileprivate let report: @Sendable (String) -> Void
    private let claimed = Mutex<[Restoration]>([])

    init(
        program: String, state: StateDirectory, _ database: KeptDatabase, report: @escaping @Sendable (String) -> Void
    ) {
        self.program = program
        self.state = state
        self.database = database
        self.report = report
    }

    /// Gives a manager its place in the store, until it lets go of it or the program ends.
    ///
    /// - Returns: `nil` if another manager that lives has it, in this process or another.
    package func claim(role: String, identifier: String) -> Restoration? {
        let key = Restoration.Key(program: program, role: role, identifier: identifier)
        let claim: Claim?
        do throws(StorageError) {
            claim = try state.claim("\(program)\u{0}\(role)\u{0}\(identifier)")
            if claim == nil { return nil }
        } catch {
            // Where nothing can be claimed nothing can be kept, and there is nobody to share it with.
            report("The state of managers is not kept: \(error)")
            claim = nil
        }
        let restoration = Restoration(key, in: self, claim)
        claimed.withLock { $0.append(restoration) }
        return restoration
    }

    fileprivate func letGo(_ restoration: Restoration) {
        claimed.withLock { $0.removeAll { $0 === restoration } }
    }

    /// The program has ended: its places are free.
    func end() {
        let claimed = claimed.withLock { claimed in
            defer { claimed = [] }
            return claimed
        }
        for restoration in claimed { restoration.leave() }
    }
}

/// One manager's place in the store.
package final class Restoration: Sendable {
    fileprivate struct Key: Sendable {
        var program: String
        var role: String
        var identifier: String

        var columns: (ColumnValue, ColumnValue, ColumnValue) { (.text(program), .text(role), .text(identifier)) }
    }

    private struct Holding {
        var claim: Claim?
        var isOver = false
        var last: [UInt8]?
    }

    private let key: Key
    private let store: RestorationStore
    private let holding: Mutex<Holding>

    fileprivate init(_ key: Key, in store: RestorationStore, _ claim: Claim?) {
        self.key = key
        self.store = store
        let (program, role, identifier) = key.columns
        let record = store.database.attempt { database throws(StorageError) -> [UInt8]? in
            try database.read { connection throws(StorageError) in
                let rows = try connection.rows(
                    "SELECT record FROM manager WHERE program = ? AND role = ? AND identifier = ?", program, role,
                    identifier)
                return try rows.first?.blob(0)
            }
        }
        holding = Mutex(Holding(claim: claim, last: record ?? nil))
    }

    /// What was kept last.
    package var record: [UInt8]? { holding.withLock { $0.last } }

    /// Keeps a record in place of the last one: when this returns, no kill loses it. `nil` keeps none.
    package func keep(_ record: [UInt8]?) {
        holding.withLock { holding in
            guard !holding.isOver, record != holding.last else { return }
            if let record, record.count > RestorationStore.longestRecord {
                return store.report("The state of \(key.identifier) is too large to be kept.")
            }
            holding.last = record
            _ = store.database.attempt { database throws(StorageError) in try write(record, to: database) }
        }
    }

    private func write(_ record: [UInt8]?, to database: Database) throws(StorageError) {
        let (program, role, identifier) = key.columns
        try database.write { connection throws(StorageError) in
            guard let record else {
                return try connection.run(
                    "DELETE FROM manager WHERE program = ? AND role = ? AND identifier = ?", program, role, identifier)
            }
            let newest = try connection.rows("SELECT coalesce(max(saved), 0) FROM manager")[0].integer(0)
            try connection.run(
                """
                INSERT INTO manager VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET saved = excluded.saved, record = excluded.record
                """,
                program, role, identifier, .integer(newest &+ 1), .blob(record))
            try connection.run(
                """
                DELETE FROM manager WHERE saved <= (SELECT saved FROM manager ORDER BY saved DESC LIMIT 1 OFFSET ?)
                """,
                .integer(Int64(RestorationStore.capacity)))
        }
    }

    /// The manager is gone in good order, and what it wanted with it: nothing is to be found again.
    package func forget() {
        keep(nil)
        leave()
        store.letGo(self)
    }

    /// What is written from now on is not kept, and another manager may have the place.
    fileprivate func leave() {
        holding.withLock { holding in
            holding.isOver = true
            holding.claim = nil
        }
    }
}
