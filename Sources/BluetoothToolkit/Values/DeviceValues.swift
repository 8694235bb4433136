public import Foundation

// Assigned Numbers, 3.4 and 3.8; layouts by the GATT Specification Supplement.

/// Device Information Service 1.1.
public enum DeviceInformation {
    public static let manufacturerName = text("2A29")
    public static let modelNumber = text("2A24")
    public static let serialNumber = text("2A25")
    public static let hardwareRevision = text("2A27")
    public static let firmwareRevision = text("2A26")
    public static let softwareRevision = text("2A28")
    /// Mostly a MAC: see ``SystemID/address``.
    public static let systemID = KnownCharacteristic("2A23", in: "180A", decode: SystemID.init)
    public static let plugAndPlay = KnownCharacteristic("2A50", in: "180A", decode: PlugAndPlayID.init)

    private static func text(_ uuid: String) -> KnownCharacteristic<String> {
        KnownCharacteristic(uuid, in: "180A") { data in
            // Some firmware sends its string's terminator along.
            String(data: data.prefix { $0 != 0 }, encoding: .utf8)
        }
    }
}

/// Who made a product, and which it is (0x2A50).
public struct PlugAndPlayID: Equatable, Sendable {
    public enum Source: UInt8, Sendable {
        case bluetooth = 1
        case usb = 2
    }

    /// Who numbers the vendors; `nil` for a number without a meaning.
    public var source: Source?
    public var vendor: UInt16
    public var product: UInt16
    public var version: UInt16

    public init?(_ data: Data) {
        var reader = ValueReader(data)
        guard let source = reader.octet(), let vendor = reader.uint16(), let product = reader.uint16(),
            let version = reader.uint16(), reader.isAtEnd
        else { return nil }
        self.source = Source(rawValue: source)
        self.vendor = vendor
        self.product = product
        self.version = version
    }
}

/// Battery Service 1.1.
public enum Battery {
    /// In percent.
    public static let level = KnownCharacteristic("2A19", in: "180F") { data -> Int? in
        guard data.count == 1, let level = data.first, level <= 100 else { return nil }
        return Int(level)
    }
}

/// Environmental Sensing Service 1.0.
public enum Environment {
    /// In degrees Celsius.
    public static let temperature = KnownCharacteristic("2A6E", in: "181A") { data -> Double? in
        var reader = ValueReader(data)
        // The lowest number means that it is not known.
        guard let raw = reader.int16(), reader.isAtEnd, raw != .min else { return nil }
        return Double(raw) / 100
    }
    /// In percent.
    public static let humidity = KnownCharacteristic("2A6F", in: "181A") { data -> Double? in
        var reader = ValueReader(data)
        guard let raw = reader.uint16(), reader.isAtEnd, raw <= 10_000 else { return nil }
        return Double(raw) / 100
    }
    /// In pascal.
    public static let pressure = KnownCharacteristic("2A6D", in: "181A") { data -> Double? in
        var reader = ValueReader(data)
        guard let raw = reader.uint32(), reader.isAtEnd else { return nil }
        return Double(raw) / 10
    }
}

/// Current Time Service 1.1: 0x2A2B, by the peer's own calendar.
public enum CurrentTime {
    public static let now = KnownCharacteristic("2A2B", in: "1805") { data -> DateComponents? in
        var reader = ValueReader(data)
        guard var components = reader.dateComponents(), let weekday = reader.octet(), let fraction = reader.octet(),
            reader.octet() != nil
        else { return nil }
        // Monday is 1 there, and 2 with Foundation; 0 is not known.
        components.weekday = (1...7).contains(weekday) ? Int(weekday) % 7 + 1 : nil
        components.nanosecond = Int(fraction) * 1_000_000_000 / 256
        return components
    }
}
