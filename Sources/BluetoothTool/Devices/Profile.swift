import BluetoothToolkit
import BluetoothTypes
import CoreBluetooth
package import Foundation

/// A device as data: what `ble serve` is told to be. Documentation/Profiles.md has the format.
package struct Profile: Sendable {
    struct Characteristic: Sendable {
        var definition: LocalCharacteristic
        /// What reads get at first.
        var value: Data
        /// Values that come one after the other while somebody listens, over and over.
        var series: [Data]
        var interval: Duration
        /// What a write is refused with; 0 accepts.
        var refusal: UInt8
    }

    struct Service: Sendable {
        var definition: LocalService
        var characteristics: [Characteristic]
    }

    var name: String
    /// The services to advertise.
    var advertised: [UUIDText]
    var services: [Service]

    /// A UUID that travels between threads as text.
    struct UUIDText: Sendable {
        var text: String
        var uuid: CBUUID { CBUUID(string: text) }
    }

    struct Malformed: Error {
        var sentence: String
    }

    /// - Throws: ``Malformed`` with a sentence that names the place.
    package init(json: Data) throws {
        let file: File
        do {
            file = try JSONDecoder().decode(File.self, from: json)
        } catch let error as DecodingError {
            throw Malformed(sentence: Self.sentence(error))
        }
        name = file.name
        services = try file.services.map { try Self.service($0) }
        let listed = try (file.advertise ?? file.services.map(\.uuid)).map { text in
            UUIDText(text: try Self.checked(text, "advertise"))
        }
        advertised = listed
    }

    // MARK: The file

    private struct File: Decodable {
        var name: String
        var advertise: [String]?
        var services: [ServiceEntry]
    }

    private struct ServiceEntry: Decodable {
        var uuid: String
        var characteristics: [CharacteristicEntry]
    }

    private struct CharacteristicEntry: Decodable {
        var uuid: String
        var properties: [String]
        var description: String?
        var value: String?
        var text: String?
        var series: [String]?
        var interval: Double?
        var refuse: UInt8?
    }

    private static func service(_ entry: ServiceEntry) throws -> Service {
        let place = "the service \(entry.uuid)"
        let characteristics = try entry.characteristics.map { try characteristic($0, in: place) }
        return Service(
            definition: LocalService(
                CBUUID(string: try checked(entry.uuid, place)), characteristics: characteristics.map(\.definition)),
            characteristics: characteristics)
    }

    private static func characteristic(_ entry: CharacteristicEntry, in place: String) throws -> Characteristic {
        let place = "the characteristic \(entry.uuid) of \(place)"
        var properties: CBCharacteristicProperties = []
        for name in entry.properties {
            guard let property = names[name] else {
                throw Malformed(
                    sentence: "\(place) has the property \"\(name)\"; there are "
                        + names.keys.sorted().joined(separator: ", "))
            }
            properties.insert(property)
        }
        let value = try entry.text.map { Data($0.utf8) } ?? hex(entry.value ?? "", place)
        let interval = entry.interval ?? 1
        guard interval >= 0.01, interval <= 86400 else {
            throw Malformed(sentence: "\(place) has an interval of \(interval) s; it is 0.01...86400")
        }
        guard value.count <= 512 else { throw Malformed(sentence: "\(place) has a value of more than 512 octets") }
        return Characteristic(
            definition: LocalCharacteristic(
                CBUUID(string: try checked(entry.uuid, place)), properties, userDescription: entry.description),
            value: value, series: try (entry.series ?? []).map { try hex($0, place) }, interval: .seconds(interval),
            refusal: entry.refuse ?? 0)
    }

    private static let names: [String: CBCharacteristicProperties] = [
        "read": .read, "write": .write, "writeWithoutResponse": .writeWithoutResponse, "notify": .notify,
        "indicate": .indicate,
    ]

    private static func checked(_ text: String, _ place: String) throws -> String {
        guard BluetoothUUID(coreBluetoothText: text) != nil else {
            throw Malformed(sentence: "\(place): \"\(text)\" is no UUID of 4, 8 or 36 characters")
        }
        return text
    }

    private static func hex(_ text: String, _ place: String) throws -> Data {
        do { return try ValueText.data(hex: text) } catch {
            throw Malformed(sentence: "\(place): \"\(text)\" is not pairs of hexadecimal digits")
        }
    }

    private static func sentence(_ error: DecodingError) -> String {
        func at(_ context: DecodingError.Context) -> String {
            let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
            return path.isEmpty ? "the profile" : path.joined(separator: ".")
        }
        switch error {
        case .keyNotFound(let key, let context): return "\(at(context)) has no \"\(key.stringValue)\""
        case .typeMismatch(let type, let context): return "\(at(context)) is no \(type)"
        case .valueNotFound(let type, let context): return "\(at(context)) is no \(type)"
        case .dataCorrupted(let context): return "\(at(context)): \(context.debugDescription)"
        @unknown default: return "it cannot be read"
        }
    }
}
