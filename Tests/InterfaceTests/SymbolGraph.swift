import Foundation

/// What the compiler says a module declares.
struct SymbolGraph: Codable {
    struct Symbol: Codable {
        struct Kind: Codable { var identifier: String }
        struct Identifier: Codable { var precise: String }
        struct Fragment: Codable { var spelling: String }
        struct Comment: Codable {
            struct Line: Codable { var text: String }
            var module: String?
            var lines: [Line]
        }
        struct Version: Codable {
            var major: Int
            var minor: Int?
            var text: String { "\(major).\(minor ?? 0)" }
        }
        struct Availability: Codable {
            var domain: String?
            var deprecated: Version?
            var isUnconditionallyDeprecated: Bool?
            var isUnconditionallyUnavailable: Bool?
        }

        var kind: Kind
        var identifier: Identifier
        var pathComponents: [String]
        var docComment: Comment?
        var declarationFragments: [Fragment]
        var accessLevel: String
        var availability: [Availability]?

        var id: String { identifier.precise }
        var text: String { declarationFragments.map(\.spelling).joined() }
        /// Whether it comes from a protocol's or a superclass's declaration elsewhere.
        var isSynthesized: Bool { id.contains("::SYNTHESIZED::") }
        var scope: [String] { pathComponents.dropLast() }
    }

    struct Relationship: Codable {
        var kind: String
        var source: String
        var target: String
        var targetFallback: String?
    }

    var symbols: [Symbol]
    var relationships: [Relationship]

    /// Asks the compiler for the graph of a module that has been built.
    static func extract(_ modules: String...) throws -> SymbolGraph {
        let folder = try TemporaryFolder()
        var graph = SymbolGraph(symbols: [], relationships: [])
        for module in modules {
            let command = try Command(
                [
                    "swift", "symbolgraph-extract", "-module-name", module, "-minimum-access-level", "public",
                    "-target", Package.target, "-I", Package.products().appending(path: "Modules").path,
                    "-module-cache-path", Package.products().appending(path: "ModuleCache").path, "-output-dir",
                    folder.url.path,
                ] + Package.moduleMaps())
            guard command.status == 0 else { throw NoGraph(module: module, output: command.output) }
        }
        let files = try FileManager.default.contentsOfDirectory(at: folder.url, includingPropertiesForKeys: nil)
        for file in files.sorted(by: { $0.path < $1.path }) where file.path.hasSuffix(".symbols.json") {
            let part = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: file))
            graph.symbols += part.symbols
            graph.relationships += part.relationships
        }
        return graph
    }

    struct NoGraph: Error, CustomStringConvertible {
        var module: String
        var output: String
        var description: String { "The compiler gave no symbol graph of \(module): \(output)" }
    }
}
