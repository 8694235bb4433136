import Foundation

/// The SIG's test cases for an LE host: Tests/Vectors/pts-cases.tsv.
struct CaseList {
    struct Case {
        /// `GATT/SR/GAC/BV-01-C`.
        var id: String
        var suite: String
        var role: String
        /// `core`, or the optional feature that the case belongs to.
        var option: String
        var title: String
    }

    /// Retired cases left out.
    let cases: [Case]

    init(_ text: String) {
        cases = text.split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count >= 5, fields[3] != "retired" else { return nil }
            return Case(id: fields[1], suite: fields[0], role: fields[2], option: fields[3], title: fields[4])
        }
    }

    static func checkedIn() throws -> CaseList {
        let url = Repository.root.appending(path: "Tests/Vectors/pts-cases.tsv")
        return CaseList(try String(contentsOf: url, encoding: .utf8))
    }

    /// Options that this host does not have, and why: their cases do not apply.
    static let absent: [String: String] = [
        "dual-mode": "BR/EDR is not part of this stack",
        "encrypted-ad": "Encrypted Advertising Data is an optional feature that this host does not offer",
    ]
}

/// Where the sources lie.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}
