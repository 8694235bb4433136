import BluetoothCrypto
import BluetoothTypes
import BondFiles
import Foundation
import Host
import HostInterface
import Storage
import Testing

@Suite("Bonds in files")
struct BondDatabaseTests {
    static let adapter = DeviceAddress(0x0200_0000_0001)

    /// A bond with something in each of its fields.
    static func record(_ number: UInt64, isSecure: Bool = true) -> BondRecord {
        var bond = Bond(
            address: DeviceAddress(0xC000_0000_0000 | number, kind: .random),
            security: LinkSecurity(isAuthenticated: true, isSecureConnections: isSecure, keySize: 16))
        let key = UInt128(number) << 64 | 0x8899_AABB_CCDD_EEFF
        bond.resolvingKey = SecretKey(key ^ 1)
        bond.localKey =
            isSecure ? LongTermKey(SecretKey(key)) : LongTermKey(SecretKey(key), diversifier: 7, random: .max)
        bond.peerKey =
            isSecure ? LongTermKey(SecretKey(key)) : LongTermKey(SecretKey(key ^ 2), diversifier: 0xFFFF, random: 9)
        bond.localSigningKey = SecretKey(key ^ 3)
        bond.peerSigningKey = SecretKey(key ^ 4)
        var record = BondRecord(bond: bond, peer: PeerID(DeviceAddress(0x4000_0000_0000 | number, kind: .random)))
        record.name = "Lock \(number)"
        record.localSignCounter = 3
        record.peerSignCounter = .max
        record.clientFeatures = 5
        record.knownDatabase = Array(0..<16)
        record.remoteDatabase = [1, 2, 3]
        record.subscriptions = [
            .init(handle: 0x0012, uuid: .uuid16(0xFFF1), kind: 1), .init(handle: 0x0015, uuid: .uuid128(77), kind: 2),
        ]
        return record
    }

    /// A folder of the test's own.
    private func withFolder(_ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "bonds-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test("What has been saved is there for the next process, in the order of pairing, whatever becomes of this one")
    func lasts() throws {
        try withFolder { path in
            let first = BondDatabase(in: StateDirectory(path: path))
            let key = try first.resolvingKey(of: Self.adapter) { SecretKey(42) }
            try first.save(Self.record(1), of: Self.adapter)
            try first.save(Self.record(2, isSecure: false), of: Self.adapter)
            var changed = Self.record(1)
            changed.subscriptions = []
            changed.name = nil
            try first.save(changed, of: Self.adapter)
            // Nothing is closed: it might as well have been killed.
            let second = BondDatabase(in: StateDirectory(path: path))
            #expect(try second.bonds(of: Self.adapter) == [changed, Self.record(2, isSecure: false)])
            #expect(try second.resolvingKey(of: Self.adapter) { SecretKey(43) } == key)
            try second.remove(changed.identity, of: Self.adapter)
            #expect(try first.bonds(of: Self.adapter) == [Self.record(2, isSecure: false)])
        }
    }

    @Test("Each adapter has its own bonds, and nobody but the owner can read them")
    func adapters() throws {
        try withFolder { path in
            let bonds = BondDatabase(in: StateDirectory(path: path))
            let other = DeviceAddress(0x0200_0000_0002)
            try bonds.save(Self.record(1), of: Self.adapter)
            #expect(try bonds.bonds(of: other).isEmpty)
            #expect(try bonds.bonds(of: Self.adapter) == [Self.record(1)])
            for file in try FileManager.default.contentsOfDirectory(atPath: path) {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(file)")
                #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o077 } == 0, "\(file)")
            }
        }
    }

    @Test("A damaged file is set aside with a sentence, and new bonds are kept")
    func damaged() throws {
        try withFolder { path in
            try BondDatabase(in: StateDirectory(path: path)).save(Self.record(1), of: Self.adapter)
            let file = "\(path)/bonds-public-020000000001.sqlite"
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) }
            try Data(repeating: 0x55, count: 8192).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            var reports: [String] = []
            let bonds = BondDatabase(in: StateDirectory(path: path)) { reports.append($0) }
            #expect(try bonds.bonds(of: Self.adapter).isEmpty)
            #expect(reports.count == 1)
            try bonds.save(Self.record(2), of: Self.adapter)
            #expect(try bonds.bonds(of: Self.adapter) == [Self.record(2)])
        }
    }

    @Test("A place that cannot be used is told, and harms nobody")
    func unusable() throws {
        let bonds = BondDatabase(in: StateDirectory(path: "/proc/nowhere"))
        #expect(throws: BondStorageError.self) { try bonds.bonds(of: Self.adapter) }
        #expect(throws: BondStorageError.self) { try bonds.save(Self.record(1), of: Self.adapter) }
    }
}
