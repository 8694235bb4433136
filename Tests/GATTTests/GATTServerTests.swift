import ATT
import BluetoothTypes
import EventLoop
import GATT
import ProtocolTestKit
import Testing

/// Handles: 1 service; 2, 3 battery level, kept, 4 its configuration; 5, 6 control point, dynamic; 7, 8 and 9, 10 two
/// dynamic values of one type; 11, 12 readable when encrypted.
private func lock() throws -> AttributeDatabase {
    var database = AttributeDatabase()
    let dynamic = GATTCharacteristicDefinition(
        uuid: .uuid16(0xFF02), properties: .read, permissions: .readable)
    let placement = try database.add(
        GATTServiceDefinition(
            uuid: .uuid16(0xFF00),
            characteristics: [
                GATTCharacteristicDefinition(
                    uuid: .uuid16(0x2A19), properties: [.read, .write, .notify, .indicate],
                    permissions: [.readable, .writeable], value: [0x64]),
                GATTCharacteristicDefinition(
                    uuid: .uuid16(0xFF01), properties: [.read, .write, .writeWithoutResponse],
                    permissions: [.readable, .writeable]),
                dynamic, dynamic,
                GATTCharacteristicDefinition(
                    uuid: .uuid16(0xFF03), properties: .read, permissions: .readEncryptionRequired, value: [0x01]),
            ]))
    #expect(placement.handles == 1...12)
    #expect(placement.characteristics == [3, 6, 8, 10, 12])
    return database
}

@Suite("GATT server — Core 6.0, Vol 3, Part G, 4")
struct GATTServerTests {
    @Test("GATT/SR/GAC/BV-01-C: Exchange MTU; the answer still counts by the old one, and less than 23 is 23")
    func exchangeMTU() {
        Scene.play(ServedBearer()) { server in
            server.exchange("02 F7 00", "03 05 02")
            server.expect(.mtuChanged(247))
        }
        Scene.play(ServedBearer()) { server in server.exchange("02 05 00", "03 05 02") }
    }

    @Test(
        "GATT/SR/GAR/BV-01-C, GATT/SR/GAR/BI-45-C: a value that only the owner knows is asked for, and answered once"
    )
    func dynamicRead() throws {
        Scene.play(ServedBearer(try lock())) { server in
            server.receive("0A 06 00")
            server.expect(.readRequested(GATTReadRequest(id: 1, handle: 6, offset: 0)))
            server.receive("0A 03 00")  // Too early: it waits, for the protocol knows one request at a time.
            server.respond(1, [0xAA, 0xBB])
            server.expectSent("0B AA BB")
            server.expectSent("0B 64")
            server.respond(1, [0xCC])  // Too late.
            server.receive("0A 06 00")
            server.expect(.readRequested(GATTReadRequest(id: 2, handle: 6, offset: 0)))
            server.respond(2, error: .insufficientAuthorization)
            server.expectSent("01 0A 06 00 08")
        }
    }

    @Test("GATT/SR/GAR/BV-04-C: a long value that only the owner knows is asked for from each offset on")
    func dynamicLongRead() throws {
        Scene.play(ServedBearer(try lock())) { server in
            server.receive("0A 06 00")
            server.expect(.readRequested(GATTReadRequest(id: 1, handle: 6, offset: 0)))
            server.respond(1, Array(0..<30))
            server.expect(.send([0x0B] + Array(0..<22)))
            server.receive("0C 06 00 16 00")
            server.expect(.readRequested(GATTReadRequest(id: 2, handle: 6, offset: 22)))
            server.respond(2, Array(22..<30))
            server.expect(.send([0x0D] + Array(22..<30)))
        }
    }

    @Test("GATT/SR/GAR/BV-03-C: Read By Type asks for one value after the other")
    func dynamicReadByType() throws {
        for second in [[0x02], [0x02, 0x03]] as [[UInt8]] {
            Scene.play(ServedBearer(try lock())) { server in
                server.receive("08 01 00 FF FF 02 FF")
                server.expect(.readRequested(GATTReadRequest(id: 1, handle: 8, offset: 0)))
                server.respond(1, [0x01])
                server.expect(.readRequested(GATTReadRequest(id: 2, handle: 10, offset: 0)))
                server.respond(2, second)
                // Only values of one length fit into one answer.
                server.expectSent(second.count == 1 ? "09 03 08 00 01 0A 00 02" : "09 03 08 00 01")
            }
        }
        Scene.play(ServedBearer(try lock())) { server in
            server.receive("08 01 00 FF FF 02 FF")
            server.expect(.readRequested(GATTReadRequest(id: 1, handle: 8, offset: 0)))
            server.respond(1, error: .unlikelyError)
            server.expectSent("01 08 08 00 0E")
        }
    }

    @Test("GATT/SR/GAR/BV-05-C, GATT/SR/GAR/BV-09-C: Read Multiple over kept and dynamic values")
    func dynamicReadMultiple() throws {
        Scene.play(ServedBearer(try lock())) { server in
            server.receive("0E 03 00 06 00 03 00")
            server.expect(.readRequested(GATTReadRequest(id: 1, handle: 6, offset: 0)))
            server.respond(1, [0xAA])
            server.expectSent("0F 64 AA 64")
            server.receive("20 03 00 06 00")
            server.expect(.readRequested(GATTReadRequest(id: 2, handle: 6, offset: 0)))
            server.respond(2, [0xAA, 0xBB])
            server.expectSent("21 01 00 64 02 00 AA BB")
            server.exchange("0E 06 00 0C 00", "01 0E 0C 00 05")  // None is read unless all may be.
        }
    }

    @Test("An owner's value of more than 512 octets is cut: its length would not fit into a Length Value Tuple")
    func dynamicReadOfTooMuch() throws {
        Scene.play(ServedBearer(try lock())) { server in
            server.receive("20 03 00 06 00")
            server.expect(.readRequested(GATTReadRequest(id: 1, handle: 6, offset: 0)))
            server.respond(1, Array(repeating: 0xAA, count: 0x1_0005))
            // 512 is 0x0200; the answer is cut to ATT_MTU, which is 23.
            server.expectSent("21 01 00 64 00 02" + String(repeating: " AA", count: 17))
        }
    }

    @Test("GATT/SR/GAW/BV-01-C, GATT/SR/GAW/BV-03-C: writes of a value that only the owner takes")
    func dynamicWrite() throws {
        let part = GATTWritePart(handle: 6, offset: 0, value: [0x01])
        Scene.play(ServedBearer(try lock())) { server in
            server.receive("52 06 00 01")
            server.expect(.writeRequested(GATTWriteRequest(id: 1, parts: [part], needsResponse: false)))
            server.respond(1, [])  // Nobody waits for it.
            server.receive("12 06 00 01")
            server.expect(.writeRequested(GATTWriteRequest(id: 2, parts: [part], needsResponse: true)))
            server.receive("52 06 00 01")  // A command need not wait.
            server.expect(.writeRequested(GATTWriteRequest(id: 3, parts: [part], needsResponse: false)))
            server.respond(2, [])
            server.expectSent("13")
            server.receive("12 06 00 01")
            server.expect(.writeRequested(GATTWriteRequest(id: 4, parts: [part], needsResponse: true)))
            server.respond(4, error: .valueNotAllowed)
            server.expectSent("01 12 06 00 13")
        }
    }

    @Test("GATT/SR/GAW/BV-10-C, GATT/SR/GAW/BV-11-C: all prepared parts are done together, or none")
    func queuedWrite() throws {
        let parts = [
            GATTWritePart(handle: 6, offset: 0, value: [0x01, 0x02]),
            GATTWritePart(handle: 6, offset: 2, value: [0x03]),
        ]
        Scene.play(ServedBearer(try lock())) { server in
            for (id, error) in [(UInt64(1), ATTErrorCode.valueNotAllowed), (2, nil)] {
                server.exchange("16 03 00 00 00 32", "17 03 00 00 00 32")
                server.exchange("16 06 00 00 00 01 02", "17 06 00 00 00 01 02")
                server.exchange("16 06 00 02 00 03", "17 06 00 02 00 03")
                server.receive("18 01")
                server.expect(.writeRequested(GATTWriteRequest(id: id, parts: parts, needsResponse: true)))
                server.respond(id, error: error)
                server.expectSent(error == nil ? "19" : "01 18 06 00 13")
                server.exchange("0A 03 00", error == nil ? "0B 32" : "0B 64")
            }
            server.exchange("16 03 00 00 00 01", "17 03 00 00 00 01")
            server.exchange("16 03 00 02 00 02", "17 03 00 02 00 02")  // Leaves a gap.
            server.exchange("18 01", "01 18 03 00 07")
            server.exchange("0A 03 00", "0B 32")
            server.exchange("18 01", "19")  // The queue was emptied.
        }
    }

    @Test("Prepare Queue Full: what a peer may prepare is bounded — Part F, 3.4.6.1")
    func prepareQueueFull() throws {
        Scene.play(ServedBearer(try lock())) { server in
            for _ in 0..<128 { server.exchange("16 06 00 00 00 01", "17 06 00 00 00 01") }
            server.exchange("16 06 00 00 00 01", "01 16 06 00 09")
            server.exchange("18 00", "19")
            server.exchange("16 06 00 00 00 01", "17 06 00 00 00 01")
        }
    }

    @Test("GATT/SR/GAN/BV-01-C: subscribing; the answer goes before what it sets off")
    func subscribe() throws {
        Scene.play(ServedBearer(try lock())) { server in
            server.exchange("0A 04 00", "0B 00 00")
            server.exchange("12 04 00 01 00", "13")
            server.expect(.subscribed(handle: 3, .notifications))
            server.exchange("0A 04 00", "0B 01 00")
            server.exchange("12 04 00 01 00", "13")  // No change, no news.
            server.exchange("12 04 00 01", "01 12 04 00 0D")
            server.exchange("12 04 00 04 00", "01 12 04 00 13")  // A reserved bit.
            server.exchange("12 04 00 00 00", "13")
            server.expect(.unsubscribed(handle: 3))
            server.exchange("12 04 00 02 00", "13")
            server.expect(.subscribed(handle: 3, .indications))
            server.exchange("12 04 00 01 00", "13")  // In another way, but subscribed as before.
            server.input(.linkLost, #_sourceLocation)
            server.expect(.unsubscribed(handle: 3))
        }
    }

    @Test("Each bearer has its own configuration descriptors — Part G, 3.3.3.3")
    func configurationPerBearer() throws {
        var database = try lock()
        var (one, other) = (GATTConnection(), GATTConnection())
        _ = one.handle(.receive(hex("12 04 00 01 00")[...]), database: &database, at: .init())
        #expect(one.subscription(to: 3) == .notifications)
        #expect(other.subscription(to: 3) == [])
        #expect(
            other.handle(.receive(hex("0A 04 00")[...]), database: &database, at: .init()) == [.send(hex("0B 00 00"))])
    }

    @Test("GATT/SR/GAN/BV-01-C: a notification is cut to ATT_MTU - 3, and done when the link has taken it")
    func notify() throws {
        Scene.play(ServedBearer(try lock())) { server in
            server.input(.notify(id: 1, handle: 3, value: Array(0..<30)), #_sourceLocation)
            server.expect(.sendUnanswered([0x1B, 0x03, 0x00] + Array(0..<20), id: 1))
        }
    }

    @Test("GATT/SR/GAI/BV-01-C, GATT/SR/GAT/BV-01-C: one indication at a time, each ended by its confirmation")
    func indicate() throws {
        Scene.play(ServedBearer(try lock())) { server in
            server.receive("1E")  // Nobody waits for it.
            server.expect(.reportViolation([0x1E]))
            server.input(.indicate(id: 1, handle: 3, value: [0x01]), #_sourceLocation)
            server.expectSent("1D 03 00 01")
            server.input(.indicate(id: 2, handle: 3, value: [0x02]), #_sourceLocation)
            server.receive("1E")
            server.finish(1, .done)
            server.expectSent("1D 03 00 02")
            server.wait(.seconds(30))
            server.fail(2, .timedOut)
            server.expect(.drop)
            server.input(.notify(id: 3, handle: 3, value: [0x03]), #_sourceLocation)
            server.fail(3, .linkLost)
            server.receive("0A 03 00")
        }
    }

    @Test("When attributes are removed, an open request for one is refused, and its configuration is forgotten")
    func removal() throws {
        var server = ServedBearer(try lock())
        _ = server.handle(.receive(hex("12 04 00 01 00")[...]), at: Instant())
        _ = server.handle(.receive(hex("0A 06 00")[...]), at: Instant())
        _ = server.handle(.receive(hex("0A 03 00")[...]), at: Instant())  // Waits.
        server.database.removeService(at: 1)
        let effects = server.handle(.forget(1...12), at: Instant())
        #expect(effects == [.send(hex("01 0A 06 00 01")), .send(hex("01 0A 03 00 01"))])
        #expect(server.bearer.subscription(to: 3) == [])
        #expect(server.handle(.respond(id: 1, error: nil, value: [0xAA]), at: Instant()) == [])
    }

    @Test(
        """
        GATT/SR/GAR/BI-05-C, GAP/SEC/AUT/BV-13-C, GAP/SEC/AUT/BV-14-C, GAP/SEC/AUT/BV-23-C, GAP/SEC/AUT/BV-24-C, \
        GAP/SEC/AUT/BV-25-C, GAP/SEC/AUT/BV-26-C, GAP/SEC/AUT/BV-27-C, GAP/SEC/AUT/BV-28-C: what needs an encrypted \
        link, by every way that leads to it; with a bond the error is Insufficient Encryption
        """
    )
    func encryption() throws {
        Scene.play(ServedBearer(try lock())) { server in
            server.exchange("0A 0C 00", "01 0A 0C 00 05")
            server.exchange("0C 0C 00 00 00", "01 0C 0C 00 05")
            server.exchange("08 01 00 FF FF 03 FF", "01 08 0C 00 05")
            server.exchange("06 01 00 FF FF 03 FF 01", "01 06 01 00 0A")  // Not even found by its value.
            server.input(.securityChanged(.unencrypted(hasKey: true)), #_sourceLocation)
            server.exchange("0A 0C 00", "01 0A 0C 00 0F")
            server.exchange("0C 0C 00 00 00", "01 0C 0C 00 0F")
            server.exchange("08 01 00 FF FF 03 FF", "01 08 0C 00 0F")
            server.input(.securityChanged(.encrypted), #_sourceLocation)
            server.exchange("0A 0C 00", "0B 01")
            server.exchange("12 0C 00 02", "01 12 0C 00 03")
        }
    }
}

extension Scene<ServedBearer> {
    mutating func respond(
        _ id: UInt64, _ value: [UInt8], at location: SourceLocation = #_sourceLocation
    ) {
        input(.respond(id: id, error: nil, value: value), location)
    }

    fileprivate mutating func respond(
        _ id: UInt64, error: ATTErrorCode?, at location: SourceLocation = #_sourceLocation
    ) {
        input(.respond(id: id, error: error, value: []), location)
    }
}
