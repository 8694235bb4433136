import BluetoothSimulation
import Foundation
import Synchronization
public import Testing

/// Keeps what the worlds of a test did, and leaves it behind if the test fails.
///
///     @Test(.recordsFailures) func comesBack() {
///         let world = BluetoothWorld(seed: 7)
///         ...
///     }
///
/// When a test has recorded an issue, its worlds are written into a folder: `story.txt`, `air.pcap` and a `.btsnoop`
/// for each device. The issue says where, with the end of the story. Folders lie in `BLE_RECORDINGS`, else in the
/// system's folder for temporary files.
public struct RecordsFailures: TestTrait, SuiteTrait, TestScoping {
    public let isRecursive = true

    public init() {}

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let recordings = WorldRecordings()
        let name = String(test.name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
        let folder = Self.folder + "/\(name)-\(UUID().uuidString.prefix(8))"
        let stories = Mutex<[String]?>(nil)
        let annotating = IssueHandlingTrait.compactMapIssues { issue in
            guard !recordings.isEmpty else { return issue }
            let told = stories.withLock { known -> [String] in
                if let known { return known }
                let told = (try? recordings.write(to: folder)) ?? []
                known = told
                return told
            }
            var issue = issue
            issue.comments.append(Comment(rawValue: Self.comment(folder, told)))
            return issue
        }
        try await annotating.provideScope(for: test, testCase: testCase) {
            try await WorldRecordings.$current.withValue(recordings) { try await function() }
            // What happened after the first issue belongs to the recording too.
            if stories.withLock({ $0 }) != nil { _ = try recordings.write(to: folder) }
        }
    }

    private static var folder: String {
        ProcessInfo.processInfo.environment["BLE_RECORDINGS"] ?? FileManager.default.temporaryDirectory.path
    }

    private static func comment(_ folder: String, _ stories: [String]) -> String {
        let ends = stories.map { story in
            story.split(separator: "\n").suffix(12).joined(separator: "\n")
        }
        return "What the world did is in \(folder). Last of all:\n" + ends.joined(separator: "\n\n")
    }
}

extension Trait where Self == RecordsFailures {
    /// Keeps what the worlds of a test did, and leaves it behind if the test fails.
    public static var recordsFailures: RecordsFailures { RecordsFailures() }
}
