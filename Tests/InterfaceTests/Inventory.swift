import Foundation

/// What Apple's module declares: Tests/Inventory/CoreBluetooth.interface.
struct Inventory {
    struct Entry {
        /// The types around it, from the outside in.
        var scope: [String]
        var declaration: Declaration
        var access: String
        /// A requirement that a delegate may leave out.
        var isOptional = false
        /// Of a type: its superclass or raw type, and what it conforms to.
        var inherits: [String] = []
        /// The value of a constant, as Swift writes it; `nil` if it has none, or none that is known.
        var value: String?
        var isUnconfirmed = false
        /// As the inventory writes it: `iOS 5.0 deprecated 8.0`.
        var availability: [String] = []

        var name: String { (scope + [declaration.baseName]).joined(separator: ".") }
        var isType: Bool { [.class, .struct, .enum, .protocol, .typealias].contains(declaration.kind) }
        /// The version of iOS by which it, or the type around it, is deprecated.
        var deprecation: String?
    }

    private(set) var entries: [Entry] = []
    /// What this module declares beyond Apple's, with the reason.
    private(set) var additions: [(name: String, declaration: Declaration, reason: String)] = []

    var types: [Entry] { entries.filter(\.isType) }
    var constants: [Entry] { entries.filter { !$0.isType && $0.scope.isEmpty } }
    var members: [Entry] { entries.filter { !$0.isType && !$0.scope.isEmpty } }

    static func checkedIn() throws -> Inventory {
        try Inventory(
            String(contentsOf: Package.root.appending(path: "Tests/Inventory/CoreBluetooth.interface"), encoding: .utf8)
        )
    }

    init(_ text: String) throws {
        var scope: [[String]] = []
        var addsToApple = false
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("// additions") { addsToApple = true }
            let parts = line.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false)
            let code = (parts.first ?? "").trimmingCharacters(in: .whitespaces)
            let note = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
            guard !code.isEmpty else { continue }
            if code == "}" {
                scope.removeLast()
            } else if code.hasPrefix("extension ") {
                scope.append([String(code.dropFirst(10).prefix { $0 != " " })])
            } else if addsToApple {
                try add(code, reason: note, line: number + 1)
            } else {
                var entry = try Entry(code, note: note, scope: scope.flatMap { $0 }, line: number + 1)
                let around = entries.last { $0.isType && $0.scope + [$0.declaration.baseName] == entry.scope }
                entry.deprecation = entry.deprecation ?? around?.deprecation
                entries.append(entry)
                if code.hasSuffix("{") { scope.append([entry.declaration.baseName]) }
            }
        }
    }

    /// An addition's name is written with its type: `public var CBError.description: String { get }`.
    private mutating func add(_ code: String, reason: String, line: Int) throws {
        var words = code.split(separator: " ").map(String.init)
        words.removeAll { ["public", "open"].contains($0) }
        var scope = ""
        for (index, word) in words.enumerated() {
            guard let dot = word.prefix(while: { $0 != "(" && $0 != ":" }).lastIndex(of: ".") else { continue }
            scope = String(word[..<dot]) + "."
            words[index] = String(word[word.index(after: dot)...])
            break
        }
        guard let declaration = Declaration(words.joined(separator: " ")), !reason.isEmpty else {
            throw Malformed(line: line, text: code)
        }
        additions.append((scope + declaration.baseName, declaration, reason))
    }

    struct Malformed: Error, CustomStringConvertible {
        var line: Int
        var text: String
        var description: String {
            "Tests/Inventory/CoreBluetooth.interface:\(line) cannot be read, or lacks its reason: \(text)"
        }
    }
}

extension Inventory.Entry {
    fileprivate init(_ code: String, note: String, scope: [String], line: Int) throws {
        var words = code.split(separator: " ").map(String.init)
        if words.last == "{" { words.removeLast() }
        access = words.contains("open") ? "open" : "public"
        isOptional = words.first == "optional"
        words.removeAll { ["open", "public", "optional"].contains($0) }
        guard let declaration = Declaration(words.joined(separator: " ")) else {
            throw Inventory.Malformed(line: line, text: code)
        }
        self.scope = scope
        self.declaration = declaration
        if isType, let colon = words.firstIndex(of: ":") {
            inherits = words[(colon + 1)...].map { $0.trimmingCharacters(in: [","]) }
        }
        if declaration.kind == .case, let equals = words.firstIndex(of: "=") { value = words[equals + 1] }
        for part in note.components(separatedBy: " · ") {
            if part.hasSuffix("unconfirmed") { isUnconfirmed = true }
            if part.hasPrefix("= ") {
                let text = part.dropFirst(2).replacing("unconfirmed", with: "").trimmingCharacters(in: .whitespaces)
                value = text.isEmpty ? nil : text
            } else if part != "unconfirmed" && !part.isEmpty {
                availability.append(part)
                let words = part.split(separator: " ").map(String.init)
                if words.count == 4, words[0] == "iOS", words[2] == "deprecated" { deprecation = words[3] }
            }
        }
    }
}
