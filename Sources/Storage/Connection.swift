import CSQLite

/// An open SQLite database inside a transaction. ``Database`` hands it out; it must not leave the closure.
@safe package final class Connection {
    let path: String
    private let handle: OpaquePointer
    /// Prepared statements, by their text: as many as the program has.
    private var statements: [String: OpaquePointer] = unsafe [:]

    /// - Parameter path: `:memory:` for one that goes with the object.
    init(path: String) throws(StorageError) {
        self.path = path
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        let status = unsafe sqlite3_open_v2(path, &handle, flags, nil)
        guard let opened = unsafe handle, status == SQLITE_OK else {
            let error = unsafe Self.error(status, handle, path: path)
            unsafe sqlite3_close_v2(handle)
            throw error
        }
        unsafe self.handle = opened
        unsafe sqlite3_extended_result_codes(opened, 0)
        unsafe sqlite3_busy_timeout(opened, Int32(Database.patience / .milliseconds(1)))
    }

    deinit {
        while let (_, statement) = unsafe statements.popFirst() { unsafe sqlite3_finalize(statement) }
        unsafe sqlite3_close_v2(handle)
    }

    /// Carries out a statement that answers nothing.
    ///
    /// - Parameter bindings: for the statement's `?`, in order.
    package func run(_ sql: StaticString, _ bindings: ColumnValue...) throws(StorageError) {
        _ = try rows(of: sql.description, bindings)
    }

    /// All rows of a statement's answer.
    package func rows(_ sql: StaticString, _ bindings: ColumnValue...) throws(StorageError) -> [Row] {
        try rows(of: sql.description, bindings)
    }

    /// The key of the row that the last INSERT made.
    package var lastInsertedRow: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

    /// How many rows the last statement changed.
    package var changeCount: Int { Int(unsafe sqlite3_changes(handle)) }

    func rows(of sql: String, _ bindings: [ColumnValue] = []) throws(StorageError) -> [Row] {
        let statement = try unsafe statement(sql)
        defer {
            unsafe sqlite3_reset(statement)
            unsafe sqlite3_clear_bindings(statement)
        }
        precondition(
            unsafe sqlite3_bind_parameter_count(statement) == bindings.count,
            "The statement \(sql) has another number of parameters than it was given values.")
        for (index, value) in bindings.enumerated() {
            try check(unsafe bind(value, to: statement, at: Int32(index + 1)))
        }
        var rows: [Row] = []
        while true {
            switch unsafe sqlite3_step(statement) {
            case SQLITE_ROW: rows.append(unsafe row(of: statement))
            case SQLITE_DONE: return rows
            case let status: throw error(status)
            }
        }
    }

    private func statement(_ sql: String) throws(StorageError) -> OpaquePointer {
        if let known = unsafe statements[sql] { return unsafe known }
        var prepared: OpaquePointer?
        try check(
            unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil))
        guard let prepared = unsafe prepared else { preconditionFailure("There is no statement in \"\(sql)\".") }
        unsafe statements[sql] = unsafe prepared
        return unsafe prepared
    }

    private func bind(_ value: ColumnValue, to statement: OpaquePointer, at index: Int32) -> Int32 {
        // SQLITE_TRANSIENT, which Swift does not import: SQLite makes a copy.
        let copy = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: return unsafe sqlite3_bind_null(statement, index)
        case .integer(let integer): return unsafe sqlite3_bind_int64(statement, index, integer)
        case .real(let real): return unsafe sqlite3_bind_double(statement, index, real)
        case .text(let text):
            return unsafe sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), copy)
        case .blob(let octets):
            // Of no octets SQLite would make a null.
            if octets.isEmpty { return unsafe sqlite3_bind_zeroblob(statement, index, 0) }
            return unsafe sqlite3_bind_blob(statement, index, octets, Int32(octets.count), copy)
        }
    }

    private func row(of statement: OpaquePointer) -> Row {
        let count = unsafe sqlite3_column_count(statement)
        let values = (0..<count).map { column -> ColumnValue in
            switch unsafe sqlite3_column_type(statement, column) {
            case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(statement, column))
            case SQLITE_FLOAT: return .real(unsafe sqlite3_column_double(statement, column))
            case SQLITE_TEXT: return .text(String(decoding: unsafe octets(statement, column), as: UTF8.self))
            case SQLITE_BLOB: return .blob(unsafe octets(statement, column))
            default: return .null
            }
        }
        return Row(values: values, path: path)
    }

    /// The octets of a text or a blob. A text is asked for as octets, too, for it may hold zeros.
    private func octets(_ statement: OpaquePointer, _ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(statement, column) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(statement, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    private func check(_ status: Int32) throws(StorageError) { if status != SQLITE_OK { throw error(status) } }

    private func error(_ status: Int32) -> StorageError { unsafe Self.error(status, handle, path: path) }

    private static func error(_ status: Int32, _ handle: OpaquePointer?, path: String) -> StorageError {
        let text = unsafe handle.map { unsafe String(cString: sqlite3_errmsg($0)) }
        let reason = text ?? "SQLite has no memory left"
        switch status & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: return .busy(path: path)
        // A statement that does not fit the tables: somebody has changed them.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_FORMAT, SQLITE_MISMATCH, SQLITE_CONSTRAINT:
            return .damaged(path: path, reason: reason)
        default: return .unavailable(path: path, reason: reason)
        }
    }
}
