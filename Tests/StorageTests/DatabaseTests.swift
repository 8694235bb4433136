import Foundation
import Storage
import Testing

@Suite("Database")
struct DatabaseTests {
    @Test("What is written is there for the next process")
    func keeps() throws {
        let place = try Place()
        try place.directory.open(.notes).add("a")
        let second = try place.directory.open(.notes)
        try second.add("b")
        #expect(try place.directory.open(.notes).notes == ["a", "b"])
    }

    @Test("Each type comes back as it was")
    func types() throws {
        let kinds = Schema(name: "kinds", steps: [["CREATE TABLE kind (value ANY) STRICT"]])
        let database = try StateDirectory.inMemory().open(kinds)
        let values: [ColumnValue] = [
            .null, .integer(.min), .integer(.max), .real(-0.5), .text(""), .text("ü\u{0}z"), .blob([]),
            .blob([0, 255]),
        ]
        let read = try database.write { connection throws(StorageError) in
            for value in values { try connection.run("INSERT INTO kind VALUES (?)", value) }
            return try connection.rows("SELECT value FROM kind ORDER BY rowid").map(\.values)
        }
        #expect(read == values.map { [$0] })
    }

    @Test("A column of another type is damage, not a trap")
    func mismatch() throws {
        let kinds = Schema(name: "kinds", steps: [["CREATE TABLE kind (value ANY) STRICT"]])
        let database = try StateDirectory.inMemory().open(kinds)
        try database.write { connection throws(StorageError) in
            try connection.run("INSERT INTO kind VALUES (?)", .integer(256))
            let row = try connection.rows("SELECT value FROM kind")[0]
            #expect(throws: StorageError.self) { try row.text(0) }
            #expect(throws: StorageError.self) { try row.integer(0, as: UInt8.self) }
            #expect(try row.integer(0, as: UInt16.self) == 256)
        }
    }

    @Test("A transaction that fails leaves nothing")
    func rollback() throws {
        let database = try StateDirectory.inMemory().open(.notes)
        let failure = StorageError.unavailable(path: "here", reason: "it is a test")
        #expect(throws: failure) {
            try database.write { connection throws(StorageError) in
                try connection.run("INSERT INTO note (text) VALUES ('lost')")
                throw failure
            }
        }
        #expect(try database.notes == [])
        try database.add("kept")
        #expect(try database.notes == ["kept"])
    }

    @Test("An older file is brought to the present form, a newer one is left alone")
    func versions() throws {
        let place = try Place()
        try place.directory.open(.notes).add("a")
        let colour = try place.directory.open(.notesWithColour).read { connection throws(StorageError) in
            try connection.rows("SELECT colour FROM note")[0].text(0)
        }
        #expect(colour == "red")
        #expect(throws: StorageError.newerVersion(path: place.file("notes.sqlite"), found: 2, known: 1)) {
            try place.directory.open(.notes)
        }
        #expect(try place.directory.open(.notesWithColour).notes == ["a"])
    }

    @Test("A failing migration leaves the old version")
    func failingMigration() throws {
        let place = try Place()
        try place.directory.open(.notes).add("a")
        let broken = Schema(
            name: "notes",
            steps: Schema.notes.steps + [["ALTER TABLE note ADD COLUMN size INTEGER", "DROP TABLE none"]])
        let error = #expect(throws: StorageError.self) {
            try place.directory.open(broken) { Issue.record("\($0)") }
        }
        guard case .unavailable = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try place.directory.open(.notes).notes == ["a"])
    }

    @Test("Threads wait for each other")
    func threads() async throws {
        let database = try StateDirectory.inMemory().open(.notes)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 { group.addTask { try? database.add("\(number)") } }
        }
        #expect(try database.notes.count == 50)
    }

    @Test("Two connections wait for each other")
    func processes() async throws {
        let place = try Place()
        let databases = try (0..<4).map { _ in try place.directory.open(.notes) }
        await withTaskGroup(of: Void.self) { group in
            for database in databases {
                group.addTask { for number in 0..<25 { try? database.add("\(number)") } }
            }
        }
        #expect(try databases[0].notes.count == 100)
    }
}
