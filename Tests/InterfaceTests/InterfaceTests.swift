import Testing

/// The module's interface, as the compiler tells it, against Apple's.
@Suite("Interface")
struct InterfaceTests {
    static let graphs = Result {
        (try SymbolGraph.extract("CCoreBluetooth", "CoreBluetooth"), try SymbolGraph.extract("BluetoothSimulation"))
    }

    @Test("The inventory has 40 types, 293 members and 38 constants")
    func counts() throws {
        let inventory = try Inventory.checkedIn()
        #expect(inventory.types.count == 40)
        #expect(inventory.members.count == 293)
        #expect(inventory.constants.count == 38)
    }

    @Test("The module declares what Apple's declares, and nothing that breaks sources")
    func interface() throws {
        let comparison = Comparison(try Inventory.checkedIn(), Interface(try Self.graphs.get().0))
        for finding in comparison.findings { Issue.record("\(finding.sentence)") }
        #expect(comparison.matched.count == 371)
    }

    @Test("Constants have Apple's values")
    func values() throws {
        for sentence in Values.differences(from: try Inventory.checkedIn()) { Issue.record("\(sentence)") }
    }
}

extension Values {
    /// A sentence for each constant that has another value than Apple's, or is not looked at.
    static func differences(from inventory: Inventory) -> [String] {
        var sentences: [String] = []
        for entry in inventory.entries {
            guard let wanted = entry.value else { continue }
            guard let found = all[entry.name] else {
                sentences.append("\(entry.name) has no row in the table of values.")
                continue
            }
            if found != wanted && Self.number(wanted).map(String.init) != found {
                sentences.append("\(entry.name) is \(found); Apple's is \(wanted).")
            }
        }
        return sentences
    }

    /// `12`, `0x0C` or `1 << 10`.
    private static func number(_ text: String) -> Int? {
        if text.hasPrefix("0x") { return Int(text.dropFirst(2), radix: 16) }
        if text.hasPrefix("1 << ") { return Int(text.dropFirst(5)).map { 1 << $0 } }
        return Int(text)
    }
}
