/// One object as one line of JSON, with its members in the order given.
///
/// A few lines of our own, because a demo's output must be the same to the byte in each run and on each system.
package struct JSONLine: Sendable {
    package enum Value: Sendable {
        case text(String)
        case integer(Int)
        /// With exactly `digits` digits behind the dot.
        case decimal(Double, digits: Int)
        case truth(Bool)
        case list([Value])
        case null
    }

    private var members: [(name: String, value: Value)] = []

    package init(_ members: KeyValuePairs<String, Value?> = [:]) {
        for member in members { add(member.key, member.value) }
    }

    /// Leaves out what is `nil`.
    package mutating func add(_ name: String, _ value: Value?) {
        if let value { members.append((name, value)) }
    }

    /// Adds the members of another object.
    package mutating func add(_ other: JSONLine) { members += other.members }

    package var text: String {
        "{" + members.map { Self.quoted($0.name) + ":" + Self.encoded($0.value) }.joined(separator: ",") + "}"
    }

    private static func encoded(_ value: Value) -> String {
        switch value {
        case .text(let text): quoted(text)
        case .integer(let number): String(number)
        case .decimal(let number, let digits): fixed(number, digits: digits)
        case .truth(let truth): truth ? "true" : "false"
        case .list(let values): "[" + values.map(encoded).joined(separator: ",") + "]"
        case .null: "null"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\u{00}"..."\u{1F}", "\u{7F}"..."\u{9F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// A number with a fixed count of digits behind the dot.
    package static func fixed(_ number: Double, digits: Int) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int((number * scale).rounded())
        guard digits > 0 else { return String(scaled) }
        let text = String(scaled.magnitude)
        let long = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
        return (scaled < 0 ? "-" : "") + long.dropLast(digits) + "." + long.suffix(digits)
    }
}
