/// Documentation/Conformance.md.
struct ConformancePage {
    var list: CaseList
    var evidence: Evidence

    static let path = "Documentation/Conformance.md"
    static let command = "REGENERATE=1 ./test --filter ConformancePageTests"

    private var applicable: [CaseList.Case] { list.cases.filter { CaseList.absent[$0.option] == nil } }

    func isCovered(_ item: CaseList.Case) -> Bool { evidence.sources[item.id] != nil }

    /// Of the cases that apply, 0...1.
    var coverage: Double {
        Double(applicable.filter(isCovered).count) / Double(max(1, applicable.count))
    }

    var text: String {
        """
        # The SIG's test cases

        Made by `\(Self.command)`; a test fails when it is out of date. The yardstick is Tests/Vectors/pts-cases.tsv:
        the SIG's test case ids for an LE host in both roles, without those that are retired. A case is covered when a
        test carries its id, or a script of other people's that carries it is played and passes. The SIG's own tester
        was not run.

        | suite | covered | apply | not applicable |
        | --- | --- | --- | --- |
        \(["GAP", "GATT", "L2CAP", "SM"].map(row).joined(separator: "\n"))
        | all | \(applicable.filter(isCovered).count) | \(applicable.count) | \(list.cases.count - applicable.count) |

        That is \(Int(coverage * 100)) % of the applicable ones.

        \(["GAP", "GATT", "L2CAP", "SM"].map(section).joined(separator: "\n\n"))

        ## Not applicable

        | option | cases | why |
        | --- | --- | --- |
        \(absentRows)

        """
    }

    private func row(_ suite: String) -> String {
        let all = list.cases.filter { $0.suite == suite }
        let apply = applicable.filter { $0.suite == suite }
        return "| \(suite) | \(apply.filter(isCovered).count) | \(apply.count) | \(all.count - apply.count) |"
    }

    private func section(_ suite: String) -> String {
        let cases = applicable.filter { $0.suite == suite }
        return """
            ## \(suite)

            | case | what | covered by |
            | --- | --- | --- |
            \(cases.map { "| \($0.id) | \($0.title) | \(evidence.sources[$0.id]?.joined(separator: ", ") ?? "open") |" }
                .joined(separator: "\n"))
            """
    }

    private var absentRows: String {
        CaseList.absent.keys.sorted().map { option in
            "| \(option) | \(list.cases.filter { $0.option == option }.count) | \(CaseList.absent[option] ?? "") |"
        }.joined(separator: "\n")
    }
}
