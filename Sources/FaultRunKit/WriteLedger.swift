/// Writes, each with a number in its value, as both ends saw them.
final class WriteLedger {
    private var last: UInt32 = 0
    private var arrivals: [UInt32: Int] = [:]
    private var confirmed: [UInt32] = []

    /// A new value: its number, then octets to make it `length` long.
    func newValue(length: Int) -> (number: UInt32, value: [UInt8]) {
        last += 1
        let number = (0..<4).map { UInt8(truncatingIfNeeded: last >> (8 * $0)) }
        return (last, number + (4..<max(4, length)).map { UInt8(truncatingIfNeeded: $0) })
    }

    func arrived(_ value: [UInt8]) {
        guard value.count >= 4 else { return }
        arrivals[Self.number(of: value), default: 0] += 1
    }

    func confirm(_ number: UInt32) { confirmed.append(number) }

    var complaints: [String] {
        confirmed.filter { arrivals[$0] == nil }.map { "write \($0) was confirmed and never arrived" }
            + arrivals.filter { $0.value > 1 }.sorted { $0.key < $1.key }
            .map { "write \($0.key) arrived \($0.value) times" }
    }

    /// The number in a value of four octets or more.
    static func number(of value: [UInt8]) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(value[$1]) << (8 * UInt32($1)) }
    }
}
