import Foundation
import Testing

/// What users read: in the sources' comments and in the catalogs that Scripts/documentation builds.
@Suite("Documentation")
struct DocumentationTests {
    @Test("What is public is documented")
    func documentation() throws {
        let (bluetooth, simulation) = try InterfaceTests.graphs.get()
        for name in (bluetooth.undocumented + simulation.undocumented).sorted() {
            Issue.record("\(name) has no documentation: say what it means, in which unit, and what can go wrong.")
        }
    }

    @Test(
        "The article's code is the code that ./test compiles and runs",
        arguments: ["Sources/ThermometerReader.swift", "Tests/ThermometerReaderTests.swift"])
    func article(path: String) throws {
        let catalog = Package.root.appending(path: "Sources/CoreBluetooth/CoreBluetooth.docc")
        let text = try String(contentsOf: catalog.appending(path: "FirstTest.md"), encoding: .utf8)
        let file = Package.root.appending(path: "Tests/Outside/Thermometer/\(path)")
        let code = try String(contentsOf: file, encoding: .utf8)
        #expect(
            text.contains("```swift\n\(code)```"),
            "FirstTest.md and Tests/Outside/Thermometer/\(path) differ: copy the one into the other.")
    }
}

extension SymbolGraph {
    /// What a reader of the documentation meets without a word. Comments of C do not reach the graph.
    fileprivate var undocumented: [String] {
        let implementations = Set(relationships.filter { $0.kind == "defaultImplementationOf" }.map(\.source))
        return symbols.filter { symbol in
            symbol.docComment == nil && !symbol.isSynthesized && !implementations.contains(symbol.id)
                && !symbol.id.hasPrefix("c:") && !symbol.id.hasPrefix("s:So")
                && symbol.kind.identifier != "swift.extension"
        }.map { $0.pathComponents.joined(separator: ".") }
    }
}
