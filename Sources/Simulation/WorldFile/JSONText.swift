/// A place in a text: both counted from 1, columns in octets.
package struct TextPlace: Hashable, Sendable {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// What is wrong with a JSON file, where, and what to do.
package struct JSONProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package var place: TextPlace
    /// Where in the document: `devices[2].position`; empty for the whole.
    package var path: String
    package var sentence: String

    package var description: String {
        "\(place.line):\(place.column): " + (path.isEmpty ? "" : path + ": ") + sentence
    }
}

/// A JSON document (RFC 8259) that knows where each of its values stands, and keeps the order of its members.
package struct JSONText: Sendable {
    package struct Member: Sendable {
        package var name: String
        package var place: TextPlace
        package var value: JSONText
    }

    package indirect enum Value: Sendable {
        case object([Member])
        case array([JSONText])
        case string(String)
        case number(Double)
        case bool(Bool)
        case null
    }

    package var value: Value
    package var place: TextPlace

    /// - Throws: ``JSONProblem`` at the first octet that is not as RFC 8259 wants it. Values lie at most 32 deep, and
    ///   the text has at most 4 MiB. A byte order mark of UTF-8, which some editors write, is passed over (8.1).
    package init(_ octets: some Collection<UInt8>) throws(JSONProblem) {
        var parser = JSONParser(octets: Array(octets))
        self = try parser.document()
    }

    init(value: Value, place: TextPlace) {
        self.value = value
        self.place = place
    }

    /// "a text", as a sentence calls it.
    package var kind: String {
        switch value {
        case .object: "an object"
        case .array: "a list"
        case .string: "a text"
        case .number: "a number"
        case .bool: "true or false"
        case .null: "null"
        }
    }
}

private struct JSONParser {
    private static let deepest = 32
    private static let longest = 4 << 20

    private let octets: [UInt8]
    private var index = 0
    private var line = 1
    private var lineStart = 0

    init(octets: [UInt8]) {
        self.octets = octets
        guard octets.starts(with: [0xEF, 0xBB, 0xBF]) else { return }
        index = 3
        // Nobody sees it in an editor.
        lineStart = 3
    }

    private var place: TextPlace { TextPlace(line: line, column: index - lineStart + 1) }
    private var next: UInt8? { index < octets.count ? octets[index] : nil }

    private func problem(_ sentence: String, at place: TextPlace? = nil) -> JSONProblem {
        JSONProblem(place: place ?? self.place, path: "", sentence: sentence)
    }

    mutating func document() throws(JSONProblem) -> JSONText {
        guard octets.count <= Self.longest else { throw problem("the file has more than 4 MiB") }
        if octets.starts(with: [0xFF, 0xFE]) || octets.starts(with: [0xFE, 0xFF]) {
            throw problem("the file is UTF-16; save it as UTF-8")
        }
        let value = try value(depth: 0)
        skipSpace()
        guard next == nil else { throw problem("something follows the end of the document; remove it") }
        return value
    }

    private mutating func skipSpace() {
        while let octet = next, octet == 0x20 || octet == 0x0A || octet == 0x0D || octet == 0x09 {
            index += 1
            guard octet == 0x0A else { continue }
            line += 1
            lineStart = index
        }
    }

    private mutating func take(_ character: Character) -> Bool {
        skipSpace()
        guard next == character.asciiValue else { return false }
        index += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONProblem) -> JSONText {
        skipSpace()
        let start = place
        guard depth < Self.deepest else { throw problem("values lie deeper than \(Self.deepest) levels") }
        guard let first = next else { throw problem("the file ends where a value must be") }
        let value: JSONText.Value
        switch Character(Unicode.Scalar(first)) {
        case "{": value = .object(try members(depth: depth))
        case "[": value = .array(try elements(depth: depth))
        case "\"": value = .string(try string())
        case "t": value = try word("true", .bool(true))
        case "f": value = try word("false", .bool(false))
        case "n": value = try word("null", .null)
        case "-", "0"..."9": value = .number(try number())
        default:
            throw problem("a value must be here: an object, a list, a text in double quotes, a number, true, false")
        }
        return JSONText(value: value, place: start)
    }

    private mutating func word(_ text: String, _ value: JSONText.Value) throws(JSONProblem) -> JSONText.Value {
        guard octets[index...].starts(with: text.utf8) else { throw problem("a value must be here; write \(text)") }
        index += text.utf8.count
        return value
    }

    private mutating func members(depth: Int) throws(JSONProblem) -> [JSONText.Member] {
        index += 1
        var members: [JSONText.Member] = []
        var names: Set<String> = []
        if take("}") { return members }
        repeat {
            skipSpace()
            let start = place
            guard next == 0x22 else { throw problem("a member's name in double quotes must be here") }
            let name = try string()
            guard names.insert(name).inserted else {
                throw problem("the member \"\(name)\" stands here twice; remove one", at: start)
            }
            guard take(":") else { throw problem("a colon must follow the name \"\(name)\"") }
            members.append(JSONText.Member(name: name, place: start, value: try value(depth: depth + 1)))
        } while take(",")
        guard take("}") else { throw problem("a comma or a closing brace must be here") }
        return members
    }

    private mutating func elements(depth: Int) throws(JSONProblem) -> [JSONText] {
        index += 1
        var elements: [JSONText] = []
        if take("]") { return elements }
        repeat { elements.append(try value(depth: depth + 1)) } while take(",")
        guard take("]") else { throw problem("a comma or a closing bracket must be here") }
        return elements
    }

    private mutating func number() throws(JSONProblem) -> Double {
        let start = index
        let startPlace = place
        while let octet = next, "+-.0123456789eE".utf8.contains(octet) { index += 1 }
        let text = String(decoding: octets[start..<index], as: UTF8.self)
        guard text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil,
            let number = Double(text), number.isFinite
        else { throw problem("\(text) is no number", at: startPlace) }
        return number
    }

    private mutating func string() throws(JSONProblem) -> String {
        let start = place
        index += 1
        var text: [UInt8] = []
        while let octet = next {
            index += 1
            switch octet {
            case 0x22:
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw problem("this text is not UTF-8", at: start)
                }
                return string
            case 0x5C: text += try escape()
            case 0..<0x20: throw problem("a text must end on its line; write \\n for a line break", at: start)
            default: text.append(octet)
            }
        }
        throw problem("this text has no end", at: start)
    }

    private mutating func escape() throws(JSONProblem) -> [UInt8] {
        guard let octet = next else { throw problem("the file ends in a text") }
        index += 1
        switch Character(Unicode.Scalar(octet)) {
        case "\"", "\\", "/": return [octet]
        case "b": return [0x08]
        case "f": return [0x0C]
        case "n": return [0x0A]
        case "r": return [0x0D]
        case "t": return [0x09]
        case "u":
            var unit = try hexadecimal()
            if (0xD800..<0xDC00).contains(unit), octets[index...].starts(with: [0x5C, 0x75]) {
                index += 2
                let low = try hexadecimal()
                guard (0xDC00..<0xE000).contains(low) else { throw problem("half a character stands here") }
                unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(unit) else { throw problem("half a character stands here") }
            return Array(String(scalar).utf8)
        default: throw problem("behind a backslash stands one of \" \\ / b f n r t u")
        }
    }

    private mutating func hexadecimal() throws(JSONProblem) -> UInt32 {
        let digits = octets[index..<min(index + 4, octets.count)]
        let text = String(decoding: digits, as: UTF8.self)
        guard digits.count == 4, text.allSatisfy(\.isHexDigit), let value = UInt32(text, radix: 16) else {
            throw problem("four hexadecimal digits must follow \\u")
        }
        index += 4
        return value
    }
}
