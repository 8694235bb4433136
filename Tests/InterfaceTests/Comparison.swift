/// Holds what a module declares against the inventory, and says in a sentence where they part.
struct Comparison {
    struct Finding: Hashable {
        var name: String
        var sentence: String
    }

    private(set) var findings: [Finding] = []
    /// The names of the inventory's entries, by their place in it, that the module declares as Apple does.
    private(set) var matched: Set<Int> = []
    private let inventory: Inventory
    private let interface: Interface

    init(_ inventory: Inventory, _ interface: Interface) {
        self.inventory = inventory
        self.interface = interface
        let found = Dictionary(grouping: interface.entries.indices) { interface.entries[$0].name }
        let expected = Dictionary(grouping: inventory.entries.indices) { inventory.entries[$0].name }
        for name in Set(found.keys).union(expected.keys).sorted() {
            compare(name, expected: expected[name] ?? [], found: found[name] ?? [])
        }
        for addition in inventory.additions where found[addition.name] == nil {
            note(addition.name, "is listed as an addition and is not there: take it out of the inventory")
        }
    }

    private mutating func compare(_ name: String, expected: [Int], found: [Int]) {
        var open = found
        var unmatched: [Int] = []
        for index in expected {
            let declaration = inventory.entries[index].declaration
            guard let place = open.firstIndex(where: { interface.entries[$0].declaration == declaration }) else {
                unmatched.append(index)
                continue
            }
            let count = findings.count
            compareDetails(inventory.entries[index], interface.entries[open.remove(at: place)])
            if findings.count == count { matched.insert(index) }
        }
        // Two that look alike are one that differs.
        open.removeAll { mayStay(interface.entries[$0]) }
        for index in unmatched {
            let wanted = inventory.entries[index].declaration.description
            if open.isEmpty {
                note(name, "is missing: Apple declares `\(wanted)`")
            } else {
                let declaration = interface.entries[open.removeFirst()].declaration.description
                note(name, "is declared as `\(declaration)`; Apple's is `\(wanted)`")
            }
        }
        for index in open {
            note(
                name,
                """
                is not Apple's: `\(interface.entries[index].declaration.description)`. It can break sources that \
                compile there: make it package, or list it with its reason under the additions of the inventory
                """)
        }
    }

    /// Whether a declaration that is not Apple's breaks no source.
    private func mayStay(_ entry: Interface.Entry) -> Bool {
        let declaration = entry.declaration
        return entry.isInherited || declaration.text.hasPrefix("override ")
            || declaration.text == "init?(rawValue: Int)"
            || inventory.additions.contains { $0.name == entry.name && $0.declaration == declaration }
    }

    private mutating func compareDetails(_ wanted: Inventory.Entry, _ found: Interface.Entry) {
        let name = wanted.name
        if wanted.access == "open" && found.access != "open" {
            note(name, "is \(found.access); Apple's is open, and apps subclass it")
        }
        for parent in wanted.inherits where !found.inherits.contains(parent) {
            if wanted.declaration.kind == .enum {
                checkRawType(parent, of: wanted)
            } else {
                note(name, "does not inherit from or conform to \(parent); Apple's does")
            }
        }
        if isRequirement(wanted) && wanted.isOptional != found.isOptional {
            note(
                name,
                wanted.isOptional
                    ? "has no default, so that every delegate must have it; Apple's is optional"
                    : "has a default; Apple demands it of every delegate")
        }
        if wanted.deprecation != found.deprecation && !found.isC {
            note(
                name,
                "is \(found.deprecation.map { "deprecated by iOS \($0)" } ?? "not deprecated"); "
                    + "Apple's is \(wanted.deprecation.map { "deprecated by iOS \($0)" } ?? "not")")
        }
        if found.isRestricted { note(name, "is restricted or deprecated on Linux by @available; Apple's is not") }
    }

    private mutating func checkRawType(_ type: String, of wanted: Inventory.Entry) {
        let scope = wanted.scope + [wanted.declaration.baseName]
        let initializer = interface.entries.first { $0.scope == scope && $0.declaration.baseName == "init" }
        if initializer?.declaration.text != "init?(rawValue: \(type))" {
            note(wanted.name, "has no raw values of type \(type); Apple's has")
        }
    }

    private func isRequirement(_ entry: Inventory.Entry) -> Bool {
        inventory.entries.contains { $0.declaration.kind == .protocol && [$0.declaration.baseName] == entry.scope }
    }

    private mutating func note(_ name: String, _ sentence: String) {
        findings.append(Finding(name: name, sentence: "\(name) \(sentence)."))
    }
}
