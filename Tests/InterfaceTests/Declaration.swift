import Foundation

/// One declaration, in a form in which the inventory's text and the compiler's can be compared.
struct Declaration: Hashable {
    enum Kind: String { case `class`, `struct`, `enum`, `protocol`, `typealias`, `func`, `init`, `var`, `case` }

    var kind: Kind
    /// As the compiler prints it: without access, accessors and bodies; of a type without what it inherits.
    var text: String
    /// Whether a property has a setter.
    var isSettable = false

    /// The name without labels: `connect`, `init`, `state`.
    var baseName: String {
        if kind == .`init` { return "init" }
        let words = text.split { " (:<=?".contains($0) }.map(String.init)
        let keyword = words.firstIndex(of: kind.rawValue) ?? 0
        return keyword + 1 < words.count ? words[keyword + 1] : text
    }

    /// From a line of Swift without its access level. `nil` if it declares nothing.
    init?(_ line: String) {
        var text = line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        let words = text.split { " (:".contains($0) }.map(String.init)
        let kinds = words.compactMap { $0 == "let" ? Kind.var : $0.hasPrefix("init") ? .`init` : Kind(rawValue: $0) }
        // `class var` is a property; `init` is a name elsewhere only after a dot.
        guard let kind = kinds.first(where: { $0 != .class }) ?? kinds.first else { return nil }
        if kind == .var {
            let isConstant = words.contains("let")
            if isConstant { text = text.replacing("let ", with: "var ", maxReplacements: 1) }
            let accessors = text.firstRange(of: " { ").map { String(text[$0.lowerBound...]) }
            if let accessors { text.removeLast(accessors.count) }
            isSettable = !isConstant && (accessors?.contains("set") ?? true)
        }
        if [.class, .struct, .enum, .protocol].contains(kind), let colon = text.firstIndex(of: ":") {
            text = String(text[..<colon]).trimmingCharacters(in: .whitespaces)
        }
        if kind == .case, let value = text.firstRange(of: " = ") { text = String(text[..<value.lowerBound]) }
        self.kind = kind
        self.text = text
    }

    /// For a person, as Swift has it.
    var description: String { kind == .var ? "\(text) { get\(isSettable ? " set" : "") }" : text }
}
