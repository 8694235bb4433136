import BluetoothTool
import Foundation
import Testing

/// Documentation/Commands: a page per command, made of what the command says of itself.
@Suite("Pages of the commands")
struct CommandPageTests {
    private static let folder = DeviceCommandTests.root.appendingPathComponent("Documentation/Commands")
    private static let command = "REGENERATE=1 ./test --filter CommandPageTests"

    /// The pages by their file's name.
    private static var pages: [(name: String, text: String)] {
        let tool = CommandPage(help: HelpText.tool(CommandSyntax.all))
        let commands = CommandSyntax.all.map { syntax in
            (syntax.name + ".md", CommandPage(help: HelpText.command(syntax)).text(under: tool))
        }
        return [("README.md", index(tool))] + commands
    }

    private static func index(_ tool: CommandPage) -> String {
        let made = """
            In a clone, `./ble COMMAND` builds the command where needed, and runs it. These pages are what `ble help`
            says, made by `\(command)`; a test fails when they are out of date.
            """
        let rows = CommandSyntax.all.map { "| [`ble \($0.name)`](\($0.name).md) | \(CommandPage.cell($0.summary)) |" }
        let table = "## Commands\n\n| | |\n| --- | --- |\n" + rows.joined(separator: "\n")
        let sections = tool.sections.map { section in
            section.heading == "COMMANDS" ? table : section.markdown
        }
        return ([tool.heading, made] + sections).joined(separator: "\n\n") + "\n"
    }

    @Test("The pages are up to date: one for each command, and no other")
    func pages() throws {
        let pages = Self.pages
        let files = FileManager.default
        if ProcessInfo.processInfo.environment["REGENERATE"] == "1" {
            try? files.removeItem(at: Self.folder)
            try files.createDirectory(at: Self.folder, withIntermediateDirectories: true)
            for page in pages {
                try Data(page.text.utf8).write(to: Self.folder.appendingPathComponent(page.name))
            }
        }
        let there = try files.contentsOfDirectory(atPath: Self.folder.path).sorted()
        #expect(there == pages.map(\.name).sorted(), "Make them anew: \(Self.command)")
        for page in pages {
            let current = try? String(contentsOf: Self.folder.appendingPathComponent(page.name), encoding: .utf8)
            #expect(current == page.text, "\(page.name) is out of date. Make it anew: \(Self.command)")
        }
    }

    @Test(
        "Each command's help has what a newcomer looks for",
        arguments: CommandSyntax.all.map(\.name).filter { $0 != "help" })
    func worthReading(name: String) throws {
        let syntax = try #require(CommandSyntax.all.first { $0.name == name })
        #expect(!syntax.examples.isEmpty, "an example")
        #expect(!syntax.discussion.isEmpty, "what it does")
        for example in syntax.examples {
            let parts = example.line.split(separator: "ble \(name)", maxSplits: 1, omittingEmptySubsequences: false)
            #expect(parts.count == 2, "\(example.line) is no example of ble \(name)")
            let words = parts.last?.split(separator: " ").prefix { !["|", ">", "<", "&&"].contains($0) } ?? []
            #expect(throws: Never.self, "\(example.line)") { try syntax.parse(words.map(String.init)) }
        }
        for option in syntax.options {
            #expect(!option.help.isEmpty, "\(option.name)")
            let isNumber = ["N", "MS", "SECONDS", "OCTETS", "PERCENT", "MINUTES"].contains(option.value)
            #expect(!isNumber || option.help.contains("..."), "\(option.name) does not tell its range")
        }
        let page = CommandPage(help: HelpText.command(syntax))
        #expect(page.sections.contains { $0.heading == "USAGE" })
        #expect(page.sections.contains { $0.heading == "EXIT STATUS" })
    }
}

/// A help text, in its parts.
private struct CommandPage {
    struct Section: Equatable {
        /// `nil` for what stands without one: the discussion.
        var heading: String?
        var body: String

        /// What stands in columns stays in columns; the discussion is running text.
        var markdown: String {
            guard let heading else {
                return body.replacing("<", with: "\\<").replacing("*", with: "\\*").replacing("_", with: "\\_")
            }
            return "## \(CommandPage.sentence(heading.lowercased()))\n\n```text\n\(body)\n```"
        }
    }

    var title: String
    var sections: [Section] = []

    /// - Parameter help: its first line is the title; a section begins behind an empty line, most with a line of
    ///   capitals.
    init(help: String) {
        let parts = help.split(separator: "\n\n").map { $0.split(separator: "\n", omittingEmptySubsequences: false) }
        title = parts.first?.joined(separator: " ") ?? ""
        for part in parts.dropFirst() {
            let isHeading = part.first.map { $0.allSatisfy { $0.isUppercase || $0 == " " } && $0.count > 2 } ?? false
            if isHeading {
                let body = part.dropFirst().map { $0.hasPrefix("  ") ? String($0.dropFirst(2)) : String($0) }
                sections.append(Section(heading: String(part[0]), body: body.joined(separator: "\n")))
            } else if let last = sections.last, last.heading != nil, part.first?.hasPrefix(" ") == true {
                sections[sections.count - 1].body +=
                    "\n\n" + part.map { String($0.dropFirst(2)) }.joined(separator: "\n")
            } else {
                sections.append(Section(heading: nil, body: part.joined(separator: "\n")))
            }
        }
    }

    var heading: String {
        let parts = title.split(separator: " - ", maxSplits: 1).map(String.init)
        return "# \(parts[0])\n\n"
            + (parts.count > 1 ? Self.sentence(parts[1]) + "." : "")
    }

    /// The whole page. What every command shares stands in the index.
    func text(under tool: CommandPage) -> String {
        let parts = sections.map { section in
            guard let name = section.heading, tool.sections.contains(section) else { return section.markdown }
            let anchor = name.lowercased().replacing(" ", with: "-")
            return "## \(Self.sentence(name.lowercased()))\n\n[The same for every command](README.md#\(anchor))."
        }
        return ([heading] + parts + ["[All commands](README.md)"]).joined(separator: "\n\n") + "\n"
    }

    static func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }

    static func cell(_ text: String) -> String { text.replacing("|", with: "\\|") }
}
