import BluetoothTypes

/// UUID spellings, good and bad, for the parser behind `CBUUID(string:)`.
package struct UUIDStrings: Decodable, Sendable {
    struct Valid: Decodable, Sendable {
        var string: String
        var bits: Int
        var uuid128: SpelledUUID
        var accepted_by_CBUUID: Bool
    }

    var valid: [Valid]
    var malformed: [String]

    package func play() -> ConformanceReport {
        var report = ConformanceReport()
        for item in valid {
            let expected = item.accepted_by_CBUUID ? "\(item.bits) bits, \(item.uuid128.uuid)" : "refused"
            report.add("\"\(item.string)\"", compare(item.string, expected))
        }
        for string in malformed { report.add("\"\(string)\"", compare(string, "refused")) }
        return report
    }

    private func compare(_ string: String, _ expected: String) -> Mismatch? {
        let actual = BluetoothUUID(string: string).map { uuid in
            "\(uuid.octets.count * 8) bits, \(BluetoothUUID.uuid128(uuid.full))"
        }
        guard actual ?? "refused" != expected else { return nil }
        return Mismatch(place: "the UUID", expected: expected, actual: actual ?? "refused")
    }
}
