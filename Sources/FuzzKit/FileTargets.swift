import BluetoothCrypto
import BluetoothTool
import BluetoothTypes
import BondFiles
import Foundation
import Host
import HostInterface
import Storage

/// Files that this package reads, and that somebody else may have written or damaged.
enum FileTargets {
    private static let adapter = DeviceAddress(0x02_0000_0000_01)

    static func bumbleKeys(_ input: [UInt8]) { bonds(.bumble, input) }
    static func blueZInfo(_ input: [UInt8]) { bonds(.blueZ, input) }

    /// Bonds as Bumble and BlueZ keep them. What was taken is written and read again, and is the same then.
    private static func bonds(_ format: BondFormat, _ input: [UInt8]) {
        let file = BondFile(path: "02:00:00:00:00:01/C0:00:00:00:00:07/info", contents: input)
        guard let records = try? format.records(in: [file], adapter: adapter) else { return }
        for record in records {
            let files = format.files(of: [record], adapter: adapter)
            let again = try? format.records(in: files, adapter: adapter)
            precondition(again?.count == 1, "What was written of a bond cannot be read.")
            precondition(again?.first?.bond.peerKey == record.bond.peerKey, "A key has changed on the way.")
        }
    }

    static func profile(_ input: [UInt8]) { _ = try? Profile(json: Data(input)) }

    // MARK: The store of bonds

    private static let record: BondRecord = {
        var bond = Bond(
            address: DeviceAddress(0xC000_0000_0007, kind: .random),
            security: LinkSecurity(isAuthenticated: true, isSecureConnections: false, keySize: 16))
        bond.resolvingKey = SecretKey(1)
        bond.localKey = LongTermKey(SecretKey(2), diversifier: 3, random: 4)
        bond.peerKey = LongTermKey(SecretKey(5), diversifier: 6, random: 7)
        bond.localSigningKey = SecretKey(8)
        bond.peerSigningKey = SecretKey(9)
        var record = BondRecord(bond: bond, name: "fuzz")
        record.subscriptions = [BondRecord.Subscription(handle: 3, uuid: .uuid16(0xFFF1), kind: 1)]
        return record
    }()

    private static let changes: [StaticString] = [
        "UPDATE bond SET address = ?", "UPDATE bond SET kind = ?", "UPDATE bond SET peer_address = ?",
        "UPDATE bond SET peer_kind = ?", "UPDATE bond SET name = ?", "UPDATE bond SET resolving_key = ?",
        "UPDATE bond SET local_key = ?", "UPDATE bond SET local_diversifier = ?", "UPDATE bond SET local_random = ?",
        "UPDATE bond SET peer_key = ?", "UPDATE bond SET peer_diversifier = ?", "UPDATE bond SET peer_random = ?",
        "UPDATE bond SET local_signing_key = ?", "UPDATE bond SET peer_signing_key = ?",
        "UPDATE bond SET local_sign_counter = ?", "UPDATE bond SET peer_sign_counter = ?",
        "UPDATE bond SET is_authenticated = ?", "UPDATE bond SET is_secure_connections = ?",
        "UPDATE bond SET key_size = ?", "UPDATE bond SET number = ?", "UPDATE subscription SET bond = ?",
        "UPDATE subscription SET handle = ?", "UPDATE subscription SET uuid = ?", "UPDATE subscription SET kind = ?",
        "UPDATE adapter SET resolving_key = ?",
    ]

    /// Each step puts another value, of any type, into a column of the tables; then all of it is read.
    static func bondRows(_ script: Script) {
        let directory = StateDirectory.inMemory()
        let bonds = BondDatabase(in: directory)
        _ = try? bonds.resolvingKey(of: adapter) { SecretKey(1) }
        try? bonds.save(record, of: adapter)
        // The directory has it open by this name already, with the tables of the store.
        guard
            let database = try? directory.open(Schema(name: "bonds-public-020000000001", steps: [])),
            (try? bonds.bonds(of: adapter)) == [record]
        else { preconditionFailure("The store of bonds is not where this looks for it.") }
        for (choice, octets) in script {
            _ = try? database.write { connection throws(StorageError) in
                try connection.run(changes[Int(choice & 0x3F) % changes.count], value(choice, octets))
            }
        }
        use(bonds)
    }

    private static func value(_ choice: UInt8, _ octets: [UInt8]) -> ColumnValue {
        switch choice >> 6 {
        case 0: .blob(octets)
        case 1: .integer(octets.prefix(8).reduce(0) { $0 << 8 | Int64($1) })
        case 2: .text(String(decoding: octets, as: UTF8.self))
        default: octets.isEmpty ? .null : .real(Double(octets[0]) / 3)
        }
    }

    private static func use(_ bonds: BondDatabase) {
        _ = try? bonds.resolvingKey(of: adapter) { SecretKey(1) }
        _ = try? bonds.bonds(of: adapter)
        try? bonds.save(record, of: adapter)
        try? bonds.remove(record.identity, of: adapter)
    }

    /// The octets of a store's file, as it is when nobody has it open.
    private static let genuine: [UInt8] = withFolder { folder in
        do {
            let bonds = BondDatabase(in: StateDirectory(path: folder))
            _ = try bonds.resolvingKey(of: adapter) { SecretKey(1) }
            try bonds.save(record, of: adapter)
        } catch {
            preconditionFailure("No store of bonds can be made in \(folder): \(error)")
        }
        return FileManager.default.contents(atPath: folder + "/" + fileName).map { Array($0) } ?? []
    }

    private static let fileName = "bonds-public-020000000001.sqlite"

    private static func withFolder<Result>(_ body: (String) -> Result) -> Result {
        let folder = NSTemporaryDirectory() + "fuzz-\(ProcessInfo.processInfo.processIdentifier)-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return body(folder)
    }

    /// Each step writes octets over a place of a store's file: its header, its tables, its pages.
    static func bondDatabase(_ script: Script) {
        var octets = genuine
        for (choice, patch) in script {
            guard patch.count > 1 else { continue }
            var place = (Int(choice) << 8 | Int(patch[0])) % octets.count
            for octet in patch.dropFirst() where place < octets.count {
                octets[place] = octet
                place += 1
            }
        }
        withFolder { folder in
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            try? FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: attributes)
            _ = FileManager.default.createFile(
                atPath: folder + "/" + fileName, contents: Data(octets), attributes: [.posixPermissions: 0o600])
            use(BondDatabase(in: StateDirectory(path: folder)))
        }
    }
}
