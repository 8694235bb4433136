import ConformanceKit
import Foundation

/// What shows that a case is passed: tests that carry its id in their names, and vectors that were played.
struct Evidence {
    /// By id; each as it stands on the page.
    private(set) var sources: [String: [String]] = [:]
    /// What is wrong with names or vectors, in sentences.
    private(set) var mistakes: [String] = []

    static func collected(for list: CaseList) throws -> Evidence {
        var evidence = Evidence()
        let ids = Set(list.cases.map(\.id))
        for (file, text) in try testFiles() { evidence.addTests(in: text, of: file, ids) }
        for name in ["gatt-pdu-scripts", "crypto-vectors", "smp-pairing-transcripts"] {
            try evidence.addVectors(name, ids)
        }
        return evidence
    }

    private static func testFiles() throws -> [(String, String)] {
        let tests = Repository.root.appending(path: "Tests")
        let files =
            FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" } ?? []
        return try files.sorted { $0.path < $1.path }.map {
            ($0.deletingPathExtension().lastPathComponent, try String(contentsOf: $0, encoding: .utf8))
        }
    }

    /// Ids in the names of tests and suites, and in the names of a parameterised test's arguments.
    mutating func addTests(in text: String, of file: String, _ ids: Set<String>) {
        // A literal of several lines first, or its quotes would be taken for empty strings.
        let strings = text.matches(of: /"""(?:[^"]|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"/).map { String($0.output) }
        for string in strings {
            for match in string.matches(of: /(?:GATT|SM|L2CAP|GAP)(?:\/[A-Z0-9]+)+\/B[VI]-[0-9]+-[CI]/) {
                let id = String(match.output)
                guard ids.contains(id) else { continue }
                add("\(file)", to: id)
            }
        }
    }

    /// The cases of a file that were played and passed.
    private mutating func addVectors(_ name: String, _ ids: Set<String>) throws {
        let url = Repository.root.appending(path: "Tests/Vectors/\(name).json")
        let data = try Data(contentsOf: url)
        let report = try VectorFile(data).play()
        for failure in report.failures { mistakes.append("\(name).json: \(failure.name) failed at \(failure.place).") }
        let names = try Self.testCases(in: data)
        for pass in report.passes {
            guard let id = names[pass] ?? Self.presentForm(of: pass), ids.contains(id) else { continue }
            add("\(name).json", to: id)
        }
    }

    /// The SIG's id of each script, where the file gives one.
    private static func testCases(in data: Data) throws -> [String: String] {
        let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        let cases = object?["cases"] as? [[String: Any]] ?? []
        return Dictionary(
            cases.compactMap { item in
                guard let name = item["id"] as? String, let id = item["sig_id"] as? String else { return nil }
                return (name, id)
            }, uniquingKeysWith: { first, _ in first })
    }

    /// `SM/MAS/SCJW/BV-01-C/02` is a row of what is now called `SM/CEN/SCJW/BV-01-C`.
    private static func presentForm(of name: String) -> String? {
        guard let match = name.wholeMatch(of: /SM\/(MAS|SLA)\/([A-Z]+\/B[VI]-[0-9]+-C)(?:\/[0-9]+)?/) else {
            return nil
        }
        return "SM/\(match.output.1 == "MAS" ? "CEN" : "PER")/\(match.output.2)"
    }

    private mutating func add(_ source: String, to id: String) {
        if sources[id]?.contains(source) != true { sources[id, default: []].append(source) }
    }
}
