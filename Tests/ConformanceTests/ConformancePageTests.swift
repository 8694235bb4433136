import Foundation
import Testing

@Suite("Conformance page")
struct ConformancePageTests {
    @Test("The page is up to date, and the vectors behind it pass")
    func page() throws {
        let list = try CaseList.checkedIn()
        let page = ConformancePage(list: list, evidence: try Evidence.collected(for: list))
        for mistake in page.evidence.mistakes { Issue.record("\(mistake)") }
        let url = Repository.root.appending(path: ConformancePage.path)
        if ProcessInfo.processInfo.environment["REGENERATE"] == "1" {
            try Data(page.text.utf8).write(to: url)
        }
        let current = try? String(contentsOf: url, encoding: .utf8)
        #expect(
            current == page.text, "\(ConformancePage.path) is out of date. Make it anew: \(ConformancePage.command)")
    }

    @Test("Retired cases do not count; evidence is a test's name, not its comments")
    func counting() {
        let list = CaseList(
            """
            suite\tid\trole\toption\tdescription\tseen_in\tscripts
            GATT\tGATT/SR/GAC/BV-01-C\tserver\tcore\tone\t\t
            GATT\tGATT/SR/GAC/BV-02-C\tserver\tcore\ttwo\t\t
            GATT\tGATT/SR/GAC/BV-03-C\tserver\tretired\tthree\t\t
            GAP\tGAP/DISC/LIMM/BV-01-C\tperipheral\tdual-mode\tfour\t\t
            """)
        var evidence = Evidence()
        let text = "// GATT/SR/GAC/BV-02-C\n@Test(\"GATT/SR/GAC/BV-01-C, GATT/SR/GAC/BV-09-C: one\")"
        evidence.addTests(in: text, of: "SomeTests", Set(list.cases.map(\.id)))
        var other = Evidence()
        let lines = "@Test(\n\"\"\"\nGATT/SR/GAC/BV-02-C: a \"name\" of\nseveral lines\n\"\"\")\n// GATT/SR/GAC/BV-01-C"
        other.addTests(in: lines, of: "OtherTests", Set(list.cases.map(\.id)))
        #expect(other.sources == ["GATT/SR/GAC/BV-02-C": ["OtherTests"]])
        let page = ConformancePage(list: list, evidence: evidence)
        #expect(page.coverage == 0.5)
        #expect(evidence.sources == ["GATT/SR/GAC/BV-01-C": ["SomeTests"]])
        #expect(page.text.contains("| all | 1 | 2 | 1 |"))
    }
}
