import Foundation
import Testing

/// C8: an app is killed at every step of the lock's and of the transfer's scenario, on either side, with a hundred
/// seeds each. Nothing is told that is wrong, nothing is missing, and the next life finds what
/// `Documentation/StateRestoration.md` says.
// One after the other, so that other tests with a limit of time have theirs meanwhile.
@Suite("B-L6: kill at every step", .serialized, .timeLimit(.minutes(60)))
struct KillTests {
    /// A quarter of them at each run of the tests; all with `KILL_SEEDS=100 ./test --filter KillTests`.
    static let seeds: ClosedRange<UInt64> =
        1...max(1, ProcessInfo.processInfo.environment["KILL_SEEDS"].flatMap(UInt64.init) ?? 25)

    @Test("Kill", arguments: KillCase.all)
    func kill(at point: KillCase) throws {
        let expected = try #require(RestorationTable.documented()[point], "The table has no row for \(point).")
        for seed in Self.seeds {
            let found = point.play(seed: seed)
            guard found != expected else { continue }
            Issue.record(
                "With seed \(seed), after a kill at \(point), the next life is told \(found), not \(expected).")
            return
        }
    }

    /// Made anew by `REGENERATE=1 ./test --filter KillTests`.
    @Test("The table in the documentation has a row for each step, and no other")
    func table() throws {
        if ProcessInfo.processInfo.environment["REGENERATE"] == "1" { try RestorationTable.write() }
        #expect(Set(try RestorationTable.documented().keys) == Set(KillCase.all))
    }
}

/// Who is killed, and when.
struct KillCase: Hashable, CustomStringConvertible, CustomTestStringConvertible, Sendable {
    enum Victim: String, CaseIterable, Sendable {
        case phone = "the phone of the lock"
        case lock = "the lock"
        case receiver = "the receiver of the transfer"
        case sender = "the sender of the transfer"
    }

    let victim: Victim
    let step: String

    static let all = Victim.allCases.flatMap { victim in
        steps(of: victim).map { KillCase(victim: victim, step: $0) }
    }

    private static func steps(of victim: Victim) -> [String] {
        switch victim {
        case .phone: LockPhone.Step.allCases.map(\.rawValue)
        case .lock: LockFirmware.Step.allCases.map(\.rawValue)
        case .receiver: TransferKill.DownloadStep.allCases.map(\.rawValue)
        case .sender: TransferKill.UploadStep.allCases.map(\.rawValue)
        }
    }

    var description: String { "\(victim.rawValue): \(step)" }
    var testDescription: String { description }

    /// - Returns: what the next life is told by itself.
    func play(seed: UInt64, sourceLocation: SourceLocation = #_sourceLocation) -> [String] {
        switch victim {
        case .phone: LockKill(seed: seed, phoneStep: step).play(sourceLocation: sourceLocation)
        case .lock: LockKill(seed: seed, lockStep: step).play(sourceLocation: sourceLocation)
        case .receiver:
            TransferKill(seed: seed, download: .init(rawValue: step)).play(sourceLocation: sourceLocation)
        case .sender: TransferKill(seed: seed, upload: .init(rawValue: step)).play(sourceLocation: sourceLocation)
        }
    }
}

/// The tables of `Documentation/StateRestoration.md`, one for each victim.
enum RestorationTable {
    private static let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Documentation/StateRestoration.md")
    private static let begin = "<!-- begin of the tables -->\n"
    private static let end = "<!-- end of the tables -->\n"

    static func documented() throws -> [KillCase: [String]] {
        var rows: [KillCase: [String]] = [:]
        var victim: KillCase.Victim?
        for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("### ") { victim = KillCase.Victim(rawValue: line.dropFirst(4).lowercased()) }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let victim, line.hasPrefix("| "), cells.count == 2, !cells[0].hasPrefix("---") else { continue }
            let key = KillCase(victim: victim, step: cells[0])
            guard KillCase.all.contains(key) else { continue }
            rows[key] = cells[1] == "nothing" ? [] : cells[1].components(separatedBy: " · ")
        }
        return rows
    }

    static func write() throws {
        var text = ""
        for victim in KillCase.Victim.allCases {
            let title = victim.rawValue.prefix(1).uppercased() + victim.rawValue.dropFirst()
            text += "### \(title)\n\n| killed at | the next life is told |\n| --- | --- |\n"
            for point in KillCase.all where point.victim == victim {
                let told = point.play(seed: 1)
                text += "| \(point.step) | \(told.isEmpty ? "nothing" : told.joined(separator: " · ")) |\n"
            }
            text += "\n"
        }
        let page = try String(contentsOf: url, encoding: .utf8)
        let head = try #require(page.range(of: begin)?.upperBound)
        let tail = try #require(page.range(of: end)?.lowerBound)
        try (page[..<head] + "\n" + text + page[tail...]).write(to: url, atomically: true, encoding: .utf8)
    }
}
