import BluetoothCrypto
import BluetoothTypes
import Foundation
import HostInterface

/// Bonds as this package writes them down for itself, to move them from machine to machine: JSON, with everything that
/// is kept of a bond. Keys are hexadecimal octets in the order in which they travel.
enum OwnBondFile {
    private static let format = "swift-corebluetooth bonds"
    private static let version = 1

    private struct File: Codable {
        var format: String
        var version: Int
        /// Whose bonds they are.
        var adapter: String
        var bonds: [Entry]
    }

    private struct Key: Codable {
        var key: String
        var diversifier: UInt16
        /// Hexadecimal; JSON's numbers have not enough digits everywhere.
        var random: String
    }

    private struct Subscription: Codable {
        var handle: UInt16
        var uuid: String
        var kind: UInt16
    }

    private struct Entry: Codable {
        var address: String
        var isPublic: Bool
        /// The address at which the peer was met first, if it is another one.
        var metAs: String?
        var metAsPublic: Bool?
        var name: String?
        var authenticated: Bool
        var secureConnections: Bool
        var keySize: Int
        var resolvingKey: String?
        var localKey: Key?
        var peerKey: Key?
        var localSigningKey: String?
        var peerSigningKey: String?
        var localSignCounter: UInt32
        var peerSignCounter: UInt32
        var subscriptions: [Subscription]
    }

    static func file(of records: [BondRecord], adapter: DeviceAddress) -> BondFile {
        let file = File(
            format: format, version: version, adapter: adapter.description, bonds: records.map(entry))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(file) else { preconditionFailure("Strings and numbers make JSON.") }
        return BondFile(path: "bonds.json", contents: Array(data))
    }

    private static func entry(_ record: BondRecord) -> Entry {
        let bond = record.bond
        func key(_ long: LongTermKey) -> Key {
            Key(
                key: long.key.hexadecimal, diversifier: long.diversifier, random: String(long.random, radix: 16))
        }
        let met = record.peer.address == record.identity ? nil : record.peer.address
        return Entry(
            address: bond.address.description, isPublic: bond.address.kind == .public, metAs: met?.description,
            metAsPublic: met.map { $0.kind == .public }, name: record.name,
            authenticated: bond.security.isAuthenticated, secureConnections: bond.security.isSecureConnections,
            keySize: bond.security.keySize, resolvingKey: bond.resolvingKey?.hexadecimal,
            localKey: bond.localKey.map(key), peerKey: bond.peerKey.map(key),
            localSigningKey: bond.localSigningKey?.hexadecimal, peerSigningKey: bond.peerSigningKey?.hexadecimal,
            localSignCounter: record.localSignCounter, peerSignCounter: record.peerSignCounter,
            subscriptions: record.subscriptions.map {
                Subscription(handle: $0.handle, uuid: "\($0.uuid)", kind: $0.kind)
            })
    }

    /// Bonds belong to the adapter that made them, so those of another one are of no use.
    static func records(in file: BondFile, adapter: DeviceAddress) throws(BondFileError) -> [BondRecord] {
        func problem(_ reason: String) -> BondFileError { BondFileError(path: file.path, reason: reason) }
        guard let content = try? JSONDecoder().decode(File.self, from: Data(file.contents)), content.format == format
        else { throw problem("it is not the JSON of this package's bonds") }
        guard content.version == version else { throw problem("it is of version \(content.version)") }
        guard content.adapter == adapter.description else {
            throw problem("its bonds are the adapter \(content.adapter)'s, and this one is \(adapter)")
        }
        var records: [BondRecord] = []
        for entry in content.bonds {
            guard let record = record(of: entry) else {
                throw problem("an address or a key of the peer \(entry.address) makes no sense")
            }
            records.append(record)
        }
        return records
    }

    private static func record(of entry: Entry) -> BondRecord? {
        guard let address = DeviceAddress(entry.address, kind: entry.isPublic ? .public : .random),
            (7...16).contains(entry.keySize)
        else { return nil }
        var bond = Bond(
            address: address,
            security: LinkSecurity(
                isAuthenticated: entry.authenticated, isSecureConnections: entry.secureConnections,
                keySize: entry.keySize))
        do throws(Senseless) {
            bond.resolvingKey = try secret(entry.resolvingKey)
            bond.localKey = try longTerm(entry.localKey)
            bond.peerKey = try longTerm(entry.peerKey)
            bond.localSigningKey = try secret(entry.localSigningKey)
            bond.peerSigningKey = try secret(entry.peerSigningKey)
        } catch {
            return nil
        }
        var peer: DeviceAddress?
        if let text = entry.metAs {
            peer = DeviceAddress(text, kind: entry.metAsPublic == true ? .public : .random)
            guard peer != nil else { return nil }
        }
        var record = BondRecord(bond: bond, peer: peer.map { PeerID($0) }, name: entry.name)
        record.localSignCounter = entry.localSignCounter
        record.peerSignCounter = entry.peerSignCounter
        for subscription in entry.subscriptions {
            guard let uuid = BluetoothUUID(string: subscription.uuid) else { return nil }
            record.subscriptions.append(
                BondRecord.Subscription(handle: subscription.handle, uuid: uuid, kind: subscription.kind))
        }
        return record
    }

    private struct Senseless: Error {}

    private static func secret(_ text: String?) throws(Senseless) -> SecretKey? {
        guard let text else { return nil }
        guard let key = SecretKey(hexadecimal: text) else { throw Senseless() }
        return key
    }

    private static func longTerm(_ entry: Key?) throws(Senseless) -> LongTermKey? {
        guard let entry else { return nil }
        guard let key = try secret(entry.key), let random = UInt64(entry.random, radix: 16) else { throw Senseless() }
        return LongTermKey(key, diversifier: entry.diversifier, random: random)
    }
}
