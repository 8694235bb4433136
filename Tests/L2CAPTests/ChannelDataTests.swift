import EventLoop
import L2CAP
import ProtocolTestKit
import Testing

@Suite("Data on credit-based channels — Core 6.0, Vol 3, Part A, 3.4 and 10.1")
struct ChannelDataTests {
    private typealias Stage = Scene<Signalling>

    private static let channel = ChannelID(rawValue: 0x40)

    private static func octets(_ range: ClosedRange<UInt8>) -> String {
        range.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    }

    // MARK: Sending

    @Test("L2CAP/COS/CFC/BV-02-C: an SDU in one frame")
    func oneFrame() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            stage.ask(.send(Self.channel, [1, 2, 3], token: 9))
            stage.sayFrame("05 00 41 00 03 00 01 02 03", token: 9)
        }
    }

    @Test("L2CAP/COS/CFC/BV-01-C, L2CAP/COS/ECFC/BV-01-C: an SDU cut into frames of the peer's MPS")
    func segmented() {
        Stage.playChannels { stage in
            stage.openLECreditBased(credits: 3)
            stage.ask(.send(Self.channel, Array(1...50), token: 9))
            stage.sayFrame("17 00 41 00 32 00 " + Self.octets(1...21))
            stage.sayFrame("17 00 41 00 " + Self.octets(22...44))
            stage.sayFrame("06 00 41 00 " + Self.octets(45...50), token: 9)
        }
    }

    @Test("L2CAP/LE/CFC/BV-32-C, L2CAP/ECFC/BV-80-C: an SDU that fills one frame to the octet, and one of nothing")
    func exactly() {
        Stage.playChannels { stage in
            stage.openLECreditBased(credits: 3)
            stage.ask(.send(Self.channel, Array(1...21), token: 9))
            stage.sayFrame("17 00 41 00 15 00 " + Self.octets(1...21), token: 9)
            stage.ask(.send(Self.channel, [], token: 10))
            stage.sayFrame("02 00 41 00 00 00", token: 10)
        }
    }

    @Test("L2CAP/LE/CFC/BV-06-C, L2CAP/ECFC/BV-06-C: without credits it waits, and goes on with them")
    func waitsForCredits() {
        Stage.playChannels { stage in
            stage.openLECreditBased(credits: 1)
            stage.ask(.send(Self.channel, Array(1...50), token: 9))
            stage.sayFrame("17 00 41 00 32 00 " + Self.octets(1...21))
            stage.ask(.send(Self.channel, [51], token: 10))
            stage.hear("16 01 04 00 41 00 01 00")
            stage.sayFrame("17 00 41 00 " + Self.octets(22...44))
            stage.hear("16 02 04 00 41 00 10 00")
            stage.sayFrame("06 00 41 00 " + Self.octets(45...50), token: 9)
            stage.sayFrame("03 00 41 00 01 00 33", token: 10)
        }
    }

    @Test("A queue that never runs empty holds what waits, and not what was sent")
    func neverEmpty() {
        Stage.playChannels { stage in
            stage.openLECreditBased(credits: 1)
            stage.ask(.send(Self.channel, [0], token: 0))
            stage.sayFrame("03 00 41 00 01 00 00", token: 0)
            stage.ask(.send(Self.channel, [1], token: 1))
            for number in UInt64(2)...1000 {
                stage.ask(.send(Self.channel, [UInt8(truncatingIfNeeded: number)], token: number))
                stage.hear("16 01 04 00 41 00 01 00")
                let sent = UInt8(truncatingIfNeeded: number - 1)
                stage.expect(.sendFrame([3, 0, 0x41, 0, 1, 0, sent], token: number - 1))
            }
            // Nobody asks for what has been sent, so only a look inside shows it.
            let held = Mirror(reflecting: stage).descendant("machine", "channels", 0, "queue") as? [Any]
            #expect((held?.count).map { $0 < 100 } == true)
        }
    }

    @Test("L2CAP/COS/CFC/BV-05-C, L2CAP/COS/ECFC/BV-03-C: each channel has its own SDUs and credits")
    func interleaved() {
        Stage.playChannels { stage in
            stage.openEnhanced(2, credits: 1)
            stage.ask(.send(ChannelID(rawValue: 0x40), [1], token: 1))
            stage.sayFrame("03 00 50 00 01 00 01", token: 1)
            stage.ask(.send(ChannelID(rawValue: 0x40), [2], token: 2))
            stage.ask(.send(ChannelID(rawValue: 0x41), [3], token: 3))
            stage.sayFrame("03 00 51 00 01 00 03", token: 3)
            stage.hear("04 00 01 02", on: 0x40)
            stage.hear("04 00 0A 0B", on: 0x41)
            stage.hear("03 04", on: 0x40)
            stage.expectReceived("01 02 03 04", on: 0x40)
            stage.say("16 02 04 00 40 00 01 00")
            stage.hear("0C 0D", on: 0x41)
            stage.expectReceived("0A 0B 0C 0D", on: 0x41)
            stage.say("16 03 04 00 41 00 01 00")
        }
    }

    @Test("Frames fill whole link-layer packets of 251 octets, if the peer takes such")
    func bestLengths() {
        // MPS of the peer, and how long an SDU of a stream to its MTU of 2048 is best.
        for (mps, expected) in [
            (23, 182), (246, 1966), (247, 1974), (251, 1974), (512, 1990), (1004, 1998), (2000, 1998),
        ]
            as [(UInt16, Int)]
        {
            var machine = Signalling(role: .central)
            _ = machine.handle(.open(id: 1, spsm: 0x80, mode: .leCreditBased, count: 1), at: Instant())
            var response = LECreditBasedConnectionResponse()
            response.destination = 0x41
            response.mtu = 2048
            response.mps = mps
            response.credits = 100
            _ = machine.handle(.receive(response.payload(identifier: 1)[...]), at: Instant())
            #expect(machine.information(Self.channel)?.bestLength == expected, "MPS \(mps)")
        }
    }

    // MARK: Receiving

    // nimble/coc/recv
    @Test("L2CAP/COS/CFC/BV-04-C, L2CAP/LE/CFC/BV-32-C: an SDU in one frame")
    func receivesOne() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            stage.hear("03 00 01 02 03", on: 0x40)
            stage.expectReceived("01 02 03")
        }
    }

    @Test("L2CAP/COS/CFC/BV-03-C, L2CAP/COS/ECFC/BV-02-C: frames put together")
    func reassembled() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            stage.hear("05 00", on: 0x40)
            stage.say("16 02 04 00 40 00 01 00")
            stage.hear("01 02", on: 0x40)
            stage.hear("03 04 05", on: 0x40)
            stage.expectReceived("01 02 03 04 05")
            stage.say("16 03 04 00 40 00 01 00")
        }
    }

    @Test("L2CAP/LE/CFC/BV-07-C, L2CAP/ECFC/BV-07-C: credits as what came is read, and not before")
    func givesCredits() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            // Four credits for a window of 256 octets, frames of 64.
            for _ in 0..<4 {
                stage.hear(frame: [62, 0] + Array(repeating: 1, count: 62))
                stage.expectReceived(octets: Array(repeating: 1, count: 62))
            }
            stage.ask(.read(Self.channel, 10))
            stage.ask(.read(Self.channel, 50))
            stage.say("16 02 04 00 40 00 01 00")
            stage.ask(.read(Self.channel, 188))
            stage.say("16 03 04 00 40 00 03 00")
        }
        Stage.playChannels { stage in
            stage.openEnhanced()
            stage.hear(frame: [62, 0] + Array(repeating: 1, count: 62))
            stage.expectReceived(octets: Array(repeating: 1, count: 62))
            stage.ask(.read(Self.channel, 64))
            stage.say("16 02 04 00 40 00 01 00")
        }
    }

    @Test("A peer that cuts its SDUs very small gets the credits to end one")
    func smallFrames() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            // An SDU of 60 octets in frames of one. They take up little of the window of 256, so that for each frame
            // but the first, which leaves room for three, one credit comes back.
            stage.hear("3C 00 01", on: 0x40)
            for number in UInt8(2)...59 {
                stage.hear("01", on: 0x40)
                stage.expect(.send([0x16, number, 4, 0, 0x40, 0, 1, 0]))
            }
            stage.hear("01", on: 0x40)
            stage.expectReceived(octets: Array(repeating: 1, count: 60))
            stage.expect(.send([0x16, 60, 4, 0, 0x40, 0, 1, 0]))
        }
    }

    // MARK: What ends a channel

    @Test(
        """
        L2CAP/LE/CFC/BV-26-C, L2CAP/LE/CFC/BV-27-C, L2CAP/LE/CFC/BV-28-C, L2CAP/ECFC/BV-33-C, L2CAP/ECFC/BV-34-C, \
        L2CAP/ECFC/BV-35-C, attacks.json L2CAP-07, L2CAP-23: frames that break the rules
        """,
        arguments: [
            ([[65, 0, 1]], .sduTooLong), ([[64, 0] + Array(repeating: 1, count: 63)], .frameTooLong),
            ([[2, 0, 1, 2, 3]], .lengthExceeded), ([[3, 0, 1], [2, 3, 4]], .lengthExceeded), ([[]], .emptyFrame),
            ([[3, 0, 1], []], .emptyFrame), ([[5]], .noLength),
        ] as [([[UInt8]], ChannelViolation)])
    func violations(frames: [[UInt8]], violation: ChannelViolation) {
        Stage.playChannels { stage in
            stage.openLECreditBased(credits: 1)
            for frame in frames { stage.hear(frame: frame) }
            stage.say("06 02 04 00 41 00 40 00")
            stage.expectClosed(0x40, .violated(violation))
            // What comes after it is thrown away; the answer ends it.
            stage.hear("01 00 01", on: 0x40)
            stage.ask(.send(Self.channel, [1], token: 1))
            stage.hear("07 02 04 00 41 00 40 00")
        }
        Stage.playChannels { stage in
            stage.openEnhanced(credits: 1)
            for frame in frames { stage.hear(frame: frame) }
            stage.say("06 02 04 00 50 00 40 00")
            stage.expectClosed(0x40, .violated(violation))
        }
    }

    // attacks.json, L2CAP-22
    @Test("L2CAP/LE/CFC/BI-01-C, L2CAP/ECFC/BI-02-C: the peer sends without a credit")
    func withoutCredit() {
        Stage.playChannels { stage in
            stage.openLECreditBased()
            for _ in 0..<4 {
                stage.hear(frame: [62, 0] + Array(repeating: 1, count: 62))
                stage.expectReceived(octets: Array(repeating: 1, count: 62))
            }
            stage.hear("01 00 AA", on: 0x40)
            stage.say("06 02 04 00 41 00 40 00")
            stage.expectClosed(0x40, .violated(.frameWithoutCredit))
        }
        Stage.playChannels { stage in
            stage.openEnhanced()
            for _ in 0..<4 {
                stage.hear(frame: [62, 0] + Array(repeating: 1, count: 62))
                stage.expectReceived(octets: Array(repeating: 1, count: 62))
            }
            stage.hear("01 00 AA", on: 0x40)
            stage.say("06 02 04 00 50 00 40 00")
            stage.expectClosed(0x40, .violated(.frameWithoutCredit))
        }
    }

    // attacks.json, L2CAP-21
    @Test(
        "L2CAP/LE/CFC/BI-01-C, L2CAP/ECFC/BI-01-C: credits of 0, or more than 65535 in all",
        arguments: ["00 00", "FF FF"])
    func impossibleCredits(credits: String) {
        Stage.playChannels { stage in
            stage.openLECreditBased(credits: 1)
            stage.ask(.send(Self.channel, [1], token: 1))
            stage.sayFrame("03 00 41 00 01 00 01", token: 1)
            stage.ask(.send(Self.channel, Array(1...30), token: 2))
            if credits == "FF FF" {
                stage.hear("16 01 04 00 41 00 03 00")
                stage.sayFrame("17 00 41 00 1E 00 " + Self.octets(1...21))
                stage.sayFrame("09 00 41 00 " + Self.octets(22...30), token: 2)
            }
            stage.hear("16 01 04 00 41 00 " + credits)
            stage.say("06 02 04 00 41 00 40 00")
            stage.expectClosed(0x40, .violated(.impossibleCredits), unsent: credits == "FF FF" ? [] : [2])
        }
    }

    @Test("L2CAP/LE/CID/BI-01-C: frames and credits for channels that are not there")
    func unknownChannels() {
        Stage.playChannels { stage in
            stage.hear("01 00 AA", on: 0x40)
            stage.hear("16 01 04 00 41 00 01 00")
            stage.ask(.send(Self.channel, [1], token: 1))
            stage.ask(.read(Self.channel, 1))
            stage.ask(.close(Self.channel))
        }
    }
}
