/// What came of playing a file.
package struct ConformanceReport: Equatable, Sendable {
    /// A case in which the stack did something else than the file says.
    package struct Failure: Equatable, Sendable {
        package var name: String
        /// Which step or field.
        package var place: String
        package var expected: String
        package var actual: String
    }

    /// A case that cannot be played. The reason is the specification's.
    package struct Skip: Equatable, Sendable {
        package var name: String
        package var reason: String
    }

    /// The names of the cases that went as the file says.
    package var passes: [String] = []
    package var failures: [Failure] = []
    package var skips: [Skip] = []

    package var passed: Int { passes.count }

    package init() {}

    package mutating func add(_ other: ConformanceReport) {
        passes += other.passes
        failures += other.failures
        skips += other.skips
    }

    /// One case has been played.
    mutating func add(_ name: String, _ mismatch: Mismatch?) {
        guard let mismatch else {
            passes.append(name)
            return
        }
        failures.append(
            Failure(name: name, place: mismatch.place, expected: mismatch.expected, actual: mismatch.actual))
    }

    /// The failures and skips, one paragraph each.
    package var details: [String] {
        failures.map { "FAILED \($0.name), \($0.place)\n  expected: \($0.expected)\n  actual:   \($0.actual)" }
            + skips.map { "NOT APPLICABLE \($0.name): \($0.reason)" }
    }

    /// `N passed, N failed`, and how many were not applicable if any were not.
    package var summary: String {
        "\(passed) passed, \(failures.count) failed" + (skips.isEmpty ? "" : ", \(skips.count) skipped")
    }
}

/// Where a case went another way than the file says.
struct Mismatch: Error, Equatable {
    var place: String
    var expected: String
    var actual: String

    /// - Throws: itself, if the two differ.
    static func check<Value: Equatable>(
        _ place: String, _ expected: Value, _ actual: Value, _ text: (Value) -> String = { "\($0)" }
    ) throws(Mismatch) {
        guard expected == actual else {
            throw Mismatch(place: place, expected: text(expected), actual: text(actual))
        }
    }
}

/// A file that can't be played. The text is a whole sentence.
package struct VectorFileError: Error, Equatable, CustomStringConvertible, Sendable {
    package let description: String
    package init(_ description: String) { self.description = description }
}
