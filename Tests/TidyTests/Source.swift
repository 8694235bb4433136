import Foundation
import Testing

/// A Swift file of the package.
struct Source: CustomTestStringConvertible, Sendable {
    struct Line: Sendable {
        var number: Int
        var text: Substring
        /// Without comments and without the contents of strings.
        var code: Substring

        /// The words of the code.
        var words: [Substring] { code.split { !$0.isLetter && !$0.isNumber && $0 != "_" } }
    }

    /// The folder under `Sources`, `Tests` or `Examples`.
    var target: String
    /// From the package's root on.
    var path: String
    var lines: [Line]
    var testDescription: String { path }

    static func all(in areas: String...) throws -> [Source] {
        try areas.flatMap { area in
            try Tree.files(in: area).filter { $0.hasSuffix(".swift") }.map { try Source(path: $0) }
        }
    }

    private init(path: String) throws {
        self.init(path: path, text: try String(contentsOf: Tree.root.appending(path: path), encoding: .utf8))
    }

    init(path: String, text: String) {
        let code = SwiftText.code(of: text)
        func lines(_ text: String) -> [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
        self.path = path
        target = path.split(separator: "/").dropFirst().first.map(String.init) ?? ""
        self.lines = zip(lines(text), lines(code)).enumerated().map { index, line in
            Line(number: index + 1, text: line.0, code: line.1)
        }
    }

    /// Where a finding is, for a failure's sentence.
    func at(_ line: Line) -> String { "\(path):\(line.number)" }
}

/// The package's folder.
enum Tree {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The paths of all files below a folder, from the root on, in order. None if there is no such folder.
    static func files(in folder: String) -> [String] {
        let start = root.appending(path: folder)
        let below = FileManager.default.enumerator(at: start, includingPropertiesForKeys: [.isRegularFileKey])
        let files = (below?.compactMap { $0 as? URL } ?? []).filter { url in
            (try? url.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true
        }
        return files.map { String($0.path.dropFirst(root.path.count + 1)) }.filter { !$0.contains("__pycache__") }
            .sorted()
    }

    /// The names directly in a folder.
    static func folders(in folder: String) -> [String] {
        Set(
            files(in: folder).compactMap { path in
                let parts = path.split(separator: "/")
                return parts.count > 2 ? String(parts[1]) : nil
            }
        ).sorted()
    }
}
