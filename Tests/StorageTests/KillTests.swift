import Foundation
import Glibc
import Storage
import Testing

/// A process is killed while it writes, again and again, on one and the same file.
@Suite("Kill", .timeLimit(.minutes(60)))
struct KillTests {
    private static let bank = Schema(
        name: "bank",
        steps: [
            [
                "CREATE TABLE account (number INTEGER PRIMARY KEY, balance INTEGER NOT NULL) STRICT",
                "CREATE TABLE transfer (number INTEGER PRIMARY KEY, note BLOB NOT NULL) STRICT",
                "INSERT INTO account VALUES (1, 1000), (2, 1000), (3, 1000)",
            ]
        ])

    @Test("A kill at any moment leaves what was committed, whole")
    func kill() throws {
        let place = try Place()
        var last: Int64 = 0
        for round in 0..<30 {
            let said = try runAndKill(in: place, after: round * 13 % 40)
            var reports: [String] = []
            let database = try place.directory.open(Self.bank) { reports.append($0) }
            #expect(reports == [])
            let (total, newest, count) = try database.read { connection throws(StorageError) in
                let total = try connection.rows("SELECT sum(balance) FROM account")[0].integer(0)
                let row = try connection.rows("SELECT coalesce(max(number), 0), count(*) FROM transfer")[0]
                return (total, try row.integer(0), try row.integer(1))
            }
            #expect(total == 3000)
            // What it said is there; one more may be, for which it did not get to say so.
            #expect(newest == max(said, last) || newest == max(said, last) + 1)
            #expect(count == min(newest, 50))
            last = newest
        }
        #expect(last > 100)
    }

    /// - Returns: the last transaction that the process said to have committed.
    private func runAndKill(in place: Place, after count: Int) throws -> Int64 {
        // The products lie beside the tests.
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = Process()
        process.executableURL = URL(filePath: tests).deletingLastPathComponent().appending(path: "storage-writer")
        process.arguments = [place.path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var text = Data()
        // The kill comes at whatever the process does when so many lines have been read.
        while text.count(where: { $0 == UInt8(ascii: "\n") }) < count {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { break }
            text += more
        }
        Glibc.kill(process.processIdentifier, SIGKILL)
        text += output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        return lines.compactMap { Int64($0) }.last ?? 0
    }
}
