// A program for a test to kill: it moves money between accounts in one transaction after the other, and says which
// it has committed. `storage-writer FOLDER`
import Glibc
import Storage

let schema = Schema(
    name: "bank",
    steps: [
        [
            "CREATE TABLE account (number INTEGER PRIMARY KEY, balance INTEGER NOT NULL) STRICT",
            "CREATE TABLE transfer (number INTEGER PRIMARY KEY, note BLOB NOT NULL) STRICT",
            "INSERT INTO account VALUES (1, 1000), (2, 1000), (3, 1000)",
        ]
    ])

do {
    let database = try StateDirectory(path: CommandLine.arguments[1]).open(schema)
    var number: Int64 = try database.read { connection throws(StorageError) in
        try connection.rows("SELECT coalesce(max(number), 0) FROM transfer")[0].integer(0)
    }
    while true {
        number += 1
        let note = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: Int(number * 37 % 9000))
        let (from, to) = (number % 3 + 1, (number + 1) % 3 + 1)
        try database.write { connection throws(StorageError) in
            try connection.run("UPDATE account SET balance = balance - 7 WHERE number = ?", .integer(from))
            try connection.run("INSERT INTO transfer VALUES (?, ?)", .integer(number), .blob(note))
            try connection.run("DELETE FROM transfer WHERE number <= ?", .integer(number - 50))
            try connection.run("UPDATE account SET balance = balance + 7 WHERE number = ?", .integer(to))
        }
        let line = Array("\(number)\n".utf8)
        _ = unsafe write(STDOUT_FILENO, line, line.count)
    }
} catch {
    print("failed: \(error)")
    exit(1)
}
