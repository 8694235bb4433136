import BluetoothTypes

/// A value of a document together with its path, to be read with a sentence for everything that may be wrong.
struct JSONNode {
    let text: JSONText
    let path: String

    init(_ text: JSONText, path: String = "") {
        self.text = text
        self.path = path
    }

    func problem(_ sentence: String) -> JSONProblem { JSONProblem(place: text.place, path: path, sentence: sentence) }

    private func expected(_ what: String) -> JSONProblem { problem("it must be \(what), not \(text.kind)") }

    // MARK: Objects and lists

    /// The members of an object, none of them unknown.
    func object(_ known: [String]) throws(JSONProblem) -> JSONObject {
        guard case .object(let members) = text.value else { throw expected("an object") }
        for member in members where !known.contains(member.name) {
            let path = path.isEmpty ? member.name : "\(path).\(member.name)"
            let meant = Self.nearest(to: member.name, among: known).map { "; did you mean \"\($0)\"?" }
            throw JSONProblem(
                place: member.place, path: path,
                sentence: "there is no such member" + (meant ?? ". Known are \(known.joined(separator: ", "))"))
        }
        return JSONObject(node: self, members: members)
    }

    func list() throws(JSONProblem) -> [JSONNode] {
        guard case .array(let elements) = text.value else { throw expected("a list") }
        return elements.enumerated().map { JSONNode($1, path: "\(path)[\($0)]") }
    }

    /// The members of an object whose names are the file's own.
    func dictionary() throws(JSONProblem) -> [(name: String, value: JSONNode)] {
        guard case .object(let members) = text.value else { throw expected("an object") }
        return members.map { ($0.name, JSONNode($0.value, path: path.isEmpty ? $0.name : "\(path).\($0.name)")) }
    }

    var isText: Bool { if case .string = text.value { true } else { false } }

    // MARK: Values

    func string(atMost longest: Int = 1000) throws(JSONProblem) -> String {
        guard case .string(let string) = text.value else { throw expected("a text") }
        guard string.utf8.count <= longest else { throw problem("it has more than \(longest) octets; shorten it") }
        return string
    }

    func bool() throws(JSONProblem) -> Bool {
        guard case .bool(let value) = text.value else { throw expected("true or false") }
        return value
    }

    func number(in range: ClosedRange<Double>) throws(JSONProblem) -> Double {
        guard case .number(let value) = text.value else { throw expected("a number") }
        guard range.contains(value) else {
            throw problem(
                "\(Self.plain(value)) is not in \(Self.plain(range.lowerBound))...\(Self.plain(range.upperBound))")
        }
        return value
    }

    func integer(in range: ClosedRange<Int>) throws(JSONProblem) -> Int {
        let value = try number(in: Double(range.lowerBound)...Double(range.upperBound))
        guard let whole = Int(exactly: value) else { throw problem("\(value) is no whole number") }
        return whole
    }

    /// So many seconds, 0...31,536,000 (a year).
    func duration(from least: Double = 0) throws(JSONProblem) -> Duration {
        .nanoseconds(Int64((try number(in: least...31_536_000) * 1e9).rounded()))
    }

    func choice<Choice: RawRepresentable & CaseIterable>(
        _ type: Choice.Type, _ what: String
    ) throws(JSONProblem) -> Choice where Choice.RawValue == String {
        let name = try string()
        if let choice = Choice(rawValue: name) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let meant = Self.nearest(to: name, among: names).map { "; did you mean \"\($0)\"?" }
        throw problem("\"\(name)\" is no \(what)" + (meant ?? ". Known are \(names.joined(separator: ", "))"))
    }

    func uuid() throws(JSONProblem) -> BluetoothUUID {
        let text = try string()
        guard let uuid = BluetoothUUID(string: text) else {
            throw problem("\"\(text)\" is no UUID of 4, 8 or 36 characters")
        }
        return uuid
    }

    /// Pairs of hexadecimal digits, with spaces, colons or hyphens between them as the writer likes.
    func octets(atMost longest: Int = 512) throws(JSONProblem) -> [UInt8] {
        let text = try string(atMost: 4 * longest)
        var digits: [UInt8] = []
        for character in text.utf8 where !" :-".utf8.contains(character) {
            guard let digit = Character(Unicode.Scalar(character)).hexDigitValue else {
                throw problem("\"\(text)\" is not pairs of hexadecimal digits")
            }
            digits.append(UInt8(digit))
        }
        guard digits.count % 2 == 0 else { throw problem("\"\(text)\" is not pairs of hexadecimal digits") }
        guard digits.count / 2 <= longest else { throw problem("it has more than \(longest) octets; shorten it") }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static func plain(_ value: Double) -> String {
        Int(exactly: value).map(String.init) ?? "\(value)"
    }

    /// The known name that differs least, if it differs little.
    private static func nearest(to name: String, among known: [String]) -> String? {
        let candidates = known.map { ($0, distance(Array(name.lowercased().utf8), Array($0.lowercased().utf8))) }
        guard let best = candidates.min(by: { $0.1 < $1.1 }) else { return nil }
        let count = best.0.utf8.count
        guard best.1 <= max(2, count / 3), best.1 < count else {
            return nil
        }
        return best.0
    }

    /// Levenshtein's.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        guard left.count <= 64 else { return .max }
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let change = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(change, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}

/// An object whose members are known.
struct JSONObject {
    let node: JSONNode
    fileprivate let members: [JSONText.Member]

    subscript(name: String) -> JSONNode? {
        members.first { $0.name == name }.map {
            JSONNode($0.value, path: node.path.isEmpty ? name : "\(node.path).\(name)")
        }
    }

    func required(_ name: String) throws(JSONProblem) -> JSONNode {
        guard let member = self[name] else { throw node.problem("it has no \"\(name)\"; add one") }
        return member
    }

    /// Which one of several members there is; one must be.
    func one(of names: [String]) throws(JSONProblem) -> (name: String, value: JSONNode) {
        var found: (name: String, value: JSONNode)?
        for name in names {
            guard let value = self[name] else { continue }
            if let found { throw value.problem("it cannot stand beside \"\(found.name)\"; remove one of the two") }
            found = (name, value)
        }
        guard let found else { throw node.problem("it must have one of \(names.joined(separator: ", "))") }
        return found
    }
}
