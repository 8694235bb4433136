import Foundation
import FuzzKit
import Testing

/// What fuzzers found, and what they started from, is played again at each run of the tests.
@Suite("Fuzzers' inputs")
struct FuzzTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Corpus")

    @Test("The corpus is survived", arguments: FuzzTarget.allCases)
    func corpus(target: FuzzTarget) throws {
        let folder = Self.corpus.appending(path: target.rawValue)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty, "\(target) has no inputs; ./test --fuzz makes them.")
        for file in files { target.run(Array(try Data(contentsOf: file))) }
    }

    @Test("Nonsense is survived", arguments: FuzzTarget.allCases)
    func nonsense(target: FuzzTarget) {
        for length in [0, 1, 2, 3, 64, 1000] {
            for octet: UInt8 in [0x00, 0x01, 0x5A, 0x80, 0xFF] { target.run(Array(repeating: octet, count: length)) }
        }
    }
}
