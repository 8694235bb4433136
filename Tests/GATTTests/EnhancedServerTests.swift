import ATT
import BluetoothTypes
import EventLoop
import GATT
import ProtocolTestKit
import Testing

private let first = firstBearer
private let second = secondBearer

@Suite("Enhanced bearers of a server — Core 6.0, Vol 3, Part F, 3.2.11 and Part G, 5.3")
struct EnhancedBearerServerTests {
    @Test("GATT/SR/GAR/BV-11-C, GATT/SR/GAR/BV-12-C: multiple reads on several bearers, each answered on its own")
    func reads() throws {
        Scene.play(try servedBearers()) { server in
            server.receive("20 03 00 09 00", on: first)
            server.expect(.readRequested(GATTReadRequest(id: 1, handle: 9, offset: 0)))
            server.receive("20 09 00 03 00", on: second)
            server.expect(.readRequested(GATTReadRequest(id: 2, handle: 9, offset: 0)))
            server.exchange("20 03 00 06 00", "21 01 00 64 01 00 64")
            server.respond(2, [0xBB])
            server.expectSent("21 01 00 BB 01 00 64", on: second)
            server.respond(1, [0xAA])
            server.expectSent("21 01 00 64 01 00 AA", on: first)
            server.respond(1, [0xCC])  // Too late.
        }
    }

    @Test("ATT_MTU of an enhanced bearer is the channel's: it is no matter of requests, and answers fill it")
    func channelMTU() throws {
        Scene.play(try servedBearers([first])) { server in
            server.exchange("02 F7 00", "01 02 00 00 06", on: first)
            server.input(.receive(hex("12 03 00")[...] + Array(repeating: 7, count: 61), on: first), #_sourceLocation)
            server.expectSent("13", on: first)
            server.receive("0C 03 00 00 00", on: first)
            server.expect(.send([0x0D] + Array(repeating: 7, count: 61), on: first))
            server.exchange("0A 03 00", "0B" + String(repeating: " 07", count: 22))
            server.input(.bearerWidened(first, mtu: 80), #_sourceLocation)
            server.receive("0E 03 00 03 00", on: first)
            server.expect(.send([0x0F] + Array(repeating: 7, count: 79), on: first))
        }
    }

    @Test(
        "GATT/SR/GAW/BV-12-C, GATT/SR/GAW/BV-13-C: parts prepared on several bearers are one queue",
        arguments: [true, false])
    func preparedParts(executes: Bool) throws {
        Scene.play(try servedBearers()) { server in
            server.exchange("16 03 00 00 00 01", "17 03 00 00 00 01", on: first)
            server.exchange("16 03 00 01 00 02", "17 03 00 01 00 02", on: second)
            server.exchange("16 03 00 02 00 03", "17 03 00 02 00 03")
            server.exchange(executes ? "18 01" : "18 00", "19", on: second)
            server.exchange("0A 03 00", executes ? "0B 01 02 03" : "0B 64", on: first)
            server.exchange("18 01", "19", on: first)
            server.exchange("0A 03 00", executes ? "0B 01 02 03" : "0B 64", on: first)
        }
    }

    @Test("GATT/SR/GAW/BV-14-C: what was prepared on a bearer that is closed is executed on another")
    func preparedOnFewer() throws {
        Scene.play(try servedBearers()) { server in
            server.exchange("16 03 00 00 00 01", "17 03 00 00 00 01", on: first)
            server.exchange("16 03 00 01 00 02", "17 03 00 01 00 02", on: second)
            server.input(.bearerClosed(first), #_sourceLocation)
            server.exchange("16 03 00 02 00 03", "17 03 00 02 00 03", on: second)
            server.input(.bearerClosed(second), #_sourceLocation)
            server.exchange("18 01", "19")
            server.exchange("0A 03 00", "0B 01 02 03")
        }
    }

    @Test(
        """
        GATT/SR/GPM/BV-01-C, GATT/SR/GPM/BV-02-C, GATT/SR/GPM/BV-03-C, GATT/SR/GPM/BV-04-C, GATT/SR/GPM/BV-05-C, \
        GATT/SR/GPM/BV-06-C: a client's configuration holds on all of its bearers
        """,
        arguments: [
            (GATTBearerID.fixed, first, "01 00"), (first, GATTBearerID.fixed, "01 00"), (first, second, "01 00"),
            (GATTBearerID.fixed, first, "02 00"), (first, GATTBearerID.fixed, "02 00"), (first, second, "02 00"),
        ])
    func configuration(written: GATTBearerID, read: GATTBearerID, bits: String) throws {
        let kind = bits == "01 00" ? GATTSubscription.notifications : .indications
        Scene.play(try servedBearers()) { server in
            server.exchange("12 04 00 \(bits)", "13", on: written)
            server.expect(.subscribed(handle: 3, kind))
            server.exchange("0A 04 00", "0B \(bits)", on: read)
            if kind == .notifications {
                server.input(.notify(id: 1, handle: 3, value: [5]), #_sourceLocation)
                server.expect(.sendUnanswered(hex("1B 03 00 05"), id: 1))
            } else {
                server.input(.indicate(id: 1, handle: 3, value: [5]), #_sourceLocation)
                server.expectSent("1D 03 00 05")
                server.receive("1E")
                server.finish(1, .done)
            }
            server.exchange("12 04 00 00 00", "13", on: read)
            server.expect(.unsubscribed(handle: 3))
            server.exchange("0A 04 00", "0B 00 00", on: written)
        }
    }

    @Test("GATT/SR/GPM/BV-13-C: it also holds on bearers that come later, and when the one is gone that it came on")
    func configurationOfOtherBearers() throws {
        Scene.play(try servedBearers([first])) { server in
            server.exchange("12 04 00 03 00", "13", on: first)
            server.expect(.subscribed(handle: 3, [.notifications, .indications]))
            server.input(.bearerOpened(second, mtu: 64), #_sourceLocation)
            server.input(.bearerClosed(first), #_sourceLocation)
            server.exchange("0A 04 00", "0B 03 00", on: second)
            server.input(.linkLost, #_sourceLocation)
            server.expect(.unsubscribed(handle: 3))
        }
    }

    @Test("Indications of several characteristics go side by side; those of one in their order")
    func indications() throws {
        Scene.play(try servedBearers()) { server in
            for (id, handle) in [(1, 3), (2, 3), (3, 6)] as [(UInt64, UInt16)] {
                server.input(.indicate(id: id, handle: handle, value: [UInt8(id)]), #_sourceLocation)
                if id == 1 { server.expectSent("1D 03 00 01") }
                if id == 3 { server.expectSent("1D 06 00 03", on: first) }
            }
            server.receive("1E", on: second)
            server.expect(.reportViolation(hex("1E")))
            server.receive("1E", on: first)
            server.finish(3, .done)
            server.receive("1E")
            server.finish(1, .done)
            server.expectSent("1D 03 00 02")
            server.receive("1E")
            server.finish(2, .done)
        }
    }

    @Test(
        "An indication that is not confirmed in thirty seconds ends its bearer; one whose bearer is closed has failed")
    func unconfirmed() throws {
        Scene.play(try servedBearers()) { server in
            server.input(.indicate(id: 1, handle: 3, value: [1]), #_sourceLocation)
            server.expectSent("1D 03 00 01")
            server.input(.indicate(id: 2, handle: 6, value: [2]), #_sourceLocation)
            server.expectSent("1D 06 00 02", on: first)
            server.input(.indicate(id: 3, handle: 6, value: [3]), #_sourceLocation)
            server.receive("1E")
            server.finish(1, .done)
            server.wait(.seconds(30))
            server.fail(2, .timedOut)
            server.fail(3, .timedOut)
            server.expect(.closeBearer(first))
            server.input(.indicate(id: 4, handle: 3, value: [4]), #_sourceLocation)
            server.expectSent("1D 03 00 04")
            server.input(.indicate(id: 5, handle: 6, value: [5]), #_sourceLocation)
            server.expectSent("1D 06 00 05", on: second)
            server.input(.bearerClosed(second), #_sourceLocation)
            server.fail(5, .bearerLost)
        }
    }

    @Test("A peer that asks on while the owner thinks fills one bearer's line alone, and is answered once each")
    func impatient() throws {
        Scene.play(try servedBearers([first])) { server in
            server.receive("0A 09 00", on: first)
            server.expect(.readRequested(GATTReadRequest(id: 1, handle: 9, offset: 0)))
            for _ in 0..<16 { server.receive("0A 03 00", on: first) }
            server.receive("0A 03 00", on: first)
            server.expect(.reportViolation(hex("0A 03 00")))
            server.exchange("0A 03 00", "0B 64")
            server.respond(1, [1])
            server.expectSent("0B 01", on: first)
            for _ in 0..<16 { server.expectSent("0B 64", on: first) }
        }
    }

    @Test("A bearer that is closed while the owner thinks takes its question with it")
    func closedWhileAsked() throws {
        Scene.play(try servedBearers([first])) { server in
            server.receive("0A 09 00", on: first)
            server.expect(.readRequested(GATTReadRequest(id: 1, handle: 9, offset: 0)))
            server.input(.bearerClosed(first), #_sourceLocation)
            server.respond(1, [1])
            server.exchange("0A 03 00", "0B 64")
        }
    }

    @Test("Attributes go while parts for them are prepared: the queue is refused, on any bearer, and then is empty")
    func preparedForWhatIsGone() throws {
        Scene.play(try servedBearers()) { server in
            server.exchange("16 03 00 00 00 01", "17 03 00 00 00 01", on: first)
            server.exchange("16 06 00 00 00 02", "17 06 00 00 00 02")
            server.input(.forget(5...7), #_sourceLocation)
            server.exchange("18 01", "01 18 00 00 01", on: second)
            server.exchange("0A 03 00", "0B 64")
            server.exchange("18 01", "19")
        }
    }

    @Test("An attribute that the server keeps goes while the owner thinks about another part: all or nothing")
    func keptGoesWhileAsked() throws {
        Scene.play(try servedBearers()) { server in
            server.exchange("16 09 00 00 00 01", "17 09 00 00 00 01")
            server.exchange("16 04 00 00 00 01 00", "17 04 00 00 00 01 00")
            server.receive("18 01")
            let part = GATTWritePart(handle: 9, offset: 0, value: [1])
            server.expect(.writeRequested(GATTWriteRequest(id: 1, parts: [part], needsResponse: true)))
            server.input(.forget(2...4), #_sourceLocation)
            server.expectSent("01 18 09 00 01")
            server.respond(1, [])
            server.exchange("18 01", "19")
        }
    }

    @Test("Server Supported Features says what it is told, and stands behind the others — Part G, 7.4")
    func serverFeatures() {
        let database = AttributeDatabase.standard(deviceName: "Lock", features: .enhancedBearers)
        Scene.play(ServedBearer(database)) { server in
            server.exchange("08 01 00 FF FF 3A 2B", "09 03 0F 00 01")
            server.exchange("12 0F 00 00", "01 12 0F 00 03")
        }
    }
}
