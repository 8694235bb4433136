import Foundation

/// Takes a value apart, least significant octet first, as SIG services write it. What is too short gives `nil`.
struct ValueReader {
    private var rest: ArraySlice<UInt8>

    init(_ data: Data) { rest = Array(data)[...] }

    var isAtEnd: Bool { rest.isEmpty }
    var count: Int { rest.count }

    mutating func octet() -> UInt8? { rest.popFirst() }

    mutating func number(_ octets: Int) -> UInt64? {
        guard rest.count >= octets else { return nil }
        defer { rest = rest.dropFirst(octets) }
        return rest.prefix(octets).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func uint16() -> UInt16? { number(2).map { UInt16($0) } }
    mutating func int16() -> Int16? { uint16().map { Int16(bitPattern: $0) } }
    mutating func uint32() -> UInt32? { number(4).map { UInt32($0) } }

    mutating func data() -> Data {
        defer { rest = [] }
        return Data(rest)
    }

    /// IEEE 11073-20601 FLOAT: an exponent of ten in 8 bits on top of 24 bits. `nan` for what is no number.
    mutating func float32() -> Double? {
        guard let raw = uint32() else { return nil }
        let mantissa = Int32(bitPattern: raw << 8) >> 8
        switch mantissa {
        // NaN, "not at this resolution", and the reserved value; the two infinities.
        case 0x7FFFFF, -0x800000, -0x7FFFFF: return .nan
        case 0x7FFFFE: return .infinity
        case -0x7FFFFE: return -.infinity
        default: return Self.decimal(Int(mantissa), Int(Int8(truncatingIfNeeded: Int32(bitPattern: raw) >> 24)))
        }
    }

    /// IEEE 11073-20601 SFLOAT: an exponent of ten in 4 bits on top of 12 bits.
    mutating func float16() -> Double? {
        guard let raw = uint16() else { return nil }
        let mantissa = Int16(bitPattern: raw << 4) >> 4
        switch mantissa {
        case 0x7FF, -0x800, -0x7FF: return .nan
        case 0x7FE: return .infinity
        case -0x7FE: return -.infinity
        default: return Self.decimal(Int(mantissa), Int(Int16(bitPattern: raw) >> 12))
        }
    }

    /// Divided by a power of ten, and not multiplied by a fraction, so that 36.4 is 36.4.
    private static func decimal(_ mantissa: Int, _ exponent: Int) -> Double {
        let power = pow(10, Double(abs(exponent)))
        return exponent < 0 ? Double(mantissa) / power : Double(mantissa) * power
    }

    /// Year, month, day, hour, minute, second (Date Time, 0x2A08). Zeros are not known, and make no date.
    mutating func dateComponents() -> DateComponents? {
        guard let year = uint16(), let month = octet(), let day = octet(), let hour = octet(), let minute = octet(),
            let second = octet()
        else { return nil }
        return DateComponents(
            year: year == 0 ? nil : Int(year), month: month == 0 ? nil : Int(month), day: day == 0 ? nil : Int(day),
            hour: Int(hour), minute: Int(minute), second: Int(second))
    }
}
