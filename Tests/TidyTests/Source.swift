import Foundation
import Testing

/// A Swift file of the package.
struct Source: CustomTestStringConvertible, Sendable {
    struct Line: Sendable {
        var number: Int
        var text: String
        /// Without comments and the contents of strings, as far as one line shows.
        var code: String
    }

    /// The folder's first component: `Sources`, `Tests` or `Examples`.
    var area: String
    /// The target's folder.
    var target: String
    var path: String
    var lines: [Line]
    var testDescription: String { path }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func all(in areas: String...) throws -> [Source] {
        try areas.flatMap { area in
            let folder = root.appending(path: area)
            let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            let paths = (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            return try paths.sorted { $0.path < $1.path }.map { try Source(area: area, file: $0) }
        }
    }

    private init(area: String, file: URL) throws {
        let text = try String(contentsOf: file, encoding: .utf8)
        path = String(file.path.dropFirst(Self.root.path.count + 1))
        self.area = area
        target = path.split(separator: "/")[1].description
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map {
            Line(number: $0 + 1, text: String($1), code: Self.code(of: $1))
        }
    }

    private static func code(of line: Substring) -> String {
        var code = ""
        var isInString = false
        var previous: Character = " "
        for character in line {
            if character == "\"", previous != "\\" { isInString.toggle() }
            if !isInString {
                if character == "/", previous == "/" { return String(code.dropLast()) }
                code.append(character)
            }
            previous = character
        }
        return code
    }
}
