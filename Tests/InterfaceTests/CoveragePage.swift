/// Documentation/CoreBluetoothCoverage.md, made from the comparison and the list of behaviours.
struct CoveragePage {
    var inventory: Inventory
    var comparison: Comparison
    var behaviours: Behaviours

    static let path = "Documentation/CoreBluetoothCoverage.md"
    static let command = "REGENERATE=1 ./test --filter CoverageTests"

    var text: String {
        let open = behaviours.all.filter(\.isOpen).count
        let shown = behaviours.all.filter { !$0.tests.isEmpty }.count
        let unconfirmed = inventory.entries.filter(\.isUnconfirmed).map { "`\($0.name)`" }
        return """
            # How much of CoreBluetooth this is

            Made by `\(Self.command)`; a test fails when it is out of date. The yardstick are
            Tests/Inventory/CoreBluetooth.interface, Apple's interface up to iOS 27, and Tests/Inventory/behaviours.txt.

            | | declared as Apple declares it | of |
            | --- | --- | --- |
            | types | \(count { $0.isType }) |
            | members | \(count { !$0.isType && !$0.scope.isEmpty }) |
            | constants | \(count { !$0.isType && $0.scope.isEmpty }) |

            | | behaviours |
            | --- | --- |
            | shown by tests | \(shown) |
            | not on Linux, with the reason | \(behaviours.all.count - shown - open) |
            | open | \(open) |
            | all | \(behaviours.all.count) |

            No source states the values of \(unconfirmed.joined(separator: ", ")): what they are here is a guess.

            ## Behaviours

            | id | what | shown by |
            | --- | --- | --- |
            \(behaviours.all.map(row).joined(separator: "\n"))

            ## Interface

            \(types)

            ### Constants

            \(table(inventory.constants))

            ### What is here beyond Apple's

            | declaration | why |
            | --- | --- |
            \(inventory.additions.map { "| `\($0.name)` | \($0.reason) |" }.joined(separator: "\n"))

            """
    }

    private func count(_ belongs: (Inventory.Entry) -> Bool) -> String {
        let all = inventory.entries.indices.filter { belongs(inventory.entries[$0]) }
        return "\(all.filter { comparison.matched.contains($0) }.count) | \(all.count)"
    }

    private func row(_ behaviour: Behaviours.Behaviour) -> String {
        let shown = behaviour.reason.map { "not on Linux: \($0)" } ?? behaviour.tests.joined(separator: "<br>")
        return "| \(behaviour.id) | \(behaviour.title) | \(shown.isEmpty ? "**open**" : escaped(shown)) |"
    }

    private var types: String {
        inventory.types.map { type in
            let path = type.scope + [type.declaration.baseName]
            let members = inventory.members.filter { $0.scope == path }
            let heading = "### \(path.joined(separator: "."))\n\n\(table([type]))"
            return members.isEmpty ? heading : heading + "\n" + rows(members)
        }.joined(separator: "\n\n")
    }

    private func table(_ entries: [Inventory.Entry]) -> String {
        "| declaration | on Apple's systems |\n| --- | --- |\n" + rows(entries)
    }

    private func rows(_ entries: [Inventory.Entry]) -> String {
        entries.map { entry in
            let note = comparison.findings.first { $0.name == entry.name }.map { " **\($0.sentence)**" } ?? ""
            let optional = entry.isOptional ? "optional " : ""
            let value = entry.value.map { " = \($0)" } ?? ""
            let text = escaped("\(optional)\(entry.declaration.description)\(value)")
            return "| `\(text)`\(note) | \(entry.availability.joined(separator: ", ")) |"
        }.joined(separator: "\n")
    }

    /// A bar would end the table's cell.
    private func escaped(_ text: String) -> String { text.replacing("|", with: "\\|") }
}
