import BluetoothTypes
import GAP

/// Advertising and scan response data as found in the field, and the fields that they hold.
package struct Advertisements: Decodable, Sendable {
    var advertisements: [Item]

    struct Item: Decodable, Sendable {
        var id: String
        var ad_payload: Hexadecimal
        /// The advertisement and its scan responses, where they are known apart.
        var parts: [Hexadecimal]?
        var expected: Fields
    }

    struct Fields: Decodable, Sendable {
        var flags: UInt8?
        var local_name: String?
        var name_complete: Bool?
        var service_uuids: [SpelledUUID]
        var solicited_uuids: [SpelledUUID]
        var service_data: [ServiceData]
        var manufacturer_data: [NumberedData]
        var tx_power: Int8?
        var appearance: UInt16?
        var other: [NumberedData]
        var malformed: String?
    }

    /// `[uuid, octets]`
    struct ServiceData: Decodable, Sendable {
        var service: SpelledUUID
        var data: Hexadecimal

        init(from decoder: any Decoder) throws {
            var pair = try decoder.unkeyedContainer()
            service = try pair.decode(SpelledUUID.self)
            data = try pair.decode(Hexadecimal.self)
        }
    }

    /// `[company or type, octets]`
    struct NumberedData: Decodable, Sendable {
        var number: UInt16
        var data: Hexadecimal

        init(from decoder: any Decoder) throws {
            var pair = try decoder.unkeyedContainer()
            number = try pair.decode(UInt16.self)
            data = try pair.decode(Hexadecimal.self)
        }
    }

    package func play() -> ConformanceReport {
        var report = ConformanceReport()
        for item in advertisements {
            var data = AdvertisingData()
            for part in item.parts ?? [item.ad_payload] { data.add(part.octets[...]) }
            do throws(Mismatch) {
                try item.expected.compare(data)
                report.add(item.id, nil)
            } catch {
                report.add(item.id, error)
            }
        }
        return report
    }
}

extension Advertisements.Fields {
    fileprivate func compare(_ data: AdvertisingData) throws(Mismatch) {
        try check("flags", flags, data.flags)
        try check("local_name", local_name, data.localName)
        try check("name_complete", name_complete, data.localName == nil ? nil : data.isNameComplete)
        try check("service_uuids", service_uuids.map(\.uuid), data.services)
        try check("solicited_uuids", solicited_uuids.map(\.uuid), data.solicitedServices)
        try check(
            "service_data", service_data.map { "\($0.service.uuid.full): \($0.data.octets.hexadecimal)" },
            data.serviceData.map { "\($0.service.full): \($0.data.hexadecimal)" })
        try check(
            "manufacturer_data", manufacturer_data.map { "\($0.number): \($0.data.octets.hexadecimal)" },
            data.manufacturerData.map { "\($0.company): \($0.data.hexadecimal)" })
        try check("tx_power", tx_power, data.txPowerLevel)
        try check("appearance", appearance, data.appearance)
        try check(
            "other", other.map { "\($0.number): \($0.data.octets.hexadecimal)" },
            data.others.map { "\($0.type.rawValue): \($0.data.hexadecimal)" })
        try check("malformed", malformed, data.malformed)
    }

    private func check<Value: Equatable>(_ field: String, _ expected: Value?, _ actual: Value?) throws(Mismatch) {
        try Mismatch.check(field, expected, actual) { value in value.map { "\($0)" } ?? "none" }
    }
}
