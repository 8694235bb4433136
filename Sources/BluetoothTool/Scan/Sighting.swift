package import CoreBluetooth
package import Foundation

/// One report of a scan, as `ble scan` shows it.
package struct Sighting: Equatable, Sendable {
    package var identifier: UUID
    package var name: String?
    /// dBm; `nil` is not available.
    package var signal: Int?
    package var isConnectable: Bool
    package var services: [String]
    /// With the company's number, least significant octet first.
    package var manufacturerData: [UInt8]?

    package init(peripheral: CBPeripheral, advertisementData: [String: Any], signal: NSNumber) {
        identifier = peripheral.identifier
        name = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? peripheral.name
        // 127 stands for "not available".
        self.signal = signal.intValue == 127 ? nil : signal.intValue
        isConnectable = (advertisementData[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue ?? false
        services = (advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []).map(\.uuidString)
        manufacturerData = (advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data).map { [UInt8]($0) }
    }

    package init(
        identifier: UUID, name: String? = nil, signal: Int? = nil, isConnectable: Bool = true,
        services: [String] = [], manufacturerData: [UInt8]? = nil
    ) {
        self.identifier = identifier
        self.name = name
        self.signal = signal
        self.isConnectable = isConnectable
        self.services = services
        self.manufacturerData = manufacturerData
    }

    package var company: UInt16? {
        guard let data = manufacturerData, data.count >= 2 else { return nil }
        return UInt16(data[0]) | UInt16(data[1]) << 8
    }

    /// The report on top of an earlier one of the same device: what this one does not tell stays.
    package func merged(over earlier: Sighting) -> Sighting {
        var result = self
        result.name = name ?? earlier.name
        result.services = services.isEmpty ? earlier.services : services
        result.manufacturerData = manufacturerData ?? earlier.manufacturerData
        return result
    }

    package var json: String {
        JSONLine([
            "identifier": .text(identifier.uuidString), "name": name.map { .text($0) },
            "rssi": signal.map { .integer($0) }, "connectable": .truth(isConnectable),
            "services": .list(services.map { .text($0) }),
            "manufacturerData": manufacturerData.map { .text($0.map(hexOctet).joined()) },
            "company": company.map { .text(CompanyNames.name(of: $0)) },
        ]).text
    }
}

/// A few of the company numbers that are often on the air (Bluetooth SIG, Assigned Numbers, 7.1).
package enum CompanyNames {
    private static let names: [UInt16: String] = [
        0x0002: "Intel", 0x0006: "Microsoft", 0x000D: "Texas Instruments", 0x000F: "Broadcom", 0x004C: "Apple",
        0x0059: "Nordic Semiconductor", 0x006B: "Polar Electro", 0x0075: "Samsung Electronics", 0x0087: "Garmin",
        0x00E0: "Google", 0x0157: "Anhui Huami", 0x02E5: "Espressif", 0x038F: "Xiaomi", 0x0499: "Ruuvi",
        0xFFFF: "for tests",
    ]

    /// The company's name, or its number.
    package static func name(of number: UInt16) -> String {
        names[number] ?? "0x" + hexOctet(UInt8(number >> 8)) + hexOctet(UInt8(truncatingIfNeeded: number))
    }
}
