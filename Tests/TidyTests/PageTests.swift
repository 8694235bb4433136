import Foundation
import Testing

/// What the pages promise of the repository holds: their links lead somewhere, the code they quote is there, and both
/// languages say it of the same things.
@Suite("Pages")
struct PageTests {
    static let pages = (try? Markdown.all()) ?? []
    static let chapters = [("A", 8), ("B", 5), ("C", 16), ("D", 3)]
    static let rows = chapters.flatMap { letter, count in (1...count).map { "\(letter)\($0)" } }
    static let english = "Documentation/Guides/en/"
    static let chinese = "Documentation/Guides/zh-CN/"

    /// The guides, and the pages in front: all of their Swift is quoted from files that are built.
    static func quotes(_ page: Markdown) -> Bool {
        page.path.hasPrefix("Documentation/Guides/") || page.path.hasPrefix("README")
    }

    @Test("Links lead to files and headings that are there", arguments: pages)
    func links(page: Markdown) {
        for link in page.links {
            guard let (path, anchor) = page.destination(of: link.target) else { continue }
            let exists = FileManager.default.fileExists(atPath: Tree.root.appending(path: path).path)
            #expect(exists, "\(page.path):\(link.line): \(link.target) is not there.")
            guard exists, let anchor, path.hasSuffix(".md") else { continue }
            let anchors = Self.pages.first { $0.path == path }?.anchors ?? []
            #expect(anchors.contains(anchor), "\(page.path):\(link.line): \(path) has no heading #\(anchor).")
        }
    }

    @Test("Quoted code stands in the file that it is said to be from", arguments: pages)
    func quotations(page: Markdown) throws {
        for block in page.blocks where block.language == "swift" {
            guard let source = block.source, let (path, _) = page.destination(of: source) else {
                #expect(!Self.quotes(page), "\(page.path):\(block.line): link the file in the line before the code.")
                continue
            }
            var rest = Self.squeezed(try String(contentsOf: Tree.root.appending(path: path), encoding: .utf8))[...]
            for part in block.text.split(separator: /\s*\/\/ …\s*/) {
                guard let range = rest.range(of: Self.squeezed(String(part))) else {
                    Issue.record("\(page.path):\(block.line): \(path) does not contain, in this order: \(part)")
                    break
                }
                rest = rest[range.upperBound...]
            }
        }
    }

    @Test(
        "A module's own pages quote its tests",
        arguments: [("BluetoothToolkit", "BluetoothToolkitTests"), ("BluetoothExtensions", "BluetoothExtensionsTests")])
    func catalogs(module: String, tests: String) throws {
        let pages = Self.pages.filter { $0.path.hasPrefix("Sources/\(module)/\(module).docc/") }
        let sources = try Tree.files(in: "Tests/\(tests)").map {
            Self.squeezed(try String(contentsOf: Tree.root.appending(path: $0), encoding: .utf8))
        }
        #expect(!pages.isEmpty)
        for page in pages {
            for block in page.blocks where block.language == "swift" {
                let text = Self.squeezed(block.text)
                #expect(
                    sources.contains { $0.contains(text) }, "\(page.path):\(block.line): no file of \(tests) has this.")
            }
        }
    }

    private static func squeezed(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test("Both languages have the same rows with the same code")
    func languages() throws {
        func names(_ folder: String) -> [String] {
            Self.pages.map(\.path).filter { $0.hasPrefix(folder) }.map { String($0.dropFirst(folder.count)) }
        }
        #expect(names(Self.english) == names(Self.chinese))
        let pairs =
            names(Self.english).map { (Self.english + $0, Self.chinese + $0) } + [("README.md", "README.zh-CN.md")]
        for (left, right) in pairs {
            let first = try Markdown(path: left)
            let second = try Markdown(path: right)
            #expect(first.marks.count == second.marks.count, "\(left) and \(right)")
            for (one, other) in zip(first.marks, second.marks) where one != other {
                Issue.record("\(left) has \(one), where \(right) has \(other)")
                break
            }
            #expect(first.links.contains { $0.target.hasSuffix(second.path.split(separator: "/").last ?? "") })
            #expect(second.links.contains { $0.target.hasSuffix(first.path.split(separator: "/").last ?? "") })
        }
    }

    @Test("Every row has its section, with code and a command, and its line in the table")
    func everyRow() throws {
        let table = try String(contentsOf: Tree.root.appending(path: "Documentation/Rows.md"), encoding: .utf8)
            .split(separator: "\n")
        for folder in [Self.english, Self.chinese] {
            let marks = Self.pages.filter { $0.path.hasPrefix(folder) }.flatMap { page in
                page.marks.map { (page.path, $0) }
            }
            let anchors = marks.compactMap { mark -> String? in
                if case .anchor(let anchor) = mark.1 { anchor } else { nil }
            }
            #expect(anchors == Self.rows.map { $0.lowercased() })
            for row in Self.rows {
                let own = marks.drop { $0.1 != .anchor(row.lowercased()) }.dropFirst().prefix {
                    if case .block = $0.1 { true } else { false }
                }
                let blocks = own.flatMap { mark in
                    Self.pages.first { $0.path == mark.0 }?.blocks.filter { mark.1 == .block($0.text) } ?? []
                }
                #expect(blocks.contains { $0.language == "swift" }, "\(row): no code in \(folder)")
                #expect(blocks.contains { $0.language == "console" }, "\(row): no command in \(folder)")
            }
        }
        for row in Self.rows {
            let line = try #require(table.first { $0.hasPrefix("| \(row) |") }, "\(row) is not in the table")
            #expect(line.contains("#\(row.lowercased()))"), "\(row): the table does not lead to its guide")
        }
    }

    @Test("Each page of the documentation is found from its list; a folder shows what is in it")
    func reachable() {
        var found: Set<String> = []
        var next = ["Documentation/README.md"]
        while let path = next.popLast() {
            guard found.insert(path).inserted else { continue }
            let page = Self.pages.first { $0.path == path }
            next += page?.links.compactMap { page?.destination(of: $0.target)?.path } ?? []
            if page == nil { next += Self.pages.map(\.path).filter { $0.hasPrefix(path + "/") } }
        }
        for page in Self.pages where page.path.hasPrefix("Documentation/") {
            #expect(found.contains(page.path), "Name \(page.path) in Documentation/README.md.")
        }
    }

    @Test("The picture of the targets names all of them")
    func targets() throws {
        let package = try String(contentsOf: Tree.root.appending(path: "Package.swift"), encoding: .utf8)
        let picture = try String(
            contentsOf: Tree.root.appending(path: "Documentation/Architecture.md"), encoding: .utf8)
        let names = Set(package.matches(of: /name: "([A-Za-z]+)"/).map { String($0.1) })
        let words = Set(picture.split { !$0.isLetter && !$0.isNumber }.map(String.init))
        for name in names.subtracting(words).sorted() where !name.hasSuffix("Tests") {
            Issue.record("Documentation/Architecture.md does not say where \(name) stands.")
        }
    }

    @Test("Pages are read as GitHub reads them")
    func reading() {
        let page = Markdown(
            path: "a/b.md",
            text: """
                <a id="c1"></a>
                ## What `x` does, and [why](c.md#d)
                See `[no](link)` and [one](../e.md), from [F.swift](../F.swift):

                ```swift
                let x = 1  // [no](link)
                ```
                """)
        #expect(page.anchors == ["c1", "what-x-does-and-why"])
        #expect(page.links.map(\.target) == ["c.md#d", "../e.md", "../F.swift"])
        #expect(page.blocks.map(\.source) == ["../F.swift"] && page.marks.count == 2)
        #expect(page.destination(of: "../e.md#g")?.path == "e.md" && page.destination(of: "https://x") == nil)
    }
}
