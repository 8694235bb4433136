import EventLoop
import L2CAP
import ProtocolTestKit
import Testing

@Suite("LE signalling — Core 6.0, Vol 3, Part A, 4")
struct SignallingTests {
    private static let request = ParameterUpdateRequest(intervalMin: 6, intervalMax: 12, latency: 0, timeout: 200)

    @Test("L2CAP/LE/CPU/BV-01-C: the peripheral asks, and the central accepts")
    func peripheralAsks() {
        Scene.play(Signalling(role: .peripheral)) { signalling in
            signalling.input(.requestUpdate(Self.request), #_sourceLocation)
            signalling.expect(.send(hex("12 01 08 00 06 00 0C 00 00 00 C8 00")))
            signalling.receive("13 01 02 00 00 00")
            signalling.expect(.updateFinished(.accepted))
        }
    }

    @Test("L2CAP/LE/CPU/BV-02-C, GAP/CONN/CPUP/BV-04-C: the central accepts what is valid")
    func centralAccepts() {
        Scene.play(Signalling(role: .central)) { signalling in
            signalling.receive("12 07 08 00 06 00 0C 00 00 00 C8 00")
            signalling.expect(.send(hex("13 07 02 00 00 00")))
            signalling.expect(.update(Self.request))
        }
    }

    // attacks.json, L2CAP-26
    @Test(
        "L2CAP/LE/CPU/BI-01-C, GAP/CONN/CPUP/BV-05-C: the central rejects what is not",
        arguments: [
            "00 00 00 00 00 00 00 00", "FF FF 06 00 FF FF FF FF", "80 0C 06 00 00 00 0A 00", "06 00 06 00 F4 01 0A 00",
            "06 00 81 0C 00 00 80 0C", "06 00 50 00 00 00 14 00",
        ])
    func centralRejects(parameters: String) {
        Scene.play(Signalling(role: .central)) { signalling in
            signalling.receive("12 01 08 00 " + parameters)
            signalling.expect(.send(hex("13 01 02 00 01 00")))
        }
    }

    @Test("L2CAP/LE/CPU/BI-02-C: a peripheral is not asked")
    func peripheralRejects() {
        Scene.play(Signalling(role: .peripheral)) { signalling in
            signalling.receive("12 01 08 00 06 00 0C 00 00 00 C8 00")
            signalling.expect(.send(hex("01 01 02 00 00 00")))
        }
    }

    // nimble/sig/update_init_reject and update_init_fail_central
    @Test("GAP/CONN/CPUP/BV-03-C: rejected by the response, by Command Reject, and before it is sent")
    func rejected() {
        Scene.play(Signalling(role: .peripheral)) { signalling in
            signalling.input(.requestUpdate(Self.request), #_sourceLocation)
            signalling.expect(.send(Self.request.payload(identifier: 1)))
            signalling.receive("13 01 02 00 01 00")
            signalling.expect(.updateFinished(.rejected))
            signalling.input(.requestUpdate(Self.request), #_sourceLocation)
            signalling.expect(.send(Self.request.payload(identifier: 2)))
            signalling.receive("01 02 02 00 00 00")
            signalling.expect(.updateFinished(.rejected))
            let invalid = ParameterUpdateRequest(intervalMin: 12, intervalMax: 6, latency: 0, timeout: 200)
            signalling.input(.requestUpdate(invalid), #_sourceLocation)
            signalling.expect(.updateFinished(.notPermitted))
        }
        Scene.play(Signalling(role: .central)) { signalling in
            signalling.input(.requestUpdate(Self.request), #_sourceLocation)
            signalling.expect(.updateFinished(.notPermitted))
        }
    }

    @Test("GAP/CONN/CPUP/BV-02-C: one request at a time; thirty seconds for its answer; a late one answers nothing")
    func timesOut() {
        Scene.play(Signalling(role: .peripheral)) { signalling in
            signalling.input(.requestUpdate(Self.request), #_sourceLocation)
            signalling.expect(.send(Self.request.payload(identifier: 1)))
            signalling.input(.requestUpdate(Self.request), #_sourceLocation)
            signalling.wait(.seconds(30))
            signalling.expect(.updateFinished(.timedOut))
            signalling.expect(.send(Self.request.payload(identifier: 2)))
            signalling.receive("13 01 02 00 00 00")
            signalling.receive("13 02 02 00 00 00")
            signalling.expect(.updateFinished(.accepted))
        }
    }

    // attacks.json, L2CAP-28
    @Test(
        "L2CAP/LE/REJ/BI-01-C, L2CAP/LE/REJ/BI-02-C: unknown commands are rejected",
        arguments: ["FF", "1B", "00", "08", "0A"])
    func unknown(code: String) {
        Scene.play(Signalling(role: .central)) { signalling in
            signalling.receive(code + " 01 00 00")
            signalling.expect(.send(hex("01 01 02 00 00 00")))
        }
    }

    // attacks.json, L2CAP-07, L2CAP-10, L2CAP-21 and L2CAP-29
    @Test(
        "Ignored: empty, short, identifier 0, answers that answer nothing, credits for no channel",
        arguments: [
            "", "12", "12 01 08", "12 00 08 00 06 00 0C 00 00 00 C8 00", "01 05 02 00 00 00", "13 64 02 00 00 00",
            "07 05 04 00 40 00 41 00", "16 01 04 00 99 99 01 00", "13 64 FF FF",
        ])
    func ignored(payload: String) {
        Scene.play(Signalling(role: .central)) { signalling in signalling.receive(payload) }
    }

    // attacks.json, L2CAP-10
    @Test("Two commands in one frame are too long for it — 4.1, signalling MTU exceeded")
    func twoCommands() {
        Scene.play(Signalling(role: .central)) { signalling in
            signalling.receive("12 11 08 00 06 00 0C 00 00 00 C8 00 12 12 08 00 06 00 0C 00 00 00 C8 00")
            signalling.expect(.send(hex("01 11 04 00 01 00 17 00")))
        }
    }

    // attacks.json, L2CAP-11, L2CAP-16 and L2CAP-25; nimble/coc/incoming_invalid_psm
    @Test(
        "No channel can be opened, changed or closed",
        arguments: [
            ("14 01 0A 00 00 00 41 00 17 00 17 00 01 00", "15 01 0A 00 00 00 00 00 00 00 00 00 02 00"),
            ("14 01 0A 00 00 01 41 00 17 00 17 00 01 00", "15 01 0A 00 00 00 00 00 00 00 00 00 02 00"),
            ("17 01 0A 00 80 00 40 00 40 00 05 00 01 00", "18 01 0A 00 00 00 00 00 00 00 02 00 00 00"),
            ("19 01 06 00 40 00 40 00 55 00", "1A 01 02 00 03 00"),
            ("06 01 04 00 12 34 56 78", "01 01 06 00 02 00 12 34 56 78"),
            ("06 01 02 00 12 34", "01 01 02 00 00 00"),
            ("14 01 02 00 80 00", "01 01 02 00 00 00"),
        ])
    func noChannels(request: String, answer: String) {
        Scene.play(Signalling(role: .peripheral)) { signalling in
            signalling.receive(request)
            signalling.expect(.send(hex(answer)))
        }
    }
}

extension Scene<Signalling> {
    fileprivate mutating func receive(_ payload: String, at location: SourceLocation = #_sourceLocation) {
        input(.receive(hex(payload)[...]), location)
    }
}
