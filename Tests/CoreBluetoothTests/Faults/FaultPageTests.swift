import BluetoothSimulation
import Foundation
import Simulation
import Testing

/// Documentation/Faults.md is made of the docstrings of ``Fault``, of where each lives, and of its test.
@Suite("The page of faults")
struct FaultPageTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The docstring before each case.
    private static func descriptions() throws -> [String: String] {
        var descriptions: [String: String] = [:]
        var lines: [Substring] = []
        for line in try text("Sources/BluetoothSimulation/Fault.swift").split(separator: "\n") {
            let line = line.drop { $0 == " " }
            if line.hasPrefix("/// ") { lines.append(line.dropFirst(4)) }
            if line.hasPrefix("case ") {
                descriptions[String(line.dropFirst(5))] = lines.joined(separator: " ")
            }
            if !line.hasPrefix("///") { lines = [] }
        }
        return descriptions
    }

    /// What each test's name says behind the fault's name: what an app sees.
    private static func symptoms() throws -> [String: String] {
        var symptoms: [String: String] = [:]
        for file in ["Attribute", "Value", "Link", "Adapter", "Bond"] {
            for match in try text("Tests/CoreBluetoothTests/Faults/\(file)FaultTests.swift")
                .matches(of: /@Test\("(\w+): ([^"]+)"\)/)
            {
                symptoms[String(match.1)] = String(match.2)
            }
        }
        return symptoms
    }

    private static func page() throws -> String {
        let (descriptions, symptoms) = (try descriptions(), try symptoms())
        var page = """
            # Faults

            What goes wrong in the field, one switch each. From a test: `lock.addFault(.neverAnswers)`; in a
            [world file](Worlds.md): `"faults": ["neverAnswers"]`. A fault changes the octets where they would be wrong
            in the field; what an app sees comes of that alone, and each has a test that shows it at Apple's API. The
            page is made by `REGENERATE=1 ./test --filter FaultPageTests`.

            ## The pains

            What developers of Bluetooth software report in public, the most frequent and worst first; each fault is a
            case of one.

            | | pain |
            | --- | --- |

            """
        for pain in SimulatedFault.Pain.allCases { page += "| P\(pain.rawValue) | \(pain.sentence) |\n" }
        page +=
            "\n## The faults\n\n| fault | what is wrong | where | what an app sees | pain |\n"
            + "| --- | --- | --- | --- | --- |\n"
        for fault in SimulatedFault.allCases {
            let name = fault.rawValue
            page += "| `\(name)` | \(descriptions[name] ?? "") | \(fault.place.rawValue) | \(symptoms[name] ?? "") |"
            page += " P\(fault.pain.rawValue) |\n"
        }
        return page
    }

    @Test("Each fault has a public name, a description and a test that shows what an app sees")
    func complete() throws {
        #expect(Fault.allCases.map(\.rawValue) == SimulatedFault.allCases.map(\.rawValue))
        let (descriptions, symptoms) = (try Self.descriptions(), try Self.symptoms())
        for fault in Fault.allCases {
            #expect(descriptions[fault.rawValue]?.isEmpty == false, "\(fault) has no docstring.")
            #expect(symptoms[fault.rawValue] != nil, "No test begins with the name of \(fault).")
        }
        #expect(DeviceKind.allCases.map(\.rawValue) == ReadyKind.allCases.map(\.rawValue))
    }

    @Test("The page says what the code says")
    func page() throws {
        let page = try Self.page()
        let path = "Documentation/Faults.md"
        if ProcessInfo.processInfo.environment["REGENERATE"] == "1" {
            try page.write(to: Self.root.appending(path: path), atomically: true, encoding: .utf8)
        }
        #expect(try Self.text(path) == page, "Run REGENERATE=1 ./test --filter FaultPageTests.")
    }
}
