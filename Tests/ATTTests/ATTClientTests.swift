import ATT
import EventLoop
import ProtocolTestKit
import Testing

@Suite("ATT client — Core 6.0, Vol 3, Part F, 3.3")
struct ATTClientTests {
    @Test("A request waits until the one before it has its answer — 3.3.2")
    func requestsAreSequential() {
        Scene.play(ATTClient()) { client in
            client.submit(1, "0A 03 00")
            client.expect(.send(hex("0A 03 00")))
            client.submit(2, "0A 07 00")  // Nothing is sent.
            client.receive("0B 01 02 03")
            client.expect(.finish(id: 1, .answered(hex("0B 01 02 03"))))
            client.expect(.send(hex("0A 07 00")))
        }
    }

    @Test("An Error Response answers the request that it names, and no other — 3.4.1.1")
    func errorResponseNamesItsRequest() {
        Scene.play(ATTClient()) { client in
            client.submit(1, "0A 03 00")
            client.expect(.send(hex("0A 03 00")))
            client.receive("01 08 03 00 0A")  // About a Read By Type Request.
            client.expect(.reportStray(hex("01 08 03 00 0A")))
            client.receive("01 0A 03 00 02")
            client.expect(.finish(id: 1, .answered(hex("01 0A 03 00 02"))))
        }
    }

    @Test("After thirty seconds the bearer is lost, and with it every request — 3.3.3")
    func unansweredRequestLosesTheBearer() {
        Scene.play(ATTClient()) { client in
            client.submit(1, "0A 03 00")
            client.expect(.send(hex("0A 03 00")))
            client.submit(2, "0A 07 00")
            client.wait(.milliseconds(29_999))
            client.wait(.milliseconds(1))
            client.expect(.finish(id: 1, .expired))
            client.expect(.finish(id: 2, .expired))
            client.expect(.drop)
            client.receive("0B 01 02 03")  // Too late.
            client.submit(3, "0A 03 00")
            client.expect(.finish(id: 3, .expired))
        }
    }
}

extension Scene<ATTClient> {
    fileprivate mutating func submit(_ id: UInt32, _ pdu: String, at location: SourceLocation = #_sourceLocation) {
        input(.submit(ATTClient.Request(id: id, pdu: hex(pdu))), location)
    }

    fileprivate mutating func receive(_ pdu: String, at location: SourceLocation = #_sourceLocation) {
        input(.receive(hex(pdu)), location)
    }
}
