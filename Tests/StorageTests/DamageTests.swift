import Foundation
import Storage
import Testing

@Suite("Damage")
struct DamageTests {
    private enum Damage: CaseIterable {
        case noise, shortened, otherTables, otherApplication, missingTable
    }

    @Test("A damaged file is set aside, with a sentence", arguments: Damage.allCases)
    private func setAside(damage: Damage) throws {
        let place = try Place()
        try fill(place)
        try apply(damage, to: place)
        var reports: [String] = []
        let database = try place.directory.open(.notes) { reports.append($0) }
        #expect(try database.notes == [])
        #expect(reports.count == 1)
        #expect(reports.first?.contains("notes.sqlite.damaged-1") == true)
        #expect(try place.names.contains("notes.sqlite.damaged-1"))
        try database.add("new")
        #expect(try place.directory.open(.notes).notes == ["new"])
    }

    @Test("Damage at any place is found or does not matter: no crash, and never a wrong text", arguments: 0..<200)
    func anywhere(seed: Int) throws {
        let place = try Place()
        try fill(place)
        let path = place.file("notes.sqlite")
        var content = try Data(contentsOf: URL(filePath: path))
        // A generator of no importance: the place and the octet of this case.
        let position = seed &* 2_654_435_761 % content.count
        content[position] ^= UInt8(seed % 255 + 1)
        try overwrite(place, with: content)
        do throws(StorageError) {
            let database = try place.directory.open(.notes)
            _ = try database.notes
            try database.add("goes on")
        } catch {
            // A version number is a number, whatever it is.
            switch error {
            case .damaged, .newerVersion: break
            case .unsafePlace, .unavailable, .busy: Issue.record("\(error)")
            }
        }
    }

    @Test("Not more than eight damaged files are kept")
    func bounded() throws {
        let place = try Place()
        for _ in 0..<12 {
            try overwrite(place, with: Data("no database, but longer than nothing".utf8))
            _ = try place.directory.open(.notes)
        }
        #expect(try place.names.filter { $0.contains("damaged") && !$0.hasSuffix("-wal") }.count == 8)
    }

    private func fill(_ place: Place) throws {
        // Closed at the end, and by that all in the file itself.
        let database = try place.directory.open(.notes)
        for number in 0..<200 { try database.add("note \(number), long enough to need several pages") }
    }

    private func apply(_ damage: Damage, to place: Place) throws {
        let path = place.file("notes.sqlite")
        switch damage {
        case .noise: try overwrite(place, with: Data((0..<8192).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) }))
        case .shortened: try overwrite(place, with: try Data(contentsOf: URL(filePath: path)).prefix(5000))
        case .otherTables:
            try place.directory.open(.notes).write { connection throws(StorageError) in
                try connection.run("CREATE TRIGGER evil AFTER INSERT ON note BEGIN DELETE FROM note; END")
            }
        case .otherApplication: try overwrite(place, with: Data("#!/bin/sh\necho this is no database\n".utf8))
        case .missingTable:
            try place.directory.open(.notes).write { connection throws(StorageError) in
                try connection.run("DROP TABLE note")
            }
        }
    }

    /// Replaces the database by a file of this content.
    private func overwrite(_ place: Place, with content: Data) throws {
        for name in try place.names where name.hasPrefix("notes.sqlite") && !name.contains("damaged") {
            try FileManager.default.removeItem(atPath: place.file(name))
        }
        try place.write(content, to: "notes.sqlite")
    }
}
