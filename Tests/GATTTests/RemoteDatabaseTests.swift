import ATT
import BluetoothTypes
import ByteCodec
import EventLoop
import GATT
import ProtocolTestKit
import Testing

/// A client and a server of ours that talk to each other.
private struct Pair {
    var client = ServedBearer()
    var server: ServedBearer
    /// What the client has sent.
    var sent: [[UInt8]] = []
    private var lastID: UInt64 = 0

    init(_ database: AttributeDatabase) { server = ServedBearer(database) }

    mutating func run(_ procedure: GATTProcedure) -> Result<GATTAnswer, GATTFailure>? {
        lastID += 1
        return play(client.handle(.submit(id: lastID, procedure), at: Instant()))
    }

    mutating func play(_ first: [GATTEffect]) -> Result<GATTAnswer, GATTFailure>? {
        var effects = first
        var result: Result<GATTAnswer, GATTFailure>?
        while !effects.isEmpty {
            switch effects.removeFirst() {
            case .send(let pdu, _):
                sent.append(pdu)
                for case .send(let answer, _) in server.handle(.receive(pdu[...]), at: Instant()) {
                    effects += client.handle(.receive(answer[...]), at: Instant())
                }
            case .finish(_, let outcome): result = outcome
            default: break
            }
        }
        return result
    }

    /// The next link to the same server.
    mutating func reconnect(keeping database: RemoteDatabase) {
        client = ServedBearer()
        server = ServedBearer(server.database)
        _ = client.handle(.restoreDatabase(database), at: Instant())
        sent = []
    }

    /// Everything that can be found out.
    mutating func explore() -> [GATTAnswer] {
        var found: [GATTAnswer] = []
        guard case .success(.services(let services)) = run(.discoverPrimaryServices(only: nil)) else { return [] }
        found.append(.services(services))
        for service in services {
            if case .success(let includes) = run(.findIncludedServices(service.handles)) { found.append(includes) }
            guard case .success(.characteristics(let list)) = run(.discoverCharacteristics(service.handles)) else {
                continue
            }
            found.append(.characteristics(list))
            for characteristic in list {
                if case .success(let answer) = run(.discoverDescriptors(characteristic)) { found.append(answer) }
            }
        }
        return found
    }
}

private func lock(withHash: Bool = true) throws -> AttributeDatabase {
    var database = AttributeDatabase.standard(deviceName: "Lock")
    if !withHash {
        // Generic Attribute as servers before Core 5.1 have it.
        let old = database.attributes.filter { $0.handle <= 9 }.map { attribute in
            var attribute = attribute
            if attribute.handle == 6 { attribute.groupEnd = 9 }
            return attribute
        }
        database = try AttributeDatabase(attributes: old)
    }
    let battery = try database.add(GATTServiceDefinition(uuid: .uuid16(0x180F), isPrimary: false))
    let characteristic = GATTCharacteristicDefinition(
        uuid: .uuid128(77), properties: [.read, .notify], permissions: .readable, value: [0x64])
    _ = try database.add(
        GATTServiceDefinition(
            uuid: .uuid16(0xFFF0), includedServices: [battery.handles.lowerBound],
            characteristics: [characteristic, characteristic]))
    return database
}

@Suite("What a client keeps of a peer's attributes — Core 6.0, Vol 3, Part G, 2.5.2")
struct RemoteDatabaseTests {
    @Test("GATT/CL/GAS/BV-02-C: the hash is read, and while it is the same nothing is asked again")
    func sameHash() throws {
        var pair = Pair(try lock())
        _ = pair.run(.readDatabaseHash)
        #expect(pair.sent == [hex("08 01 00 FF FF 2A 2B")])
        let found = pair.explore()
        #expect(found.count == 14)
        let kept = pair.client.bearer.remoteDatabase
        #expect(kept.hash == pair.server.database.hash && kept.canBeKept)
        #expect(try RemoteDatabase(octets: kept.octets) == kept)

        pair.reconnect(keeping: try RemoteDatabase(octets: kept.octets))
        _ = pair.run(.readDatabaseHash)
        #expect(pair.explore() == found)
        let only = pair.run(.discoverPrimaryServices(only: [.uuid16(0xFFF0)]))
        guard case .success(.services(let services)) = only else { Issue.record("\(only as Any)"); return }
        #expect(services.map(\.uuid) == [.uuid16(0xFFF0)])
        #expect(pair.sent.count == 1)
    }

    @Test("Another hash: all is asked again")
    func otherHash() throws {
        var pair = Pair(try lock())
        _ = pair.run(.readDatabaseHash)
        let before = pair.explore()
        let count = pair.sent.count
        let kept = pair.client.bearer.remoteDatabase
        _ = try pair.server.database.add(GATTServiceDefinition(uuid: .uuid16(0xFFA0)))
        pair.reconnect(keeping: kept)
        _ = pair.run(.readDatabaseHash)
        let after = pair.explore()
        #expect(after.count > before.count && pair.sent.count > count)
        #expect(pair.client.bearer.remoteDatabase.hash == pair.server.database.hash)
    }

    @Test("A peer that had a hash and has none now: all is asked again")
    func noHashAnyMore() throws {
        var pair = Pair(try lock())
        _ = pair.run(.readDatabaseHash)
        _ = pair.explore()
        let kept = pair.client.bearer.remoteDatabase
        pair.server.database = try lock(withHash: false)
        pair.reconnect(keeping: kept)
        #expect(pair.run(.readDatabaseHash) == .success(.value([])))
        _ = pair.explore()
        #expect(pair.sent.count > 5)
    }

    @Test("Without a hash, what is known counts because Service Changed would tell; without either nothing is kept")
    func withoutHash() throws {
        var pair = Pair(try lock(withHash: false))
        #expect(pair.run(.readDatabaseHash) == .success(.value([])))
        let found = pair.explore()
        let kept = pair.client.bearer.remoteDatabase
        #expect(kept.hash == nil && kept.canBeKept)
        pair.reconnect(keeping: kept)
        #expect(pair.explore() == found)
        #expect(pair.sent.isEmpty)
        // Service Changed says the more.
        let effects = pair.client.handle(.receive(hex("1D 08 00 0A 00 FF FF")[...]), at: Instant())
        #expect(effects == [.send([0x1E]), .servicesChanged(0x0A...0xFFFF)])
        _ = pair.run(.discoverCharacteristics(6...9))
        #expect(pair.sent.isEmpty)
        _ = pair.run(.discoverPrimaryServices(only: nil))
        #expect(!pair.sent.isEmpty)

        var bare = Pair(
            try AttributeDatabase(attributes: [
                GATTAttribute(
                    handle: 1, type: .uuid16(0x2800), permissions: .readable, content: .stored([0xF0, 0xFF]))
            ]))
        _ = bare.explore()
        #expect(!bare.client.bearer.remoteDatabase.canBeKept && !bare.client.bearer.remoteDatabase.isEmpty)
    }

    @Test("Database Out Of Sync of a peer that tells nothing by itself: what is known is forgotten")
    func outOfSync() throws {
        var pair = Pair(try lock())
        _ = pair.run(.readDatabaseHash)
        _ = pair.explore()
        var effects = pair.client.handle(.submit(id: 100, .read(3)), at: Instant())
        #expect(effects == [.send(hex("0A 03 00"))])
        effects = pair.client.handle(.receive(hex("01 0A 00 00 12")[...]), at: Instant())
        #expect(
            effects == [
                .servicesChanged(0x0001...0xFFFF), .finish(id: 100, .failure(.refused(.databaseOutOfSync))),
            ])
        #expect(pair.client.bearer.remoteDatabase.isEmpty)
    }

    @Test("A hash that is none is an illegal answer")
    func illegalHash() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .readDatabaseHash)
            client.expectSent("08 01 00 FF FF 2A 2B")
            client.receive("09 06 0D 00 01 02 03 04")
            client.fail(1, .illegalAnswer("a Database Hash of 4 octets"))
        }
    }

    @Test("What was kept and is damaged is refused, or is what it says: it can be written down again")
    func damaged() throws {
        var pair = Pair(try lock())
        _ = pair.run(.readDatabaseHash)
        _ = pair.explore()
        let octets = pair.client.bearer.remoteDatabase.octets
        for index in octets.indices.dropFirst(17) {
            var changed = octets
            changed[index] ^= 0xFF
            guard let database = try? RemoteDatabase(octets: changed) else { continue }
            #expect(try RemoteDatabase(octets: database.octets) == database)
        }
        #expect(throws: PacketError.self) { try RemoteDatabase(octets: Array(octets.dropLast())) }
        // An item that no question stands before.
        #expect(throws: PacketError.self) { try RemoteDatabase(octets: hex("00 80 01 00 02 00 00 00 00 02 F0 FF")) }
    }
}
