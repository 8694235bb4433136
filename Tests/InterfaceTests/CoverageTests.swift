import Foundation
import Testing

/// Documentation/CoreBluetoothCoverage.md, and the list of behaviours behind it.
@Suite("Coverage")
struct CoverageTests {
    @Test("The page is up to date")
    func page() throws {
        let inventory = try Inventory.checkedIn()
        let comparison = Comparison(inventory, Interface(try InterfaceTests.graphs.get().0))
        let page = CoveragePage(
            inventory: inventory, comparison: comparison, behaviours: try Behaviours.checkedIn())
        let url = Package.root.appending(path: CoveragePage.path)
        if ProcessInfo.processInfo.environment["REGENERATE"] == "1" {
            try Data(page.text.utf8).write(to: url)
        }
        let current = try? String(contentsOf: url, encoding: .utf8)
        #expect(
            current == page.text, "\(CoveragePage.path) is out of date. Make it anew: \(CoveragePage.command)")
    }

    @Test("The list of behaviours and the tests' names agree")
    func list() throws {
        let behaviours = try Behaviours.checkedIn()
        for mistake in behaviours.mistakes { Issue.record("\(mistake)") }
        #expect(behaviours.all.filter(\.isOpen).map(\.id) == [], "Each needs a test with its id, or a reason.")
    }

    @Test("A behaviour is shown by a test that carries its id, has a reason, or is open")
    func collecting() {
        let behaviours = Behaviours(
            list: """
                # What Apple does
                B-A1 | One
                B-A2 | Two | No such thing
                B-A10 | Ten
                B-B1 | Another
                B-B1 | Another
                B-C1
                """,
            files: [
                ("SomeTests", "@Test(\"B-A1, B-A10: both\")\n@Test(\n    \"B-A1 and B-A2: more\",\n    arguments: [])"),
                ("MoreTests", "// B-B1 is only spoken of.\n@Suite(\"Names B-Z1, B-A9\")"),
            ])
        #expect(behaviours.all[0].tests == ["SomeTests: both", "SomeTests: more"])
        #expect(behaviours.all[2].tests == ["SomeTests: both"])
        #expect(behaviours.all.map(\.isOpen) == [false, false, false, true, true])
        #expect(
            behaviours.mistakes == [
                "Tests/Inventory/behaviours.txt: B-B1 stands twice.",
                "Tests/Inventory/behaviours.txt: not of the form id | what | why not: B-C1",
                "MoreTests: \"Names B-Z1, B-A9\" names B-A9, which is not in the list.",
                "B-A2 has tests: take its reason out of Tests/Inventory/behaviours.txt.",
            ])
    }
}
