import ATT
import EventLoop
import ProtocolTestKit
import Testing

@Suite("ATT transactions — Core 6.0, Vol 3, Part F, 3.3")
struct ATTTransactionsTests {
    @Test("A request waits until the one before it has its answer — 3.3.2")
    func requestsAreSequential() {
        Scene.play(ATTTransactions()) { client in
            client.submit(1, "0A 03 00")
            client.expect(.send(hex("0A 03 00")))
            client.submit(2, "0A 07 00")  // Nothing is sent.
            client.receive("0B 01 02 03")
            client.expect(.finish(id: 1, .answered(hex("01 02 03")[...])))
            client.expect(.send(hex("0A 07 00")))
        }
    }

    @Test("An Error Response that names another request ends the one in flight, and is reported — 3.4.1.1")
    func errorResponseEndsTheRequestInFlight() {
        Scene.play(ATTTransactions()) { client in
            client.submit(1, "0A 03 00")
            client.expect(.send(hex("0A 03 00")))
            client.receive("01 08 05 00 0A")  // About a Read By Type Request.
            client.expect(.reportViolation(hex("01 08 05 00 0A")))
            client.expect(.finish(id: 1, .refused(ErrorResponse(.attributeNotFound, to: .readByTypeRequest, at: 5))))
        }
    }

    @Test(
        "An Error Response without an error is no answer, but an end",
        arguments: ["01 0A 00 00 00", "01", "01 0A 03"])
    func errorResponseThatSaysNothing(pdu: String) {
        var client = ATTTransactions()
        _ = client.handle(.submit(.init(id: 1, pdu: hex("0A 03 00"))), at: Instant())
        let effects = client.handle(.receive(hex(pdu)[...]), at: Instant())
        #expect(effects.first == .reportViolation(hex(pdu)))
        guard case .finish(id: 1, .illegal)? = effects.last else {
            Issue.record("\(effects)")
            return
        }
    }

    @Test("The answer to another request ends the one in flight as illegal; the bearer lives on")
    func wrongResponse() {
        Scene.play(ATTTransactions()) { client in
            client.submit(1, "0A 03 00")
            client.expect(.send(hex("0A 03 00")))
            client.receive("09 03 01 00 AA")
            client.expect(.reportViolation(hex("09 03 01 00 AA")))
            client.expect(.finish(id: 1, .illegal("opcode 9 does not answer opcode 10")))
            client.submit(2, "0A 03 00")
            client.expect(.send(hex("0A 03 00")))
        }
    }

    @Test("An answer that nobody waits for is reported")
    func stray() {
        Scene.play(ATTTransactions()) { client in
            client.receive("0B 01")
            client.expect(.reportViolation(hex("0B 01")))
        }
    }

    @Test("After thirty seconds the bearer is lost, and with it every request — 3.3.3")
    func unansweredRequestLosesTheBearer() {
        Scene.play(ATTTransactions()) { client in
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

    @Test("When the link goes, every request ends, and so does each later one")
    func abandoned() {
        Scene.play(ATTTransactions()) { client in
            client.submit(1, "0A 03 00")
            client.expect(.send(hex("0A 03 00")))
            client.submit(2, "0A 07 00")
            client.input(.abandon, #_sourceLocation)
            client.expect(.finish(id: 1, .abandoned))
            client.expect(.finish(id: 2, .abandoned))
            client.submit(3, "0A 03 00")
            client.expect(.finish(id: 3, .abandoned))
        }
    }
}

extension Scene<ATTTransactions> {
    fileprivate mutating func submit(_ id: UInt64, _ pdu: String, at location: SourceLocation = #_sourceLocation) {
        input(.submit(ATTTransactions.Request(id: id, pdu: hex(pdu))), location)
    }

    fileprivate mutating func receive(_ pdu: String, at location: SourceLocation = #_sourceLocation) {
        input(.receive(hex(pdu)[...]), location)
    }
}
