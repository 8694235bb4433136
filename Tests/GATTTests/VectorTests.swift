import ConformanceKit
import Foundation
import Testing

/// Plays the files of `Tests/Vectors`, as the tool `conformance` does.
@Suite("Wire vectors")
struct VectorTests {
    @Test("Attribute protocol scripts")
    func gattScripts() throws {
        let report = try play("gatt-pdu-scripts.json")
        #expect(report.failures == [])
        #expect(report.summary == "93 passed, 0 failed")
    }

    @Test("Advertising payloads")
    func advertisements() throws {
        let report = try play("advertisements.json")
        #expect(report.failures == [])
        #expect(report.summary == "385 passed, 0 failed")
    }

    @Test("UUID spellings")
    func uuidStrings() throws {
        let report = try play("uuid-strings.json")
        #expect(report.failures == [])
        #expect(report.summary == "24 passed, 0 failed")
    }

    @Test("Attacks at every seam, from the air to files")
    func attacks() throws {
        let report = try play("attacks.json")
        #expect(report.failures == [])
        #expect(report.summary == "62 passed, 0 failed")
    }

    @Test("Signalling and credit-based channels")
    func channels() throws {
        let report = try play("l2cap-le-scripts.json")
        #expect(report.failures == [])
        #expect(report.summary == "45 passed, 0 failed, 1 skipped")
        #expect(report.skips.map(\.name) == ["nimble/frag/timeout"])
    }

    @Test("A wrong expectation is a failure that shows both sides")
    func failure() throws {
        let text = try String(contentsOf: Self.url("gatt-pdu-scripts.json"), encoding: .utf8)
        let wrong = text.replacingOccurrences(of: "0b426c75655a\"", with: "0b426c75655b\"")
        let report = try VectorFile(Data(wrong.utf8)).play()
        let first = try #require(report.failures.first)
        #expect(first.name == "/TP/GAR/SR/BV-01-C/small")
        #expect(first.expected == "0B 42 6C 75 65 5B")
        #expect(first.actual == "0B 42 6C 75 65 5A")
    }

    @Test(
        "A damaged or unknown file is refused with a reason",
        arguments: [
            ("", "It is damaged: not JSON."),
            ("[]", "The format is not known: its JSON is no object."),
            ("{}", "The format is not known: keys none."),
            (#"{"meta": {}, "lines": []}"#, "The format is not known: keys lines, meta."),
            (#"{"valid": [], "malformed": [1]}"#, "It is damaged: malformed.[0]: no String."),
            (#"{"databases": {}, "cases": [{}]}"#, "It is damaged: cases.[0]: id is missing."),
        ])
    func refused(text: String, reason: String) {
        #expect(throws: VectorFileError(reason)) { try VectorFile(Data(text.utf8)) }
    }

    private func play(_ name: String) throws -> ConformanceReport {
        try VectorFile(Data(contentsOf: Self.url(name))).play()
    }

    private static func url(_ name: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Vectors").appending(path: name)
    }
}
