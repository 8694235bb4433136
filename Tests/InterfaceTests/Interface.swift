import Foundation

/// What the module declares, in the inventory's terms.
struct Interface {
    struct Entry {
        var scope: [String]
        var declaration: Declaration
        var access: String
        /// Of a type: the names of its superclass and of what it conforms to.
        var inherits: Set<String> = []
        /// A requirement of a protocol that has a default.
        var isOptional = false
        /// It comes with a conformance or a superclass, and is no declaration of the module's own.
        var isInherited: Bool
        /// The version of iOS by which it is deprecated.
        var deprecation: String?
        /// Declared in C, where the compiler forgets what concerns other systems.
        var isC: Bool
        /// Whether Linux is kept from using it, or warned.
        var isRestricted: Bool
        var hasDocumentation: Bool

        var name: String { (scope + [declaration.baseName]).joined(separator: ".") }
    }

    private(set) var entries: [Entry] = []

    init(_ graph: SymbolGraph) {
        let symbols = Dictionary(graph.symbols.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let byKind = Dictionary(grouping: graph.relationships, by: \.kind)
        let defaults = byKind["defaultImplementationOf"] ?? []
        let defaulted = Set(defaults.map(\.target))
        let implementations = Set(defaults.map(\.source))
        let aliases = Self.aliases(in: graph)
        var inherits: [String: Set<String>] = [:]
        for relation in (byKind["inheritsFrom"] ?? []) + (byKind["conformsTo"] ?? []) {
            let name = symbols[relation.target]?.pathComponents.joined(separator: ".") ?? relation.targetFallback
            inherits[relation.source, default: []].insert(name?.split(separator: ".").last.map(String.init) ?? "?")
        }
        var seen: Set<[String]> = []
        for symbol in graph.symbols where !implementations.contains(symbol.id) {
            guard var declaration = Declaration(symbol.text), symbol.kind.identifier != "swift.func.op" else {
                continue
            }
            var scope = symbol.scope
            if let alias = aliases[symbol.pathComponents[0]] {
                // A C enum is known by the name that the module gives it.
                if scope.isEmpty {
                    scope = alias.dropLast()
                    declaration.text = "\(declaration.kind.rawValue) \(alias[alias.count - 1])"
                } else {
                    scope.replaceSubrange(0...0, with: alias)
                }
            } else if symbol.kind.identifier == "swift.typealias", aliases.values.contains(symbol.pathComponents) {
                continue
            }
            if symbol.isSynthesized {
                declaration.text.replace("Self.", with: scope.joined(separator: ".") + ".")
            }
            guard symbol.kind.identifier != "swift.extension", seen.insert(scope + [declaration.description]).inserted
            else { continue }
            let availability = symbol.availability ?? []
            entries.append(
                Entry(
                    scope: scope, declaration: declaration, access: symbol.accessLevel,
                    inherits: inherits[symbol.id] ?? [], isOptional: defaulted.contains(symbol.id),
                    isInherited: symbol.isSynthesized,
                    deprecation: availability.first { $0.domain == "iOS" }?.deprecated?.text,
                    isC: symbol.id.hasPrefix("c:"),
                    isRestricted: availability.contains { restriction in
                        !["iOS", "macOS", "watchOS", "tvOS", "visionOS"].contains(restriction.domain ?? "*")
                    },
                    hasDocumentation: symbol.docComment != nil))
        }
    }

    /// The C enums that the module gives a name of its own: from the name in C to the path in the module.
    private static func aliases(in graph: SymbolGraph) -> [String: [String]] {
        let enums = Set(graph.symbols.filter { $0.kind.identifier == "swift.enum" }.map(\.pathComponents))
        var aliases: [String: [String]] = [:]
        for symbol in graph.symbols where symbol.kind.identifier == "swift.typealias" {
            guard let name = symbol.text.components(separatedBy: " = ").last, enums.contains([name]) else { continue }
            aliases[name] = symbol.pathComponents
        }
        return aliases
    }
}
