import BluetoothCrypto
import BluetoothTypes
import Foundation
import HostInterface

/// Bumble's key store (bumble/keys.py of 0.0.236): adapter address, then peer address, then the keys by name, each as
/// hexadecimal octets in the order in which they travel. A public address ends in `/P`.
///
/// It keeps no key sizes: its keys are taken for 16 octets, as it asks for in pairings.
enum BumbleKeyStore {
    private struct Key: Codable {
        var value: String
        var authenticated: Bool?
        var ediv: UInt16?
        var rand: String?
    }

    private struct Keys: Codable {
        var addressType: Int?
        /// Of a Secure Connections pairing.
        var ltk: Key?
        /// Of a legacy pairing: for links on which the store's owner is the central, or the peripheral.
        var ltkCentral: Key?
        var ltkPeripheral: Key?
        var irk: Key?
        /// With which the peer signs.
        var csrk: Key?

        enum CodingKeys: String, CodingKey {
            case addressType = "address_type"
            case ltk
            case ltkCentral = "ltk_central"
            case ltkPeripheral = "ltk_peripheral"
            case irk, csrk
        }
    }

    static func file(of records: [BondRecord], adapter: DeviceAddress) -> BondFile {
        var peers: [String: Keys] = [:]
        for record in records { peers[name(of: record.identity)] = keys(of: record.bond) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode([name(of: adapter): peers]) else {
            preconditionFailure("Strings and numbers make JSON.")
        }
        return BondFile(path: "keys.json", contents: Array(data))
    }

    private static func keys(of bond: Bond) -> Keys {
        let isAuthenticated = bond.security.isAuthenticated
        func key(_ key: SecretKey) -> Key { Key(value: key.hexadecimal, authenticated: isAuthenticated) }
        func key(_ long: LongTermKey) -> Key {
            let random = (0..<8).map { UInt8(truncatingIfNeeded: long.random >> (8 * UInt64($0))) }
            return Key(
                value: long.key.hexadecimal, authenticated: isAuthenticated, ediv: long.diversifier,
                rand: random.hexadecimal)
        }
        var keys = Keys(addressType: Int(bond.address.kind.rawValue))
        if bond.security.isSecureConnections {
            keys.ltk = (bond.peerKey ?? bond.localKey).map { key($0.key) }
        } else {
            keys.ltkCentral = bond.peerKey.map { key($0) }
            keys.ltkPeripheral = bond.localKey.map { key($0) }
        }
        keys.irk = bond.resolvingKey.map { key($0) }
        keys.csrk = bond.peerSigningKey.map { key($0) }
        return keys
    }

    static func records(in file: BondFile, adapter: DeviceAddress) throws(BondFileError) -> [BondRecord] {
        let adapters: [String: [String: Keys]]
        do {
            adapters = try JSONDecoder().decode([String: [String: Keys]].self, from: Data(file.contents))
        } catch {
            throw BondFileError(path: file.path, reason: "it is not the JSON of a key store")
        }
        // Of one adapter alone, it is meant whatever it is called, as Bumble does it.
        let own = adapters[name(of: adapter)] ?? (adapters.count == 1 ? adapters.first?.value : nil)
        guard let own else {
            throw BondFileError(path: file.path, reason: "it holds none of the adapter \(name(of: adapter))")
        }
        var records: [BondRecord] = []
        for (name, keys) in own.sorted(by: { $0.key < $1.key }) {
            guard let address = address(named: name, type: keys.addressType), let bond = bond(of: keys, address) else {
                throw BondFileError(path: file.path, reason: "an address or a key of the peer \(name) makes no sense")
            }
            records.append(BondRecord(bond: bond))
        }
        return records
    }

    private static func bond(of keys: Keys, _ address: DeviceAddress) -> Bond? {
        let isSecure = keys.ltk != nil
        let any = keys.ltk ?? keys.ltkCentral ?? keys.ltkPeripheral
        var bond = Bond(
            address: address,
            security: LinkSecurity(
                isAuthenticated: any?.authenticated ?? false, isSecureConnections: isSecure, keySize: 16))
        if let key = keys.ltk {
            guard let value = SecretKey(hexadecimal: key.value) else { return nil }
            bond.localKey = LongTermKey(value)
            bond.peerKey = LongTermKey(value)
        }
        if let key = keys.ltkCentral, !isSecure {
            // What the peer did not give is an empty text.
            guard key.value.isEmpty || longTermKey(key) != nil else { return nil }
            bond.peerKey = longTermKey(key)
        }
        if let key = keys.ltkPeripheral, !isSecure {
            guard key.value.isEmpty || longTermKey(key) != nil else { return nil }
            bond.localKey = longTermKey(key)
        }
        if let key = keys.irk {
            guard let value = SecretKey(hexadecimal: key.value) else { return nil }
            bond.resolvingKey = value.value == 0 ? nil : value
        }
        if let key = keys.csrk {
            guard let value = SecretKey(hexadecimal: key.value) else { return nil }
            bond.peerSigningKey = value
        }
        return bond
    }

    private static func longTermKey(_ key: Key) -> LongTermKey? {
        guard let value = SecretKey(hexadecimal: key.value) else { return nil }
        var random: UInt64 = 0
        if let text = key.rand, !text.isEmpty {
            // As the wire has it, least significant octet first.
            guard text.utf8.count == 16, let swapped = UInt64(text, radix: 16) else { return nil }
            random = swapped.byteSwapped
        }
        return LongTermKey(value, diversifier: key.ediv ?? 0, random: random)
    }

    private static func name(of address: DeviceAddress) -> String {
        address.description + (address.kind == .public ? "/P" : "")
    }

    private static func address(named name: String, type: Int?) -> DeviceAddress? {
        let isPublic = name.hasSuffix("/P")
        // Types 2 and 3 are identity addresses: public, and static random (Core 6.0, Vol 4, Part E, 7.7.65.1).
        let kind: DeviceAddress.Kind = isPublic || type == 0 || type == 2 ? .public : .random
        return DeviceAddress(isPublic ? String(name.dropLast(2)) : name, kind: kind)
    }
}
