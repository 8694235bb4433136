import BluetoothCrypto
import BluetoothTypes
import HostInterface

/// The file `info` of a device that BlueZ knows (BlueZ, doc/settings-storage.txt): keys as hexadecimal octets in the
/// order in which they travel, numbers as decimals.
///
/// The kernel's name for the key of links on which this side is the peripheral is also where it files the one key of a
/// Secure Connections pairing; there it stands under both of the group's names.
enum BlueZInfo {
    /// The kernel's types of long term keys (MGMT_LTK_*): unauthenticated, authenticated, and the same of P-256.
    private static func type(of security: LinkSecurity) -> Int {
        (security.isSecureConnections ? 2 : 0) + (security.isAuthenticated ? 1 : 0)
    }

    static func file(of record: BondRecord, adapter: DeviceAddress) -> BondFile {
        let bond = record.bond
        var lines = ["[General]"]
        // A name of several lines would write groups of its own.
        if let name = record.name { lines.append("Name=\(name.filter { !$0.isNewline })") }
        lines += [
            "AddressType=\(bond.address.kind == .public ? "public" : "static")", "SupportedTechnologies=LE;",
            "Trusted=false", "Blocked=false",
        ]
        if let key = bond.resolvingKey { lines += ["", "[IdentityResolvingKey]", "Key=\(digits(key))"] }
        if let key = bond.localSigningKey {
            lines += signing("LocalSignatureKey", key, record.localSignCounter, bond.security)
        }
        if let key = bond.peerSigningKey {
            lines += signing("RemoteSignatureKey", key, record.peerSignCounter, bond.security)
        }
        if !bond.security.isSecureConnections, let key = bond.peerKey {
            lines += group("LongTermKey", key, bond.security)
        }
        if let key = bond.security.isSecureConnections ? bond.localKey ?? bond.peerKey : bond.localKey {
            lines += group("PeripheralLongTermKey", key, bond.security)
            lines += group("SlaveLongTermKey", key, bond.security)
        }
        let text = lines.joined(separator: "\n") + "\n"
        return BondFile(path: "\(adapter)/\(bond.address)/info", contents: Array(text.utf8))
    }

    private static func digits(_ key: SecretKey) -> String { key.hexadecimal.uppercased() }

    private static func group(_ name: String, _ key: LongTermKey, _ security: LinkSecurity) -> [String] {
        [
            "", "[\(name)]", "Key=\(digits(key.key))", "Authenticated=\(type(of: security))",
            "EncSize=\(security.keySize)", "EDiv=\(key.diversifier)", "Rand=\(key.random)",
        ]
    }

    private static func signing(
        _ name: String, _ key: SecretKey, _ counter: UInt32, _ security: LinkSecurity
    ) -> [String] {
        ["", "[\(name)]", "Key=\(digits(key))", "Counter=\(counter)", "Authenticated=\(security.isAuthenticated)"]
    }

    // MARK: Reading

    private typealias Groups = [String: [String: Substring]]

    static func record(in file: BondFile) throws(BondFileError) -> BondRecord {
        func fail(_ reason: String) -> BondFileError { BondFileError(path: file.path, reason: reason) }
        let groups = groups(of: String(decoding: file.contents, as: UTF8.self))
        // The peer's address is in the path alone.
        let folders = file.path.split(separator: "/")
        let kind: DeviceAddress.Kind = groups["General"]?["AddressType"] == "static" ? .random : .public
        guard folders.last == "info", let folder = folders.dropLast().last,
            let address = DeviceAddress(String(folder), kind: kind)
        else { throw fail("it must be called info, in a folder named after the peer's address") }
        let central = groups["LongTermKey"]
        let peripheral = groups["PeripheralLongTermKey"] ?? groups["SlaveLongTermKey"]
        guard let main = peripheral ?? central else { throw fail("there is no long term key") }
        guard let type = Int(main["Authenticated"] ?? "0"), 0...3 ~= type,
            let size = Int(main["EncSize"] ?? "16"), 7...16 ~= size
        else { throw fail("a long term key is of a kind or a size that is not taken") }
        var bond = Bond(
            address: address,
            security: LinkSecurity(isAuthenticated: type & 1 == 1, isSecureConnections: type >= 2, keySize: size))
        // Of Secure Connections there is one key, whatever stands under the other name.
        let isOneKey = bond.security.isSecureConnections
        for (group, path) in [(isOneKey ? main : central, \Bond.peerKey), (isOneKey ? main : peripheral, \.localKey)] {
            guard let group else { continue }
            guard let key = longTermKey(group) else { throw fail("a long term key makes no sense") }
            bond[keyPath: path] = isOneKey ? LongTermKey(key.key) : key
        }
        for (name, path) in [
            ("IdentityResolvingKey", \Bond.resolvingKey), ("LocalSignatureKey", \Bond.localSigningKey),
            ("RemoteSignatureKey", \Bond.peerSigningKey),
        ] {
            guard let text = groups[name]?["Key"] else { continue }
            guard let key = SecretKey(hexadecimal: text) else { throw fail("the key of \(name) has not 32 digits") }
            bond[keyPath: path] = key.value == 0 ? nil : key
        }
        var record = BondRecord(bond: bond, name: groups["General"]?["Name"].map(String.init))
        record.localSignCounter = groups["LocalSignatureKey"]?["Counter"].flatMap { UInt32($0) } ?? 0
        record.peerSignCounter = groups["RemoteSignatureKey"]?["Counter"].flatMap { UInt32($0) } ?? 0
        return record
    }

    private static func longTermKey(_ group: [String: Substring]) -> LongTermKey? {
        guard let key = SecretKey(hexadecimal: group["Key"] ?? ""), let diversifier = UInt16(group["EDiv"] ?? "0"),
            let random = UInt64(group["Rand"] ?? "0")
        else { return nil }
        return LongTermKey(key, diversifier: diversifier, random: random)
    }

    private static func groups(of text: String) -> Groups {
        var groups: Groups = [:]
        var current = ""
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("["), line.hasSuffix("]") {
                current = String(line.dropFirst().dropLast())
            } else if !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") {
                groups[current, default: [:]][String(line[..<equals])] = line[line.index(after: equals)...]
            }
        }
        return groups
    }
}
