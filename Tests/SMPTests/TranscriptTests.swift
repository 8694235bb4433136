import ConformanceKit
import Foundation
import Testing

/// Pairings that other stacks recorded, octet by octet.
@Suite("Pairing transcripts")
struct TranscriptTests {
    static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Vectors/smp-pairing-transcripts.json")

    @Test("All pairings and scripts")
    func all() throws {
        let report = try VectorFile(Data(contentsOf: Self.file)).play()
        #expect(report.failures == [])
        #expect(report.summary == "15 passed, 0 failed")
    }

    @Test(
        "A wrong expectation is found",
        arguments: [
            ("\"passkey\": 46128", "\"passkey\": 46129"),
            ("\"numeric_comparison\": 516214", "\"numeric_comparison\": 516215"),
            ("0345d22c38d8914f19a2d4fc7dad3779e0", "0345d22c38d8914f19a2d4fc7dad3779e1"), ("\"050a\"", "\"050b\""),
            ("0dea8aab7f1521", "0dea8aab7f1520"),
            ("d87f0a9441a5fd841501b72a7ae4fdfb", "d87f0a9441a5fd841501b72a7ae4fdfc"),
            ("\"irk_le\": \"eb8a06c4935104b38bbfe81f0e962a54\"", "\"irk_le\": \"eb8a06c4935104b38bbfe81f0e962a55\""),
        ])
    func wrong(original: String, changed: String) throws {
        let text = try String(contentsOf: Self.file, encoding: .utf8)
        #expect(text.contains(original))
        let report = try VectorFile(Data(text.replacingOccurrences(of: original, with: changed).utf8)).play()
        #expect(!report.failures.isEmpty)
    }
}
