import Foundation

/// The behaviours of Apple's framework and the tests that show them: Tests/Inventory/behaviours.txt.
struct Behaviours {
    struct Behaviour {
        /// `B-A1`.
        var id: String
        var title: String
        /// Why no test can show it on Linux.
        var reason: String?
        /// `ConnectionTests: the state changes before the call`.
        var tests: [String] = []
        var isOpen: Bool { reason == nil && tests.isEmpty }
    }

    private(set) var all: [Behaviour] = []
    /// What is wrong with the list or with the tests' names, in sentences.
    private(set) var mistakes: [String] = []

    static func checkedIn() throws -> Behaviours {
        let tests = Package.root.appending(path: "Tests")
        let files =
            FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" } ?? []
        return Behaviours(
            list: try String(contentsOf: tests.appending(path: "Inventory/behaviours.txt"), encoding: .utf8),
            files: try files.sorted { $0.path < $1.path }.map { file in
                (file.deletingPathExtension().lastPathComponent, try String(contentsOf: file, encoding: .utf8))
            })
    }

    /// - Parameter files: names of test files and their texts.
    init(list: String, files: [(name: String, text: String)]) {
        var places: [String: Int] = [:]
        for line in list.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard (2...3).contains(parts.count), parts[0].wholeMatch(of: /B-[A-P][0-9]+/) != nil else {
                mistakes.append("Tests/Inventory/behaviours.txt: not of the form id | what | why not: \(line)")
                continue
            }
            if places[parts[0]] != nil { mistakes.append("Tests/Inventory/behaviours.txt: \(parts[0]) stands twice.") }
            places[parts[0]] = all.count
            all.append(Behaviour(id: parts[0], title: parts[1], reason: parts.count == 3 ? parts[2] : nil))
        }
        for (file, text) in files {
            for title in Self.testTitles(in: text) {
                for match in title.matches(of: /B-[A-P][0-9]+/) {
                    if let place = places[String(match.output)] {
                        let rest = title.replacing(#/^(?:B-[A-P][0-9]+|[A-H][0-9]+|, | and )+: /#, with: "")
                        all[place].tests.append("\(file): \(rest)")
                    } else {
                        mistakes.append("\(file): \"\(title)\" names \(match.output), which is not in the list.")
                    }
                }
            }
        }
        for behaviour in all where behaviour.reason != nil && !behaviour.tests.isEmpty {
            mistakes.append("\(behaviour.id) has tests: take its reason out of Tests/Inventory/behaviours.txt.")
        }
    }

    /// The names that a file's tests and suites go by.
    private static func testTitles(in text: String) -> [String] {
        text.matches(of: /@(?:Test|Suite)\(\s*"((?:[^"\\\n]|\\.)*)"/).map { String($0.output.1) }
    }
}
