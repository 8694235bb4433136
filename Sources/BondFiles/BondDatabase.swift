package import BluetoothCrypto
package import BluetoothTypes
package import Host
package import HostInterface
package import Storage

/// Bonds in SQLite files that only their owner can read: one for each adapter, named after its address.
package final class BondDatabase: BondStorage {
    private let directory: StateDirectory
    /// Takes a sentence for a person, when a damaged file was set aside.
    private let report: (String) -> Void
    private var open: (adapter: DeviceAddress, database: Database)?

    package init(in directory: StateDirectory, report: @escaping (String) -> Void = { _ in }) {
        self.directory = directory
        self.report = report
    }

    private static func schema(of adapter: DeviceAddress) -> Schema {
        let kind = adapter.kind == .public ? "public" : "random"
        let name = adapter.description.split(separator: ":").joined()
        return Schema(
            name: "bonds-\(kind)-\(name)",
            steps: [
                [
                    "CREATE TABLE adapter (resolving_key BLOB NOT NULL)",
                    """
                    CREATE TABLE bond (
                        number INTEGER PRIMARY KEY AUTOINCREMENT,
                        address INTEGER NOT NULL, kind INTEGER NOT NULL,
                        peer_address INTEGER NOT NULL, peer_kind INTEGER NOT NULL, name TEXT,
                        resolving_key BLOB,
                        local_key BLOB, local_diversifier INTEGER, local_random INTEGER,
                        peer_key BLOB, peer_diversifier INTEGER, peer_random INTEGER,
                        local_signing_key BLOB, peer_signing_key BLOB,
                        local_sign_counter INTEGER NOT NULL, peer_sign_counter INTEGER NOT NULL,
                        is_authenticated INTEGER NOT NULL, is_secure_connections INTEGER NOT NULL,
                        key_size INTEGER NOT NULL,
                        UNIQUE (address, kind))
                    """,
                    """
                    CREATE TABLE subscription (
                        bond INTEGER NOT NULL REFERENCES bond (number) ON DELETE CASCADE,
                        handle INTEGER NOT NULL, uuid BLOB NOT NULL, kind INTEGER NOT NULL,
                        PRIMARY KEY (bond, handle))
                    """,
                ],
                [
                    "ALTER TABLE bond ADD COLUMN client_features INTEGER NOT NULL DEFAULT 0",
                    "ALTER TABLE bond ADD COLUMN known_database BLOB",
                    "ALTER TABLE bond ADD COLUMN remote_database BLOB",
                ],
            ],
            // Whoever has paired does not want to do so again because the lights went out.
            durability: .powerLoss)
    }

    private func database(of adapter: DeviceAddress) throws(StorageError) -> Database {
        if let open, open.adapter == adapter { return open.database }
        let database = try directory.open(Self.schema(of: adapter), report: report)
        open = (adapter, database)
        return database
    }

    /// Runs `body`, and says of its failure what a person can use.
    private func with<Result: Sendable>(
        _ adapter: DeviceAddress, _ body: (Database) throws(StorageError) -> Result
    ) throws(BondStorageError) -> Result {
        do throws(StorageError) {
            return try body(database(of: adapter))
        } catch {
            throw BondStorageError("\(error)")
        }
    }

    package func resolvingKey(
        of adapter: DeviceAddress, makeKey: () -> SecretKey
    ) throws(BondStorageError) -> SecretKey {
        let new = makeKey()
        return try with(adapter) { database throws(StorageError) in
            try database.write { connection throws(StorageError) in
                if let row = try connection.rows("SELECT resolving_key FROM adapter").first {
                    return try row.key(0)
                }
                try connection.run("INSERT INTO adapter VALUES (?)", .blob(new.wire))
                return new
            }
        }
    }

    package func bonds(of adapter: DeviceAddress) throws(BondStorageError) -> [BondRecord] {
        try with(adapter) { database throws(StorageError) in
            try database.read { connection throws(StorageError) in
                var records: [BondRecord] = []
                let rows = try connection.rows(
                    """
                    SELECT number, address, kind, peer_address, peer_kind, name, resolving_key,
                        local_key, local_diversifier, local_random, peer_key, peer_diversifier, peer_random,
                        local_signing_key, peer_signing_key, local_sign_counter, peer_sign_counter,
                        is_authenticated, is_secure_connections, key_size, client_features, known_database,
                        remote_database
                    FROM bond ORDER BY number
                    """)
                for row in rows {
                    var record = try row.record()
                    record.subscriptions = try Self.subscriptions(row.integer(0), connection)
                    records.append(record)
                }
                return records
            }
        }
    }

    private static func subscriptions(
        _ bond: Int64, _ connection: Connection
    ) throws(StorageError) -> [BondRecord.Subscription] {
        let rows = try connection.rows(
            "SELECT handle, uuid, kind FROM subscription WHERE bond = ? ORDER BY handle", .integer(bond))
        var subscriptions: [BondRecord.Subscription] = []
        for row in rows {
            guard let uuid = BluetoothUUID(octets: try row.blob(1)[...]) else { continue }
            subscriptions.append(
                BondRecord.Subscription(
                    handle: try row.integer(0, as: UInt16.self), uuid: uuid, kind: try row.integer(2, as: UInt16.self)))
        }
        return subscriptions
    }

    package func save(_ record: BondRecord, of adapter: DeviceAddress) throws(BondStorageError) {
        let bond = record.bond
        try with(adapter) { database throws(StorageError) in
            try database.write { connection throws(StorageError) in
                // An update in place, so that the oldest bond stays the first.
                try connection.run(
                    """
                    INSERT INTO bond (address, kind, peer_address, peer_kind, name, resolving_key,
                        local_key, local_diversifier, local_random, peer_key, peer_diversifier, peer_random,
                        local_signing_key, peer_signing_key, local_sign_counter, peer_sign_counter,
                        is_authenticated, is_secure_connections, key_size, client_features, known_database,
                        remote_database)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (address, kind) DO UPDATE SET
                        peer_address = excluded.peer_address, peer_kind = excluded.peer_kind, name = excluded.name,
                        resolving_key = excluded.resolving_key, local_key = excluded.local_key,
                        local_diversifier = excluded.local_diversifier, local_random = excluded.local_random,
                        peer_key = excluded.peer_key, peer_diversifier = excluded.peer_diversifier,
                        peer_random = excluded.peer_random, local_signing_key = excluded.local_signing_key,
                        peer_signing_key = excluded.peer_signing_key,
                        local_sign_counter = excluded.local_sign_counter,
                        peer_sign_counter = excluded.peer_sign_counter,
                        is_authenticated = excluded.is_authenticated,
                        is_secure_connections = excluded.is_secure_connections, key_size = excluded.key_size,
                        client_features = excluded.client_features, known_database = excluded.known_database,
                        remote_database = excluded.remote_database
                    """,
                    .integer(Int64(bond.address.value)), .integer(Int64(bond.address.kind.rawValue)),
                    .integer(Int64(record.peer.address.value)), .integer(Int64(record.peer.address.kind.rawValue)),
                    .optional(record.name), .optional(bond.resolvingKey?.wire),
                    .optional(bond.localKey?.key.wire), .optional(bond.localKey?.diversifier),
                    .optional(bond.localKey?.random), .optional(bond.peerKey?.key.wire),
                    .optional(bond.peerKey?.diversifier), .optional(bond.peerKey?.random),
                    .optional(bond.localSigningKey?.wire), .optional(bond.peerSigningKey?.wire),
                    .integer(Int64(record.localSignCounter)), .integer(Int64(record.peerSignCounter)),
                    .integer(bond.security.isAuthenticated ? 1 : 0),
                    .integer(bond.security.isSecureConnections ? 1 : 0), .integer(Int64(bond.security.keySize)),
                    .integer(Int64(record.clientFeatures)), .optional(record.knownDatabase),
                    .optional(record.remoteDatabase))
                let number = try connection.rows(
                    "SELECT number FROM bond WHERE address = ? AND kind = ?", .integer(Int64(bond.address.value)),
                    .integer(Int64(bond.address.kind.rawValue)))[0].integer(0)
                try connection.run("DELETE FROM subscription WHERE bond = ?", .integer(number))
                for subscription in record.subscriptions {
                    try connection.run(
                        "INSERT INTO subscription VALUES (?, ?, ?, ?)", .integer(number),
                        .integer(Int64(subscription.handle)), .blob(subscription.uuid.octets),
                        .integer(Int64(subscription.kind)))
                }
            }
        }
    }

    package func remove(_ identity: DeviceAddress, of adapter: DeviceAddress) throws(BondStorageError) {
        try with(adapter) { database throws(StorageError) in
            try database.write { connection throws(StorageError) in
                try connection.run(
                    "DELETE FROM bond WHERE address = ? AND kind = ?", .integer(Int64(identity.value)),
                    .integer(Int64(identity.kind.rawValue)))
            }
        }
    }
}

extension ColumnValue {
    /// The integer's bits, or null.
    fileprivate static func optional(_ value: (some FixedWidthInteger)?) -> ColumnValue {
        value.map { .integer(Int64(truncatingIfNeeded: $0)) } ?? .null
    }
}

extension Row {
    fileprivate func record() throws(StorageError) -> BondRecord {
        let size = try integer(19, as: Int.self)
        guard (7...16).contains(size) else { throw damaged("a key of \(size) octets") }
        var bond = Bond(
            address: try address(1),
            security: LinkSecurity(
                isAuthenticated: try integer(17) != 0, isSecureConnections: try integer(18) != 0, keySize: size))
        bond.resolvingKey = try optionalKey(6)
        bond.localKey = try longTermKey(7)
        bond.peerKey = try longTermKey(10)
        bond.localSigningKey = try optionalKey(13)
        bond.peerSigningKey = try optionalKey(14)
        var record = BondRecord(bond: bond, peer: PeerID(try address(3)), name: try optionalText(5))
        record.localSignCounter = try integer(15, as: UInt32.self)
        record.peerSignCounter = try integer(16, as: UInt32.self)
        record.clientFeatures = try integer(20, as: UInt8.self)
        record.knownDatabase = try optionalBlob(21)
        record.remoteDatabase = try optionalBlob(22)
        return record
    }

    private func damaged(_ reason: String) -> StorageError { .damaged(path: "the store of bonds", reason: reason) }

    private func address(_ column: Int) throws(StorageError) -> DeviceAddress {
        let value = try integer(column, as: UInt64.self)
        guard value >> 48 == 0, let kind = DeviceAddress.Kind(rawValue: try integer(column + 1, as: UInt8.self)) else {
            throw damaged("an address of more than 48 bits, or of an unknown kind")
        }
        return DeviceAddress(value, kind: kind)
    }

    fileprivate func key(_ column: Int) throws(StorageError) -> SecretKey {
        guard let key = SecretKey(wire: try blob(column)) else { throw damaged("a key that has not 16 octets") }
        return key
    }

    private func optionalKey(_ column: Int) throws(StorageError) -> SecretKey? {
        if case .null = values[column] { return nil }
        return try key(column)
    }

    private func longTermKey(_ column: Int) throws(StorageError) -> LongTermKey? {
        guard let key = try optionalKey(column) else { return nil }
        return LongTermKey(
            key, diversifier: try integer(column + 1, as: UInt16.self),
            random: UInt64(bitPattern: try integer(column + 2)))
    }
}
