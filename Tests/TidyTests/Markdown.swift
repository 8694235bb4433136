import Foundation
import Testing

/// A page of the documentation, as far as its promises can be checked.
struct Markdown: CustomTestStringConvertible, Sendable {
    /// What stands between two fences.
    struct Block: Equatable, Sendable {
        var language: String
        var text: String
        /// The Swift file that the line before the block links to.
        var source: String?
        var line: Int
    }

    /// What the two languages of a page must have in common.
    enum Mark: Equatable, Sendable {
        case anchor(String)
        case block(String)
    }

    /// From the package's root on.
    var path: String
    var blocks: [Block] = []
    var links: [(target: String, line: Int)] = []
    /// What a link can name behind `#`.
    var anchors: Set<String> = []
    var marks: [Mark] = []
    var testDescription: String { path }

    /// All pages of the repository, in order.
    static func all() throws -> [Markdown] {
        let top = try FileManager.default.contentsOfDirectory(atPath: Tree.root.path)
        let areas = top.filter { ![".git", ".build", ".cache"].contains($0) }.sorted()
        let files = areas.flatMap { $0.hasSuffix(".md") ? [$0] : Tree.files(in: $0) }
        return try files.filter { $0.hasSuffix(".md") }.map { try Markdown(path: $0) }
    }

    init(path: String) throws {
        self.init(path: path, text: try String(contentsOf: Tree.root.appending(path: path), encoding: .utf8))
    }

    init(path: String, text: String) {
        self.path = path
        var fence: Block?
        var previous = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("```") {
                if let block = fence {
                    blocks.append(block)
                    marks.append(.block(block.text))
                    fence = nil
                } else {
                    let source = previous.matches(of: Self.link).map { String($0.1) }.last { $0.hasSuffix(".swift") }
                    fence = Block(language: String(line.dropFirst(3)), text: "", source: source, line: index + 1)
                }
            } else if fence != nil {
                fence?.text += line + "\n"
            } else {
                read(String(line), number: index + 1)
                if !line.allSatisfy(\.isWhitespace) { previous = String(line) }
            }
        }
    }

    private static var link: Regex<(Substring, Substring)> { /\]\(([^()\s]+)\)/ }

    /// Takes a line that is not between fences.
    private mutating func read(_ line: String, number: Int) {
        for match in line.matches(of: /<a id="([^"]+)"><\/a>/) {
            anchors.insert(String(match.1))
            marks.append(.anchor(String(match.1)))
        }
        if let heading = line.wholeMatch(of: /#{1,6} (.*)/) { anchors.insert(Self.anchor(of: String(heading.1))) }
        // An indented line is code, and so is what stands between backticks.
        guard !line.hasPrefix("    ") else { return }
        let words = line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .map { $0.offset.isMultiple(of: 2) ? String($0.element) : "" }.joined(separator: "`")
        for match in words.matches(of: Self.link) { links.append((String(match.1), number)) }
    }

    /// What GitHub makes of a heading.
    static func anchor(of heading: String) -> String {
        let text = heading.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }.lowercased()
        return String(text.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" })
            .replacing(" ", with: "-")
    }

    /// Where a link leads, from the package's root on, and the anchor there; `nil` if it leads out of the repository.
    func destination(of target: String) -> (path: String, anchor: String?)? {
        guard target.wholeMatch(of: /[a-z]+:.*/) == nil else { return nil }
        let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map {
            String($0).removingPercentEncoding ?? String($0)
        }
        let anchor = parts.count > 1 ? parts[1] : nil
        guard !parts[0].isEmpty else { return (path, anchor) }
        var steps = path.split(separator: "/").dropLast().map(String.init)
        for step in parts[0].split(separator: "/") {
            switch step {
            case ".": break
            case "..": _ = steps.popLast()
            default: steps.append(String(step))
            }
        }
        return (steps.joined(separator: "/"), anchor)
    }
}
