import ATT
import BluetoothTypes
import EventLoop
import GATT
import ProtocolTestKit
import Testing

/// Handles: 1...5 Generic Access; 6 Generic Attribute, 7, 8 Service Changed, 9 its configuration, 10, 11 Client
/// Supported Features, 12, 13 Database Hash; 14 service, 15, 16 a value that is kept, 17 its configuration.
private func served() throws -> ServedBearer {
    var database = AttributeDatabase.standard(deviceName: "Lock")
    let characteristic = GATTCharacteristicDefinition(
        uuid: .uuid16(0xFFF1), properties: [.read, .write, .notify, .indicate], permissions: [.readable, .writeable],
        value: [0x64])
    let placement = try database.add(
        GATTServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [characteristic]))
    #expect(placement.characteristics == [16])
    return ServedBearer(database)
}

@Suite("Database Hash and robust caching of a server — Core 6.0, Vol 3, Part G, 2.5.2.1 and 7")
struct RobustCachingTests {
    /// The database and its hash of Core 6.0, Vol 3, Part G, Appendix B.
    @Test("GATT/SR/GAS/BV-02-C: the database hash is the specification's, and goes least significant octet first")
    func hashOfTheSpecification() throws {
        func stored(_ handle: UInt16, _ type: UInt16, _ value: String) -> GATTAttribute {
            GATTAttribute(handle: handle, type: .uuid16(type), permissions: .readable, content: .stored(hex(value)))
        }
        let database = try AttributeDatabase(attributes: [
            stored(0x01, 0x2800, "00 18"), stored(0x02, 0x2803, "0A 03 00 00 2A"), stored(0x03, 0x2A00, "41"),
            stored(0x04, 0x2803, "02 05 00 01 2A"), stored(0x05, 0x2A01, "00 00"), stored(0x06, 0x2800, "01 18"),
            stored(0x07, 0x2803, "20 08 00 05 2A"), stored(0x08, 0x2A05, ""), stored(0x09, 0x2902, "00 00"),
            stored(0x0A, 0x2803, "0A 0B 00 29 2B"), stored(0x0B, 0x2B29, "00"),
            stored(0x0C, 0x2803, "02 0D 00 2A 2B"), stored(0x0D, 0x2B2A, ""), stored(0x0E, 0x2800, "08 18"),
            stored(0x0F, 0x2802, "14 00 16 00 0F 18"), stored(0x10, 0x2803, "A2 11 00 18 2A"),
            stored(0x11, 0x2A18, "01 02"), stored(0x12, 0x2902, "02 00"), stored(0x13, 0x2900, "00 00"),
            stored(0x14, 0x2801, "0F 18"), stored(0x15, 0x2803, "02 16 00 19 2A"), stored(0x16, 0x2A19, "64"),
        ])
        #expect(database.hash.reversed() == hex("F1 CA 2D 48 EC F5 8B AC 8A 88 30 BB B9 FB A9 90"))
    }

    @Test("The hash is read as the database is now, and follows its structure alone")
    func hashFollows() throws {
        var server = try served()
        let hash = server.database.hash
        let answer = server.handle(.receive(hex("08 01 00 FF FF 2A 2B")[...]), at: Instant())
        #expect(answer == [.send(hex("09 12 0D 00") + hash)])
        server.database.store([1, 2, 3], at: 16)
        #expect(server.database.hash == hash)
        let definition = GATTServiceDefinition(uuid: .uuid16(0xFFF8), characteristics: [])
        let placement = try server.database.add(definition)
        #expect(server.database.hash != hash)
        server.database.removeService(at: placement.handles.lowerBound)
        #expect(server.database.hash == hash)
        #expect(server.handle(.receive(hex("12 0D 00 00")[...]), at: Instant()) == [.send(hex("01 12 0D 00 03"))])
    }

    @Test("GATT/SR/GAS/BV-03-C: client supported features are the client's own; no bit goes once it is set")
    func features() throws {
        Scene.play(try served()) { server in
            server.exchange("0A 0B 00", "0B 00")
            server.exchange("12 0B 00 05", "13")
            server.expect(.clientChanged)
            server.exchange("0A 0B 00", "0B 05")
            server.exchange("12 0B 00 01", "01 12 0B 00 13")
            server.exchange("12 0B 00", "01 12 0B 00 0D")
            // Reserved bits, and octets of a longer list, are nothing that this server keeps.
            server.exchange("12 0B 00 F7 FF", "13")
            server.expect(.clientChanged)
            server.exchange("0A 0B 00", "0B 07")
        }
        Scene.play(try served()) { server in server.exchange("0A 0B 00", "0B 00") }
    }

    @Test("GATT/SR/GAS/BV-04-C: those of a bonded client are there again")
    func restoredFeatures() throws {
        Scene.play(try served()) { server in
            server.input(.restoreClient(GATTClientStatus(features: .robustCaching, isAware: true)), #_sourceLocation)
            server.expect(.clientChanged)
            server.exchange("0A 0B 00", "0B 01")
            server.exchange("0A 10 00", "0B 64")
        }
    }

    @Test(
        "GATT/SR/GAS/BV-05-C, GATT/SR/GAS/BV-08-C, GATT/SR/GAW/BI-41-C: a client unaware of a change is told so, once",
        arguments: [
            "0A 10 00", "0C 10 00 00 00", "0E 10 00 03 00", "20 10 00 03 00", "12 10 00 01", "16 10 00 00 00 01",
            "08 01 00 FE FF F1 FF",
        ])
    func outOfSync(request: String) throws {
        Scene.play(try served()) { server in
            server.changes()
            server.exchange(request, "01 \(request.prefix(2)) 00 00 12")
            // By asking again it says that it has understood.
            server.exchange("0A 10 00", "0B 64")
            server.expect(.clientChanged)
        }
    }

    @Test("What finds out about the database is answered also to a client that is not aware; its commands are not done")
    func searches() throws {
        Scene.play(try served()) { server in
            server.changes()
            server.exchange("02 17 00", "03 05 02")
            server.exchange("10 0E 00 FF FF 00 28", "11 06 0E 00 11 00 F0 FF")
            server.exchange("06 01 00 FF FF 00 28 F0 FF", "07 0E 00 11 00")
            server.exchange("08 0E 00 11 00 03 28", "09 07 0F 00 3A 10 00 F1 FF")
            server.exchange("08 0E 00 11 00 02 28", "01 08 0E 00 0A")
            server.exchange("04 11 00 11 00", "05 01 11 00 02 29")
            server.exchange("18 00", "19")
            server.receive("52 10 00 07")
            server.exchange("0A 10 00", "01 0A 00 00 12")
            server.exchange("0A 10 00", "0B 64")
            server.expect(.clientChanged)
            server.receive("52 10 00 07")
            server.exchange("0A 10 00", "0B 07")
        }
    }

    @Test(
        "GATT/SR/GAS/BV-06-C, GATT/SR/GAS/BV-07-C: aware by the hash, once something is asked after it",
        arguments: [true, false])
    func awareByHash(isHere: Bool) throws {
        let machine = try served()
        let hash = machine.database.hash
        Scene.play(machine) { server in
            if isHere {
                server.changes()
            } else {
                let status = GATTClientStatus(features: .robustCaching, isAware: false)
                server.input(.restoreClient(status), #_sourceLocation)
                server.expect(.clientChanged)
            }
            server.receive("08 01 00 FF FF 2A 2B")
            server.expect(.send(hex("09 12 0D 00") + hash))
            server.exchange("0A 10 00", "0B 64")
            server.expect(.clientChanged)
        }
    }

    @Test("GATT/SR/GAS/BV-01-C, GATT/SR/GAS/BV-06-C: aware by the confirmation of Service Changed")
    func awareByIndication() throws {
        Scene.play(try served()) { server in
            server.exchange("12 09 00 02 00", "13")
            server.expect(.subscribed(handle: 8, .indications))
            server.exchange("12 0B 00 01", "13")
            server.expect(.clientChanged)
            server.input(.databaseChanged(id: 7, 0x20...0x2F), #_sourceLocation)
            server.expectSent("1D 08 00 20 00 2F 00")
            server.expect(.clientChanged)
            server.receive("1E")
            server.finish(7, .done)
            server.expect(.clientChanged)
            server.exchange("0A 10 00", "0B 64")
        }
    }

    @Test("A change while another is being told: the client is aware when it has confirmed both")
    func twoChanges() throws {
        Scene.play(try served()) { server in
            server.exchange("12 09 00 02 00", "13")
            server.expect(.subscribed(handle: 8, .indications))
            server.exchange("12 0B 00 01", "13")
            server.expect(.clientChanged)
            server.input(.databaseChanged(id: 7, 0x20...0x2F), #_sourceLocation)
            server.expectSent("1D 08 00 20 00 2F 00")
            server.expect(.clientChanged)
            server.input(.databaseChanged(id: 8, 0x30...0x3F), #_sourceLocation)
            server.receive("1E")
            server.finish(7, .done)
            server.expectSent("1D 08 00 30 00 3F 00")
            server.exchange("0A 10 00", "01 0A 00 00 12")
            server.receive("1E")
            server.finish(8, .done)
            server.expect(.clientChanged)
            server.exchange("0A 10 00", "0B 64")
        }
    }

    @Test("A client that is not aware is told no values before it has confirmed the change, and then those that waited")
    func values() throws {
        Scene.play(try served()) { server in
            server.exchange("12 09 00 02 00", "13")
            server.expect(.subscribed(handle: 8, .indications))
            server.exchange("12 0B 00 01", "13")
            server.expect(.clientChanged)
            server.input(.databaseChanged(id: 7, 0x20...0x2F), #_sourceLocation)
            server.expectSent("1D 08 00 20 00 2F 00")
            server.expect(.clientChanged)
            server.input(.notify(id: 1, handle: 16, value: [1]), #_sourceLocation)
            server.input(.notify(id: 2, handle: 16, value: [2]), #_sourceLocation)
            server.input(.indicate(id: 3, handle: 16, value: [3]), #_sourceLocation)
            server.receive("1E")
            server.finish(7, .done)
            server.expectSent("1D 10 00 03")
            server.expect(.clientChanged)
            server.expect(.sendUnanswered(hex("1B 10 00 01"), id: 1))
            server.expect(.sendUnanswered(hex("1B 10 00 02"), id: 2))
        }
        // One that nobody can tell gets none, and nothing waits for it.
        Scene.play(try served()) { server in
            server.changes()
            server.input(.notify(id: 1, handle: 16, value: [1]), #_sourceLocation)
            server.fail(1, .refused(.databaseOutOfSync))
            server.input(.indicate(id: 2, handle: 16, value: [1]), #_sourceLocation)
            server.fail(2, .refused(.databaseOutOfSync))
        }
    }

    @Test("GATT/SR/GAN/BV-02-C: values that have waited go in one notification, if the client can take that")
    func valuesTogether() throws {
        Scene.play(try served()) { server in
            server.exchange("12 09 00 02 00", "13")
            server.expect(.subscribed(handle: 8, .indications))
            server.exchange("12 0B 00 05", "13")
            server.expect(.clientChanged)
            server.input(.databaseChanged(id: 7, 0x20...0x2F), #_sourceLocation)
            server.expectSent("1D 08 00 20 00 2F 00")
            server.expect(.clientChanged)
            for (id, value) in [(1, [1]), (2, [2, 2]), (3, Array(repeating: 3, count: 8))] as [(UInt64, [UInt8])] {
                server.input(.notify(id: id, handle: 16, value: value), #_sourceLocation)
            }
            server.input(.notify(id: 4, handle: 16, value: Array(repeating: 4, count: 19)), #_sourceLocation)
            server.receive("1E")
            server.finish(7, .done)
            server.expect(.clientChanged)
            // 23 octets hold the first two; the third has its 12 octets left for itself alone, and so has the last.
            server.finish(1, .done)
            server.expect(.sendUnanswered(hex("23 10 00 01 00 01 10 00 02 00 02 02"), id: 2))
            server.expect(.sendUnanswered(hex("1B 10 00 03 03 03 03 03 03 03 03"), id: 3))
            server.expect(.sendUnanswered(hex("1B 10 00") + Array(repeating: 4, count: 19), id: 4))
        }
    }

    @Test("GATT/SR/GAW/BI-40-C: a signed write that is too long is ignored")
    func longSignedWrite() throws {
        var database = AttributeDatabase()
        let signed = GATTCharacteristicDefinition(
            uuid: .uuid16(0xFFF2), properties: .authenticatedSignedWrites, permissions: .writeable)
        _ = try database.add(GATTServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [signed]))
        var server = ServedBearer(database)
        let long = hex("D2 03 00") + Array(repeating: 1, count: 513)
        #expect(server.handle(.receiveSigned(long[...]), at: Instant()) == [])
        let fitting = server.handle(.receiveSigned(long.dropLast()), at: Instant())
        guard case .writeRequested(let request)? = fitting.first else {
            Issue.record("\(fitting)")
            return
        }
        #expect(request.parts.map(\.value.count) == [512] && !request.needsResponse)
    }

    @Test("What waits for a confirmation that does not come ends with the bearer")
    func noConfirmation() throws {
        Scene.play(try served()) { server in
            server.exchange("12 09 00 02 00", "13")
            server.expect(.subscribed(handle: 8, .indications))
            server.exchange("12 0B 00 01", "13")
            server.expect(.clientChanged)
            server.input(.databaseChanged(id: 7, 0x20...0x2F), #_sourceLocation)
            server.expectSent("1D 08 00 20 00 2F 00")
            server.expect(.clientChanged)
            server.input(.notify(id: 1, handle: 16, value: [1]), #_sourceLocation)
            server.wait(.seconds(30))
            server.fail(7, .timedOut)
            server.fail(1, .linkLost)
            server.expect(.unsubscribed(handle: 8))
            server.expect(.drop)
        }
    }

    @Test("A client that has not asked for robust caching is answered whatever changes")
    func withoutRobustCaching() throws {
        Scene.play(try served()) { server in
            server.input(.databaseChanged(id: 7, 0x20...0x2F), #_sourceLocation)
            server.finish(7, .done)
            server.expect(.clientChanged)
            server.exchange("0A 10 00", "0B 64")
            server.input(.notify(id: 1, handle: 16, value: [1]), #_sourceLocation)
            server.expect(.sendUnanswered(hex("1B 10 00 01"), id: 1))
        }
    }
}

extension Scene<ServedBearer> {
    /// The client asks for robust caching, and the database changes without its being told.
    fileprivate mutating func changes(at location: SourceLocation = #_sourceLocation) {
        exchange("12 0B 00 01", "13", at: location)
        expect(.clientChanged, sourceLocation: location)
        input(.databaseChanged(id: 7, 0x20...0x2F), location)
        finish(7, .done, at: location)
        expect(.clientChanged, sourceLocation: location)
    }
}
