import EventLoop
import L2CAP
import ProtocolTestKit
import Testing

@Suite("Closing and reconfiguring channels — Core 6.0, Vol 3, Part A, 4.6, 4.7, 4.27 and 4.28")
struct ChannelClosingTests {
    private typealias Stage = Scene<Signalling>

    private static let channel = ChannelID(rawValue: 0x40)

    @Test("L2CAP/LE/CFC/BV-08-C, L2CAP/ECFC/BV-08-C: this side closes; what was not sent is lost")
    func closes() {
        Stage.playChannels { stage in
            stage.openLECreditBased(credits: 1)
            stage.ask(.send(Self.channel, Array(1...30), token: 1))
            stage.expect(.sendFrame([23, 0, 0x41, 0, 30, 0] + Array(1...21), token: nil))
            stage.ask(.send(Self.channel, [1], token: 2))
            stage.ask(.close(Self.channel))
            stage.say("06 02 04 00 41 00 40 00")
            stage.hear("16 01 04 00 41 00 05 00")
            stage.hear("01 00 AA", on: 0x40)
            stage.hear("07 02 04 00 41 00 40 00")
            stage.expectClosed(0x40, .closedHere, unsent: [1, 2])
        }
        Stage.playChannels { stage in
            stage.openEnhanced()
            stage.ask(.close(Self.channel))
            stage.say("06 02 04 00 50 00 40 00")
            stage.hear("07 02 04 00 50 00 40 00")
            stage.expectClosed(0x40, .closedHere)
        }
    }

    @Test("L2CAP/LE/CFC/BV-09-C, L2CAP/ECFC/BV-09-C: the peer closes")
    func closedByPeer() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            stage.hear("06 05 04 00 40 00 41 00")
            stage.say("07 05 04 00 40 00 41 00")
            stage.expectClosed(0x40, .closedByPeer)
        }
        Stage.playChannels { stage in
            stage.openEnhanced()
            stage.hear("06 05 04 00 40 00 50 00")
            stage.say("07 05 04 00 40 00 50 00")
            stage.expectClosed(0x40, .closedByPeer)
        }
    }

    @Test("Both close at once")
    func bothClose() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            stage.ask(.close(Self.channel))
            stage.say("06 02 04 00 41 00 40 00")
            stage.hear("06 05 04 00 40 00 41 00")
            stage.say("07 05 04 00 40 00 41 00")
            stage.expectClosed(0x40, .closedHere)
            stage.hear("07 02 04 00 41 00 40 00")
        }
    }

    @Test("A close that the peer does not answer, or rejects, closes too — 6.2.1", arguments: [true, false])
    func closeWithoutAnswer(isRejected: Bool) {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            stage.ask(.close(Self.channel))
            stage.say("06 02 04 00 41 00 40 00")
            // Another channel's answer is not this one's.
            stage.hear("07 02 04 00 41 00 42 00")
            if isRejected { stage.hear("01 02 06 00 02 00 41 00 40 00") } else { stage.wait(.seconds(30)) }
            stage.expectClosed(0x40, .closedHere)
        }
    }

    // nimble/coc/incoming_disconnect_bad_cids, incoming_disconnect_bad_dcid; attacks.json, L2CAP-25
    @Test("L2CAP/LE/CFC/BV-23-C, L2CAP/ECFC/BV-30-C: a close of another channel, or of half of one")
    func wrongClose() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            stage.hear("06 01 04 00 12 34 56 78")
            stage.say("01 01 06 00 02 00 12 34 56 78")
            stage.hear("06 02 04 00 42 00 41 00")
            stage.say("01 02 06 00 02 00 42 00 41 00")
            stage.hear("06 03 04 00 40 00 42 00")
            stage.ask(.send(Self.channel, [1], token: 1))
            stage.sayFrame("03 00 41 00 01 00 01", token: 1)
        }
    }

    // bluez/L2CAP LE Client - Open two sockets close one
    @Test("The peer cannot close what it has not accepted yet")
    func closeWhileOpening() {
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .leCreditBased, count: 1))
            stage.say("14 01 0A 00 80 00 40 00 40 00 40 00 04 00")
            stage.hear("06 01 04 00 40 00 00 00")
            stage.hear("15 01 0A 00 41 00 40 00 17 00 02 00 00 00")
            stage.expect(.opened(id: 1, [Self.channel]))
        }
    }

    // MARK: Reconfiguring

    @Test("L2CAP/ECFC/BV-22-C, L2CAP/ECFC/BV-24-C: a greater MTU and MPS of this side")
    func raises() {
        Stage.playChannels { stage in
            stage.openEnhanced(2)
            let both = [ChannelID(rawValue: 0x40), ChannelID(rawValue: 0x41)]
            stage.ask(.reconfigure(id: 1, both, mtu: 100, mps: 80))
            stage.say("19 02 08 00 64 00 50 00 40 00 41 00")
            // One at a time.
            stage.ask(.reconfigure(id: 2, [both[0]], mtu: 100, mps: 80))
            stage.expect(.reconfigured(id: 2, .notPossible))
            stage.hear("1A 02 02 00 00 00")
            stage.expect(.reconfigured(id: 1, nil))
            stage.hear(frame: [78, 0] + Array(repeating: 1, count: 78), on: 0x41)
            stage.expectReceived(octets: Array(repeating: 1, count: 78), on: 0x41)
        }
    }

    @Test("The peer refuses, rejects, or does not answer — 4.28")
    func notReconfigured() {
        Stage.playChannels { stage in
            stage.openEnhanced()
            stage.ask(.reconfigure(id: 1, [Self.channel], mtu: 100, mps: 80))
            stage.say("19 02 06 00 64 00 50 00 40 00")
            stage.hear("1A 02 02 00 04 00")
            stage.expect(.reconfigured(id: 1, .notReconfigured(.unacceptableParameters)))
            stage.ask(.reconfigure(id: 2, [Self.channel], mtu: 100, mps: 80))
            stage.say("19 03 06 00 64 00 50 00 40 00")
            stage.hear("01 03 02 00 00 00")
            stage.expect(.reconfigured(id: 2, .rejected))
            stage.ask(.reconfigure(id: 3, [Self.channel], mtu: 100, mps: 80))
            stage.say("19 04 06 00 64 00 50 00 40 00")
            stage.wait(.seconds(30))
            stage.expect(.reconfigured(id: 3, .timedOut))
            for (mtu, mps) in [(63, 64), (64, 63), (64, 65534)] as [(UInt16, UInt16)] {
                stage.ask(.reconfigure(id: 4, [Self.channel], mtu: mtu, mps: mps))
                stage.expect(.reconfigured(id: 4, .notPossible))
            }
        }
    }

    @Test("L2CAP/ECFC/BV-23-C, L2CAP/ECFC/BV-25-C: a greater MTU and MPS of the peer")
    func raised() {
        Stage.playChannels { stage in
            stage.openEnhanced()
            stage.hear("19 05 06 00 64 00 50 00 50 00")
            stage.say("1A 05 02 00 00 00")
            stage.expect(.peerTakesMore(Self.channel))
            stage.ask(.send(Self.channel, Array(1...78), token: 1))
            stage.expect(.sendFrame([80, 0, 0x50, 0, 78, 0] + Array(1...78), token: 1))
        }
    }

    @Test(
        """
        L2CAP/ECFC/BV-26-C, L2CAP/ECFC/BV-27-C, L2CAP/ECFC/BI-03-C, L2CAP/ECFC/BI-04-C, L2CAP/ECFC/BI-05-C, \
        L2CAP/ECFC/BI-06-C, L2CAP/ECFC/BI-07-C: a smaller MTU, a smaller MPS of two, unknown channels, one channel \
        twice, no channels, impossible values
        """,
        arguments: [
            ("06 00 63 00 64 00 50 00", 0x01), ("08 00 64 00 63 00 50 00 51 00", 0x02),
            ("06 00 64 00 64 00 52 00", 0x03),
            ("06 00 64 00 64 00 00 00", 0x03), ("08 00 64 00 64 00 50 00 50 00", 0x04), ("04 00 64 00 64 00", 0x04),
            ("06 00 3F 00 40 00 50 00", 0x04), ("06 00 40 00 3F 00 50 00", 0x04), ("06 00 64 00 FE FF 50 00", 0x04),
        ] as [(String, UInt8)])
    func refusesReconfiguration(fields: String, result: UInt8) {
        Stage.playChannels { stage in
            stage.openEnhanced(2, mtu: 0x64, mps: 0x64)
            stage.hear("19 05 " + fields)
            stage.expect(.send([0x1A, 5, 2, 0, result, 0]))
        }
    }

    @Test("A smaller MPS of one channel is allowed — 4.27")
    func smallerMPSOfOne() {
        Stage.playChannels { stage in
            stage.openEnhanced(mtu: 100, mps: 100)
            stage.hear("19 05 06 00 64 00 40 00 50 00")
            stage.say("1A 05 02 00 00 00")
            stage.ask(.send(Self.channel, Array(1...63), token: 1))
            stage.expect(.sendFrame([64, 0, 0x50, 0, 63, 0] + Array(1...62), token: nil))
            stage.sayFrame("01 00 50 00 3F", token: 1)
        }
    }

    @Test("Channels of the other mode are not reconfigured")
    func otherMode() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            stage.hear("19 05 06 00 64 00 64 00 41 00")
            stage.say("1A 05 02 00 03 00")
            stage.ask(.reconfigure(id: 1, [Self.channel], mtu: 100, mps: 80))
            stage.expect(.reconfigured(id: 1, .notPossible))
        }
    }

    // attacks.json, L2CAP-18
    @Test("Sixty channels in one command are too long for it — 4.1")
    func tooMany() {
        Stage.playChannels { stage in
            let command =
                [0x19, 1, 124, 0, 0x40, 0, 0x40, 0] + Array(repeating: [0x40, 0] as [UInt8], count: 60).joined()
            stage.ask(.receive(command[...]))
            stage.say("01 01 04 00 01 00 17 00")
        }
    }
}
