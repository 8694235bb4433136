import BluetoothTypes

/// Octets as the files spell them: two hexadecimal digits each, without spaces.
struct Hexadecimal: Equatable, Decodable, Sendable {
    var octets: [UInt8]

    init(_ octets: [UInt8]) { self.octets = octets }

    init?(_ text: String) {
        let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        let values = digits.compactMap { $0 }
        octets = stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let value = Self(text) else { throw decoder.corrupted("\"\(text)\" is not hexadecimal") }
        self = value
    }
}

/// A UUID as the files spell them, in the width in which it is spelt: 4 digits, or 32 with or without hyphens.
struct SpelledUUID: Equatable, Decodable, Sendable {
    var uuid: BluetoothUUID

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        let digits = text.filter { $0 != "-" }
        guard let octets = Hexadecimal(digits)?.octets, octets.count == 2 || octets.count == 16,
            let uuid = BluetoothUUID(octets: octets.reversed()[...])
        else { throw decoder.corrupted("\"\(text)\" is no UUID") }
        self.uuid = uuid
    }
}

extension Decoder {
    fileprivate func corrupted(_ text: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: text))
    }
}

extension [UInt8] {
    /// `0A 03 00`
    var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}
