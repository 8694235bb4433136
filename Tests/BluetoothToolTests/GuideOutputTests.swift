import BluetoothTool
import Foundation
import Testing

/// What the guides and the README show of a command's output is what the command says, to the digit.
@Suite("Outputs that the guides show")
struct GuideOutputTests {
    /// Lines that a page shows behind `$ command`.
    struct Excerpt: Sendable {
        var page: String
        var lines: [String]
    }

    static let guides = ["A-smart-lock", "B-two-roles", "C-stable-transfer", "D-which-lock"]
    static let pages =
        ["README.md", "README.zh-CN.md"]
        + ["en", "zh-CN"].flatMap { language in guides.map { "Documentation/Guides/\(language)/\($0).md" } }

    static let excerpts: [String: [Excerpt]] = {
        var found: [String: [Excerpt]] = [:]
        for page in pages {
            let url = DeviceCommandTests.root.appendingPathComponent(page)
            let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
            for block in text.components(separatedBy: "```console\n").dropFirst() {
                let lines = block.components(separatedBy: "\n```")[0].components(separatedBy: "\n")
                for part in Self.commands(in: lines) {
                    found[String(part[0].dropFirst(2)), default: []].append(
                        Excerpt(page: page, lines: Array(part.dropFirst())))
                }
            }
        }
        return found
    }()

    @Test("A command says what the guides show", arguments: excerpts.keys.filter { $0.hasPrefix("./ble ") }.sorted())
    func says(command: String) {
        let words = DeviceCommandTests.words(of: command)
        var output: [String] = []
        let tool = Tool(
            terminal: Terminal(isInteractive: false), environment: ["BLE_RADIO": "simulated"],
            print: { output += $0.components(separatedBy: "\n") },
            printError: { output += $0.components(separatedBy: "\n") })
        _ = tool.run(words)
        for excerpt in Self.excerpts[command] ?? [] {
            var place = output.startIndex
            for line in excerpt.lines where line != "…" && !line.isEmpty {
                let isBeginning = line.hasSuffix("…")
                let shown = isBeginning ? String(line.dropLast()) : line
                let next = output[place...].firstIndex { isBeginning ? $0.hasPrefix(shown) : $0 == shown }
                guard let next else {
                    let like = output[place...].first { Self.plain($0).hasPrefix(Self.plain(shown)) } ?? "nothing"
                    Issue.record("\(excerpt.page), \(command)\n  shows \(line)\n  comes \(like)")
                    break
                }
                place = next + 1
            }
        }
    }

    @Test("Every page shows something")
    func every() {
        for page in Self.pages {
            #expect(Self.excerpts.values.joined().contains { $0.page == page }, "\(page)")
        }
    }

    /// What a guide quotes, of four words and more and without a capital, is the doctor's; in both languages.
    @Test("Sentences of the doctor that the guides quote are its own", arguments: pages.dropFirst(2))
    func doctor(page: String) throws {
        let titles = Set(Cause.allCases.map(\.title))
        let url = DeviceCommandTests.root.appendingPathComponent(page)
        let text = try String(contentsOf: url, encoding: .utf8).replacing(/```[^`]*```/, with: "")
            .replacing(/`[^`]*`/, with: "`").replacing(/#+ .*/, with: "")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let quoted = text.matches(of: /["“]([a-z][^"“”]*)["”]/).map { String($0.1) }
        for sentence in quoted where sentence.split(separator: " ").count > 3 {
            #expect(titles.contains(sentence), "\(page): ble doctor does not say \(sentence)")
        }
    }

    /// A line that differs in its numbers only is most likely what has become of the one that is shown.
    private static func plain(_ line: String) -> String {
        line.replacing(/[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}/, with: "ID")
            .replacing(/-?[0-9]+(?:\.[0-9]+)?/, with: "#")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The runs of lines that begin with a command. What stands before the first one is left out.
    private static func commands(in lines: [String]) -> [[String]] {
        var parts: [[String]] = []
        for line in lines {
            if line.hasPrefix("$ ") {
                parts.append([line])
            } else if !parts.isEmpty {
                parts[parts.count - 1].append(line)
            }
        }
        return parts
    }
}
