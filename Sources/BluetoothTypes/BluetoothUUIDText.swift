extension BluetoothUUID {
    /// From 4, 8 or 36 hexadecimal characters, the last with hyphens (8-4-4-4-12); `nil` for anything else.
    ///
    /// The 36 characters of a UUID that stands on the Bluetooth base and fits into 16 bits make that short form.
    package init?(string: String) {
        let characters = Array(string.utf8)
        switch characters.count {
        case 4:
            guard let value = Self.number(characters[...]) else { return nil }
            self = .uuid16(UInt16(value))
        case 8:
            guard let value = Self.number(characters[...]) else { return nil }
            self = .uuid32(UInt32(value))
        case 36:
            let hyphens = [8, 13, 18, 23]
            guard hyphens.allSatisfy({ characters[$0] == UInt8(ascii: "-") }) else { return nil }
            let digits = characters.indices.filter { !hyphens.contains($0) }.map { characters[$0] }
            guard let value = Self.number(digits[...]) else { return nil }
            self = BluetoothUUID.uuid128(value).attributeForm
        default: return nil
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt128? {
        var value: UInt128 = 0
        for digit in digits {
            let nibble: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): nibble = digit - UInt8(ascii: "A") + 10
            default: return nil
            }
            value = value << 4 | UInt128(nibble)
        }
        return value
    }
}
