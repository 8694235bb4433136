import BluetoothCrypto
package import BluetoothTypes
package import Foundation
package import HostInterface
import Storage
import Synchronization

/// What a user's adapters know of peers beyond the run of a program: by which identifiers they are known, and the
/// names that were read from them.
///
/// It is read once and written through, so that a kill at any moment loses nothing that a program was told. What
/// other processes learn meanwhile is found at the next start.
package final class PeerDirectory: Sendable {
    static let schema = Schema(
        name: "peers",
        steps: [
            [
                """
                CREATE TABLE peer (
                    adapter BLOB NOT NULL, address BLOB NOT NULL, name TEXT, met INTEGER NOT NULL,
                    PRIMARY KEY (adapter, address)
                ) STRICT, WITHOUT ROWID
                """
            ]
        ])

    /// Peers may come with a new address each time; not more than this many are remembered.
    private static let capacity = 4096
    /// The longest GAP Device Name, in octets of UTF-8 (Core 6.0, Vol 3, Part C, 12.1).
    private static let longestName = 248

    fileprivate struct Entry: Sendable {
        var name: String?
        /// The number of the meeting, by which the oldest ones are forgotten.
        var met: Int64
    }

    fileprivate struct Key: Hashable, Sendable {
        var adapter: DeviceAddress
        var peer: PeerID
    }

    fileprivate struct Contents {
        var entries: [Key: Entry]
        /// By adapter and identifier: what is asked for.
        var peers: [DeviceAddress: [UUID: PeerID]] = [:]
        var lastMeeting: Int64
    }

    private let database: KeptDatabase
    private let contents = Mutex<Contents?>(nil)

    init(_ database: KeptDatabase) { self.database = database }

    // MARK: Asking

    /// The peer that `adapter` knows by an identifier.
    package func peer(_ identifier: UUID, of adapter: DeviceAddress) -> PeerID? {
        withContents { contents in contents.peers[adapter]?[identifier] }
    }

    /// The GAP Device Name that was last read from a peer.
    package func name(of peer: PeerID, at adapter: DeviceAddress) -> String? {
        withContents { contents in contents.entries[Key(adapter: adapter, peer: peer)]?.name }
    }

    // MARK: Learning

    /// Remembers a peer that a program was told of.
    package func met(_ peer: PeerID, at adapter: DeviceAddress) { remember(peer, at: adapter) { _ in } }

    /// Remembers the name that was read from a peer.
    package func named(_ peer: PeerID, _ name: String, at adapter: DeviceAddress) {
        guard name.utf8.count <= Self.longestName else { return }
        remember(peer, at: adapter) { $0.name = name }
    }

    private func remember(_ peer: PeerID, at adapter: DeviceAddress, _ change: (inout Entry) -> Void) {
        let key = Key(adapter: adapter, peer: peer)
        withContents { contents in
            let old = contents.entries[key]
            var entry = old ?? Entry(met: contents.lastMeeting + 1)
            change(&entry)
            guard old == nil || entry.name != old?.name else { return }
            contents.lastMeeting = max(contents.lastMeeting, entry.met)
            contents.insert(key, entry)
            let forgotten = contents.makeRoom(Self.capacity)
            _ = database.attempt { database throws(StorageError) in
                try database.write { connection throws(StorageError) in
                    try connection.run(
                        """
                        INSERT INTO peer VALUES (?, ?, ?, ?)
                        ON CONFLICT DO UPDATE SET name = excluded.name, met = excluded.met
                        """,
                        .blob(key.adapter.stored), .blob(key.peer.address.stored), .optional(entry.name),
                        .integer(entry.met))
                    for key in forgotten {
                        try connection.run(
                            "DELETE FROM peer WHERE adapter = ? AND address = ?", .blob(key.adapter.stored),
                            .blob(key.peer.address.stored))
                    }
                }
            }
        }
    }

    private func withContents<Result: Sendable>(_ body: (inout Contents) -> Result) -> Result {
        contents.withLock { contents in
            var known = contents ?? read()
            // Taken out, so that it is changed in its place.
            contents = nil
            defer { contents = known }
            return body(&known)
        }
    }

    private func read() -> Contents {
        let rows =
            database.attempt { database throws(StorageError) -> [(Key, Entry)] in
                try database.read { connection throws(StorageError) -> [(Key, Entry)] in
                    var rows: [(Key, Entry)] = []
                    for row in try connection.rows("SELECT adapter, address, name, met FROM peer") {
                        let name = try row.optionalText(2)
                        // A row that we would not have written is not one of ours.
                        guard let adapter = DeviceAddress(stored: try row.blob(0)),
                            let address = DeviceAddress(stored: try row.blob(1)),
                            name?.utf8.count ?? 0 <= Self.longestName
                        else { continue }
                        let key = Key(adapter: adapter, peer: PeerID(address))
                        rows.append((key, Entry(name: name, met: try row.integer(3))))
                    }
                    return rows
                }
            } ?? []
        let newest = rows.map(\.1.met).max() ?? 0
        var contents = Contents(entries: [:], lastMeeting: newest < Int64.max / 2 ? newest : 0)
        for (key, entry) in rows { contents.insert(key, entry) }
        _ = contents.makeRoom(Self.capacity)
        return contents
    }
}

extension PeerDirectory.Contents {
    fileprivate mutating func insert(_ key: PeerDirectory.Key, _ entry: PeerDirectory.Entry) {
        entries[key] = entry
        peers[key.adapter, default: [:]][UUID(peer: key.peer, seenBy: key.adapter)] = key.peer
    }

    /// Forgets those met longest ago, and those first that no program ever connected to.
    ///
    /// - Returns: whom.
    fileprivate mutating func makeRoom(_ capacity: Int) -> [PeerDirectory.Key] {
        guard entries.count > capacity else { return [] }
        // A sixteenth more than needed, so that it is not to be done at each new peer.
        let order = entries.sorted { left, right in
            (left.value.name == nil ? 0 : 1, left.value.met, left.key.peer)
                < (right.value.name == nil ? 0 : 1, right.value.met, right.key.peer)
        }
        let forgotten = order.prefix(entries.count - capacity + capacity / 16).map(\.key)
        for key in forgotten {
            entries[key] = nil
            peers[key.adapter]?[UUID(peer: key.peer, seenBy: key.adapter)] = nil
        }
        return forgotten
    }
}

extension DeviceAddress {
    /// Seven octets: the kind, then the address.
    fileprivate var stored: [UInt8] { [kind.rawValue] + octets }

    fileprivate init?(stored octets: [UInt8]) {
        guard octets.count == 7, let kind = Kind(rawValue: octets[0]) else { return nil }
        self.init(octets.dropFirst().reversed().reduce(0) { $0 << 8 | UInt64($1) }, kind: kind)
    }
}

extension UUID {
    /// How a host calls a peer: the same at each meeting, another on each host. It is made of both addresses as RFC
    /// 9562, 5.5, makes a UUID of a name.
    package init(peer: PeerID, seenBy adapter: DeviceAddress) {
        var name = peerNamespace
        name.reserveCapacity(peerNamespace.count + 14)
        for address in [adapter, peer.address] {
            for place in 0..<6 { name.append(UInt8(truncatingIfNeeded: address.value >> (8 * UInt64(place)))) }
            name.append(address.kind.rawValue)
        }
        var octets = sha1(name)
        octets[6] = octets[6] & 0x0F | 0x50
        octets[8] = octets[8] & 0x3F | 0x80
        self = unsafe octets.withUnsafeBytes { unsafe UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// The name space of peers, drawn at random once: 6f1bcf0e-54d1-4d0b-9a5c-0d6f2f6bb0a7.
private let peerNamespace: [UInt8] = [
    0x6F, 0x1B, 0xCF, 0x0E, 0x54, 0xD1, 0x4D, 0x0B, 0x9A, 0x5C, 0x0D, 0x6F, 0x2F, 0x6B, 0xB0, 0xA7,
]
