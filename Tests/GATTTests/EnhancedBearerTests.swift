import ATT
import BluetoothTypes
import EventLoop
import GATT
import ProtocolTestKit
import Testing

private let first = firstBearer
private let second = secondBearer

@Suite("Enhanced bearers of a client — Core 6.0, Vol 3, Part F, 3.2.11 and Part G, 5.3")
struct EnhancedBearerClientTests {
    @Test("GATT/CL/GAR/BV-10-C, GATT/CL/GAR/BV-11-C: several multiple reads at once, answered in any order")
    func sideBySide() throws {
        Scene.play(try servedBearers(mtu: 517)) { client in
            client.submit(9, .exchangeMTU)
            client.expectSent("02 05 02")
            client.receive("03 05 02")
            client.expect(.mtuChanged(517))
            client.finish(9, .mtu(517))
            client.submit(1, .readMultipleVariable([1, 2]))
            client.expectSent("20 01 00 02 00")
            client.submit(2, .readMultipleVariable([3, 4]))
            client.expectSent("20 03 00 04 00", on: first)
            client.submit(3, .readMultipleVariable([5, 6]))
            client.expectSent("20 05 00 06 00", on: second)
            client.submit(4, .read(7))  // No bearer is free.
            client.receive("21 01 00 AA 01 00 BB", on: second)
            client.finish(3, .values([GATTValue(handle: 5, value: [0xAA]), GATTValue(handle: 6, value: [0xBB])]))
            client.expectSent("0A 07 00", on: second)
            client.receive("21 01 00 CC 01 00 DD")
            client.finish(1, .values([GATTValue(handle: 1, value: [0xCC]), GATTValue(handle: 2, value: [0xDD])]))
            client.receive("01 20 03 00 01", on: first)
            client.fail(2, .refused(.invalidHandle))
            client.receive("0B 07", on: second)
            client.finish(4, .value([7]))
        }
    }

    @Test("A party's writes overtake nothing and are not overtaken; another party's go on")
    func order() throws {
        Scene.play(try servedBearers()) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.submit(2, .write(3, value: [1]))
            client.submit(3, .read(9))
            client.input(.submit(id: 4, .write(6, value: [2]), party: 7), #_sourceLocation)
            client.expectSent("12 06 00 02", on: first)
            client.receive("0B 64")
            client.finish(1, .value([0x64]))
            client.expectSent("12 03 00 01")
            client.receive("13")
            client.finish(2, .done)
            client.expectSent("0A 09 00")
            client.receive("13", on: first)
            client.finish(4, .done)
        }
    }

    @Test("Two queued writes never mix, whoever asks for them: the peer has one queue for all bearers")
    func queuedWrites() throws {
        Scene.play(try servedBearers()) { client in
            client.submit(1, .writeLong(3, value: [1]))
            client.expectSent("16 03 00 00 00 01")
            client.input(.submit(id: 2, .writeLong(6, value: [2]), party: 7), #_sourceLocation)
            client.receive("17 03 00 00 00 01")
            client.expectSent("18 01")
            client.receive("19")
            client.finish(1, .done)
            client.expectSent("16 06 00 00 00 02")
        }
    }

    @Test("ATT_MTU is agreed on the fixed bearer only, and nothing goes beside that")
    func exchange() throws {
        Scene.play(try servedBearers()) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.submit(2, .exchangeMTU)
            client.submit(3, .read(6))
            client.receive("0B 64")
            client.finish(1, .value([0x64]))
            client.expectSent("02 05 02")
            client.receive("03 17 00")
            client.finish(2, .mtu(23))
            client.expectSent("0A 06 00")
        }
    }

    @Test("A read goes by the ATT_MTU of its bearer; a write does not go where it would need the queue")
    func sizes() throws {
        Scene.play(try servedBearers([first])) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.submit(2, .read(6))
            client.expectSent("0A 06 00", on: first)
            let part = Array(repeating: UInt8(5), count: 63)
            client.input(.receive([0x0B] + part, on: first), #_sourceLocation)
            client.expectSent("0C 06 00 3F 00", on: first)
            client.receive("0D", on: first)
            client.finish(2, .value(part))
        }
        Scene.play(try servedBearers([first])) { client in
            client.submit(1, .exchangeMTU)
            client.expectSent("02 05 02")
            client.receive("03 F7 00")
            client.expect(.mtuChanged(247))
            client.finish(1, .mtu(247))
            client.submit(2, .read(3))
            client.expectSent("0A 03 00")
            let value = Array(repeating: UInt8(5), count: 100)
            client.input(.submit(id: 3, .write(6, value: value), party: 7), #_sourceLocation)
            client.receive("0B 64")
            client.finish(2, .value([0x64]))
            client.expect(.send([0x12, 0x06, 0x00] + value))
        }
    }

    @Test("The peer closes a bearer in the middle: a read is asked for again, a write ends with an error, once each")
    func closed() throws {
        Scene.play(try servedBearers()) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.submit(2, .read(6))
            client.expectSent("0A 06 00", on: first)
            client.input(.submit(id: 3, .write(9, value: [1]), party: 7), #_sourceLocation)
            client.expectSent("12 09 00 01", on: second)
            client.input(.bearerClosed(first), #_sourceLocation)
            client.input(.bearerClosed(second), #_sourceLocation)
            client.fail(3, .bearerLost)
            client.receive("0B 64", on: first)  // Too late.
            client.receive("0B 64")
            client.finish(1, .value([0x64]))
            client.expectSent("0A 06 00")
            client.input(.bearerClosed(first), #_sourceLocation)
            client.receive("0B 65")
            client.finish(2, .value([0x65]))
        }
    }

    @Test("Thirty seconds on one bearer end that bearer alone; on the fixed one, the link")
    func expired() throws {
        Scene.play(try servedBearers([first])) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.submit(2, .read(6))
            client.expectSent("0A 06 00", on: first)
            client.receive("0B 64")
            client.finish(1, .value([0x64]))
            client.wait(.seconds(30))
            client.fail(2, .timedOut)
            client.expect(.closeBearer(first))
            client.submit(3, .read(3))
            client.expectSent("0A 03 00")
            client.wait(.seconds(30))
            client.fail(3, .timedOut)
            client.expect(.drop)
            client.submit(4, .read(3))
            client.fail(4, .timedOut)
        }
    }

    @Test("The end of the link ends what is open on each bearer, and what waits, once")
    func linkLost() throws {
        Scene.play(try servedBearers([first])) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.submit(2, .read(6))
            client.expectSent("0A 06 00", on: first)
            client.submit(3, .read(9))
            client.input(.linkLost, #_sourceLocation)
            for id in UInt64(1)...3 { client.fail(id, .linkLost) }
            client.input(.bearerClosed(first), #_sourceLocation)
            client.input(.bearerOpened(second, mtu: 64), #_sourceLocation)
            client.receive("0B 64", on: first)
        }
    }

    @Test(
        "A queued write dies with its bearer: what it left in the peer's queue is cancelled before the next one",
        arguments: [true, false])
    func leftovers(isClosed: Bool) throws {
        Scene.play(try servedBearers([first])) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            let parts = [
                GATTWritePart(handle: 3, offset: 0, value: [1]), GATTWritePart(handle: 6, offset: 0, value: [2]),
            ]
            client.input(.submit(id: 2, .reliableWrite(parts), party: 7), #_sourceLocation)
            client.expectSent("16 03 00 00 00 01", on: first)
            client.receive("0B 64")
            client.finish(1, .value([0x64]))
            client.receive("17 03 00 00 00 01", on: first)
            client.expectSent("16 06 00 00 00 02", on: first)
            if isClosed {
                client.input(.bearerClosed(first), #_sourceLocation)
                client.fail(2, .bearerLost)
            } else {
                client.wait(.seconds(30))
                client.fail(2, .timedOut)
                client.expect(.closeBearer(first))
            }
            client.submit(3, .write(3, value: [9]))  // It does not use the queue.
            client.expectSent("12 03 00 09")
            client.receive("13")
            client.finish(3, .done)
            for (id, isFirst) in [(UInt64(4), true), (5, false)] {
                client.submit(id, .writeLong(9, value: [3]))
                if isFirst {
                    client.expectSent("18 00")
                    client.receive("19")
                }
                client.expectSent("16 09 00 00 00 03")
                client.receive("17 09 00 00 00 03")
                client.expectSent("18 01")
                client.receive("19")
                client.finish(id, .done)
            }
        }
    }

    @Test("Values come on any bearer, and an indication is confirmed where it came")
    func values() throws {
        Scene.play(try servedBearers([first])) { client in
            client.receive("1B 03 00 01", on: first)
            client.expect(.notified(handle: 3, value: [1]))
            client.receive("1D 03 00 02", on: first)
            client.expectSent("1E", on: first)
            client.expect(.notified(handle: 3, value: [2]))
            client.receive("23 03 00 01 00 05 06 00 01 00 06", on: first)
            client.expect(.notified(handle: 3, value: [5]))
            client.expect(.notified(handle: 6, value: [6]))
        }
    }

    @Test("An answer on a bearer on which nothing was asked is reported, and a bearer that there is not is silent")
    func strayAnswers() throws {
        Scene.play(try servedBearers([first])) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.receive("0B 64", on: first)
            client.expect(.reportViolation(hex("0B 64")))
            client.receive("0B 64", on: second)
            client.receive("0B 65")
            client.finish(1, .value([0x65]))
        }
    }
}
