import BluetoothTypes
import EventLoop
import L2CAP
import ProtocolTestKit
import Testing

@Suite("Opening credit-based channels — Core 6.0, Vol 3, Part A, 4.22 to 4.26")
struct ChannelOpeningTests {
    private typealias Stage = Scene<Signalling>

    // MARK: This side opens

    @Test("L2CAP/LE/CFC/BV-02-C, L2CAP/LE/CFC/BV-29-C: opened, from the dynamic range")
    func opened() {
        Stage.playChannels { $0.openLECreditBased() }
    }

    @Test("L2CAP/ECFC/BV-02-C, L2CAP/ECFC/BV-38-C: five at once, from the dynamic range")
    func openedEnhanced() {
        Stage.playChannels { $0.openEnhanced(5) }
    }

    // bluez/L2CAP LE Client - Command Reject
    @Test("L2CAP/LE/CFC/BV-01-C, L2CAP/ECFC/BV-01-C: the peer does not know the request")
    func rejected() {
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .leCreditBased, count: 1))
            stage.say("14 01 0A 00 80 00 40 00 40 00 40 00 04 00")
            stage.hear("01 01 02 00 00 00")
            stage.expect(.openFailed(id: 1, .rejected))
            stage.ask(.open(id: 2, spsm: 0x80, mode: .enhanced, count: 1))
            stage.say("17 02 0A 00 80 00 40 00 40 00 04 00 40 00")
            stage.hear("01 02 02 00 00 00")
            stage.expect(.openFailed(id: 2, .rejected))
        }
    }

    @Test(
        "Refused, with each result there is, and one there is not",
        arguments: [
            ("L2CAP/LE/CFC/BV-04-C, L2CAP/LE/CFC/BV-22-C", 0x02), ("L2CAP/LE/CFC/BV-10-C", 0x05),
            ("L2CAP/LE/CFC/BV-12-C", 0x06), ("L2CAP/LE/CFC/BV-14-C", 0x07), ("L2CAP/LE/CFC/BV-16-C", 0x04),
            ("L2CAP/LE/CFC/BV-18-C", 0x09), ("L2CAP/LE/CFC/BV-19-C", 0x0A), ("L2CAP/LE/CFC/BV-21-C", 0x0B),
            ("L2CAP/LE/CFC/BV-24-C", 0x08), ("a result of the future", 0x22),
        ] as [(String, UInt8)])
    func refused(id: String, result: UInt8) {
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .leCreditBased, count: 1))
            stage.say("14 01 0A 00 80 00 40 00 40 00 40 00 04 00")
            stage.ask(.receive([0x15, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, result, 0]))
            stage.expect(.openFailed(id: 1, .refused(ChannelResult(rawValue: UInt16(result)))))
            // The number is free again.
            stage.ask(.open(id: 2, spsm: 0x80, mode: .leCreditBased, count: 1))
            stage.say("14 02 0A 00 80 00 40 00 40 00 40 00 04 00")
        }
    }

    @Test(
        "Refused, with each result there is",
        arguments: [
            ("L2CAP/ECFC/BV-04-C, L2CAP/ECFC/BV-28-C", 0x02), ("L2CAP/ECFC/BV-10-C", 0x05),
            ("L2CAP/ECFC/BV-12-C", 0x06), ("L2CAP/ECFC/BV-14-C", 0x07), ("L2CAP/ECFC/BV-16-C", 0x04),
            ("L2CAP/ECFC/BV-18-C", 0x09), ("L2CAP/ECFC/BV-19-C", 0x0A), ("L2CAP/ECFC/BV-21-C", 0x0B),
            ("L2CAP/ECFC/BV-31-C", 0x08), ("invalid parameters", 0x0C),
        ] as [(String, UInt8)])
    func refusedEnhanced(id: String, result: UInt8) {
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .enhanced, count: 2))
            stage.say("17 01 0C 00 80 00 40 00 40 00 04 00 40 00 41 00")
            stage.ask(.receive([0x18, 1, 12, 0, 0, 0, 0, 0, 0, 0, result, 0, 0, 0, 0, 0]))
            stage.expect(.openFailed(id: 1, .refused(ChannelResult(rawValue: UInt16(result)))))
        }
    }

    @Test("Some are opened, some refused — 4.26")
    func someRefused() {
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .enhanced, count: 3))
            stage.say("17 01 0E 00 80 00 40 00 40 00 04 00 40 00 41 00 42 00")
            stage.hear("18 01 0E 00 40 00 40 00 01 00 04 00 50 00 00 00 52 00")
            stage.expect(.opened(id: 1, [ChannelID(rawValue: 0x40), ChannelID(rawValue: 0x42)]))
        }
    }

    @Test("Pending for a while — 4.26, ERTX of 6.2.2")
    func pending() {
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .enhanced, count: 1))
            stage.say("17 01 0A 00 80 00 40 00 40 00 04 00 40 00")
            stage.hear("18 01 0A 00 00 00 00 00 00 00 0E 00 00 00")
            stage.wait(.seconds(119))
            stage.hear("18 01 0A 00 40 00 40 00 01 00 00 00 50 00")
            stage.expect(.opened(id: 1, [ChannelID(rawValue: 0x40)]))
        }
    }

    @Test("No answer within the RTX timer's thirty seconds — 6.2.1; a late one answers nothing")
    func timesOut() {
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .leCreditBased, count: 1))
            stage.say("14 01 0A 00 80 00 40 00 40 00 40 00 04 00")
            stage.wait(.seconds(30))
            stage.expect(.openFailed(id: 1, .timedOut))
            stage.hear("15 01 0A 00 41 00 40 00 17 00 02 00 00 00")
        }
    }

    @Test(
        "Answers that break the rules: an MTU or MPS too small, an MPS too large, a number out of range — 4.23",
        arguments: [
            "41 00 16 00 17 00 02 00", "41 00 17 00 16 00 02 00", "41 00 17 00 FE FF 02 00", "3F 00 17 00 17 00 02 00",
            "80 00 17 00 17 00 02 00",
        ])
    func illegalAnswer(fields: String) {
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .leCreditBased, count: 1))
            stage.say("14 01 0A 00 80 00 40 00 40 00 40 00 04 00")
            stage.hear("15 01 0A 00 " + fields + " 00 00")
            stage.expect(.openFailed(id: 1, .illegalAnswer))
        }
    }

    @Test("L2CAP/ECFC/BV-29-C: a number that another channel has, ends both")
    func doubleDestination() {
        Stage.playChannels { stage in
            stage.openEnhanced()
            stage.ask(.send(ChannelID(rawValue: 0x40), Array(repeating: 1, count: 64), token: 1))
            stage.expect(.sendFrame([64, 0, 0x50, 0, 64, 0] + Array(repeating: 1, count: 62), token: nil))
            stage.expect(.sendFrame([2, 0, 0x50, 0, 1, 1], token: 1))
            stage.ask(.send(ChannelID(rawValue: 0x40), [1], token: 2))
            stage.ask(.open(id: 2, spsm: 0x80, mode: .enhanced, count: 2))
            stage.say("17 02 0C 00 80 00 40 00 40 00 04 00 41 00 42 00")
            stage.hear("18 02 0C 00 40 00 40 00 01 00 00 00 50 00 51 00")
            stage.expectClosed(0x40, .violated(.doubleDestination), unsent: [2])
            stage.expect(.opened(id: 2, [ChannelID(rawValue: 0x42)]))
            // Both numbers are free; the peer's frames on them are nobody's.
            stage.hear("01 00 FF", on: 0x40)
        }
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .enhanced, count: 2))
            stage.say("17 01 0C 00 80 00 40 00 40 00 04 00 40 00 41 00")
            stage.hear("18 01 0C 00 40 00 40 00 01 00 00 00 50 00 50 00")
            stage.expect(.openFailed(id: 1, .illegalAnswer))
        }
    }

    @Test("Not possible: too many at once, an SPSM of 0, all numbers in use")
    func notPossible() {
        Stage.playChannels { stage in
            stage.ask(.open(id: 1, spsm: 0x80, mode: .enhanced, count: 6))
            stage.expect(.openFailed(id: 1, .notPossible))
            stage.ask(.open(id: 1, spsm: 0x80, mode: .leCreditBased, count: 2))
            stage.expect(.openFailed(id: 1, .notPossible))
            stage.ask(.open(id: 1, spsm: 0, mode: .leCreditBased, count: 1))
            stage.expect(.openFailed(id: 1, .notPossible))
            for number in UInt8(0)..<64 {
                stage.ask(.open(id: 2, spsm: 0x80, mode: .leCreditBased, count: 1))
                stage.expect(.send([0x14, number + 1, 10, 0, 0x80, 0, 0x40 + number, 0, 64, 0, 64, 0, 4, 0]))
            }
            stage.ask(.open(id: 3, spsm: 0x80, mode: .leCreditBased, count: 1))
            stage.expect(.openFailed(id: 3, .notPossible))
        }
    }

    // MARK: The peer opens

    // bluez/L2CAP LE Server, nimble/coc/incoming_success
    @Test("L2CAP/LE/CFC/BV-03-C: accepted")
    func accepted() {
        Stage.playChannels { stage in
            stage.hear("14 01 0A 00 80 00 41 00 20 00 20 00 05 00")
            stage.say("15 01 0A 00 40 00 40 00 40 00 04 00 00 00")
            stage.expect(.accepted(ChannelID(rawValue: 0x40)))
        }
    }

    // bluez/L2CAP Ext-Flowctl Server
    @Test("L2CAP/ECFC/BV-03-C: accepted, five at once")
    func acceptedEnhanced() {
        Stage.playChannels { stage in
            stage.hear("17 01 12 00 80 00 40 00 40 00 05 00 41 00 42 00 43 00 44 00 45 00")
            stage.say("18 01 12 00 40 00 40 00 04 00 00 00 40 00 41 00 42 00 43 00 44 00")
            for number in UInt16(0x40)...0x44 { stage.expect(.accepted(ChannelID(rawValue: number))) }
        }
    }

    // nimble/coc/incoming_invalid_psm; attacks.json, L2CAP-11
    @Test("L2CAP/LE/CFC/BV-05-C: an SPSM that is not offered", arguments: ["81 00", "00 00", "00 01"])
    func unknown(spsm: String) {
        Stage.playChannels { stage in
            stage.hear("14 01 0A 00 " + spsm + " 41 00 17 00 17 00 01 00")
            stage.say("15 01 0A 00 00 00 00 00 00 00 00 00 02 00")
            stage.hear("17 02 0C 00 " + spsm + " 40 00 40 00 05 00 41 00 42 00")
            stage.say("18 02 0C 00 00 00 00 00 00 00 02 00 00 00 00 00")
        }
    }

    enum Lack: CaseIterable {
        case authentication, encryption, key, authorization, middle

        var requirement: ChannelRequirement {
            var requirement = ChannelRequirement.encrypted
            requirement.keySize = self == .key ? 16 : 7
            requirement.authorization = self == .authorization
            requirement.authentication = self == .middle
            return requirement
        }

        var protection: LinkProtection {
            let security = LinkSecurity(isAuthenticated: false, isSecureConnections: true, keySize: 7)
            let isEncrypted = self == .key || self == .authorization || self == .middle
            return LinkProtection(isEncrypted ? security : nil, hasKey: self != .authentication)
        }

        var result: UInt8 {
            switch self {
            case .authentication, .middle: 0x05
            case .encryption: 0x08
            case .key: 0x07
            case .authorization: 0x06
            }
        }
    }

    @Test(
        """
        L2CAP/LE/CFC/BV-11-C, L2CAP/LE/CFC/BV-13-C, L2CAP/LE/CFC/BV-15-C, L2CAP/LE/CFC/BV-25-C, L2CAP/ECFC/BV-11-C, \
        L2CAP/ECFC/BV-13-C, L2CAP/ECFC/BV-15-C, L2CAP/ECFC/BV-32-C: the link lacks something
        """, arguments: Lack.allCases)
    func insecure(lack: Lack) {
        let offer = ChannelOffer(spsm: 0x80, requirement: lack.requirement)
        Stage.playChannels(offers: [offer], protection: lack.protection) { stage in
            stage.hear("14 01 0A 00 80 00 41 00 17 00 17 00 01 00")
            stage.expect(.send([0x15, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, lack.result, 0]))
            stage.hear("17 02 0A 00 80 00 40 00 40 00 05 00 41 00")
            stage.expect(.send([0x18, 2, 10, 0, 0, 0, 0, 0, 0, 0, lack.result, 0, 0, 0]))
        }
    }

    @Test("A link that has what is demanded")
    func secure() {
        var requirement = ChannelRequirement.encrypted
        requirement.authentication = true
        requirement.authorization = true
        requirement.keySize = 16
        let security = LinkSecurity(isAuthenticated: true, isSecureConnections: true, keySize: 16)
        var protection = LinkProtection(security, hasKey: true)
        protection.isAuthorized = true
        Stage.playChannels(offers: [ChannelOffer(spsm: 0x80, requirement: requirement)], protection: protection) {
            $0.hear("14 01 0A 00 80 00 41 00 17 00 17 00 01 00")
            $0.say("15 01 0A 00 40 00 40 00 40 00 04 00 00 00")
            $0.expect(.accepted(ChannelID(rawValue: 0x40)))
        }
    }

    @Test("What is offered for one of the two kinds of request is not there for the other")
    func otherKind() {
        let capacity = ChannelCapacity(mtu: 70, mps: 65, window: 280)
        Stage.playChannels(offers: [ChannelOffer(spsm: 0x27, mode: .enhanced, capacity: capacity)]) { stage in
            stage.hear("14 01 0A 00 27 00 41 00 17 00 17 00 01 00")
            stage.say("15 01 0A 00 00 00 00 00 00 00 00 00 02 00")
            stage.hear("17 02 0A 00 27 00 40 00 40 00 05 00 41 00")
            stage.say("18 02 0A 00 46 00 41 00 04 00 00 00 40 00")
            stage.expect(.accepted(ChannelID(rawValue: 0x40)))
        }
    }

    // nimble/coc/incoming_rejected_by_app
    @Test("L2CAP/LE/CFC/BV-17-C, L2CAP/ECFC/BV-17-C: no resources, for all or for some")
    func noResources() {
        Stage.playChannels(offers: [ChannelOffer(spsm: 0x80, mostChannels: 2)]) { stage in
            stage.hear("17 01 0E 00 80 00 40 00 40 00 05 00 41 00 42 00 43 00")
            stage.say("18 01 0E 00 40 00 40 00 04 00 04 00 40 00 41 00 00 00")
            stage.expect(.accepted(ChannelID(rawValue: 0x40)))
            stage.expect(.accepted(ChannelID(rawValue: 0x41)))
            stage.hear("14 02 0A 00 80 00 44 00 17 00 17 00 01 00")
            stage.say("15 02 0A 00 00 00 00 00 00 00 00 00 04 00")
            stage.hear("17 03 0A 00 80 00 40 00 40 00 05 00 44 00")
            stage.say("18 03 0A 00 00 00 00 00 00 00 04 00 00 00")
        }
    }

    // attacks.json, L2CAP-16: bluez/L2CAP Ext-Flowctl Server - Nval SCID
    @Test("A source out of range is refused, the others of the request are not — 4.23, 4.26")
    func invalidSource() {
        Stage.playChannels { stage in
            stage.hear("14 01 0A 00 80 00 3F 00 17 00 17 00 01 00")
            stage.say("15 01 0A 00 00 00 00 00 00 00 00 00 09 00")
            stage.hear("17 02 0A 00 80 00 40 00 40 00 05 00 01 00")
            stage.say("18 02 0A 00 00 00 00 00 00 00 09 00 00 00")
            stage.hear("17 03 0C 00 80 00 40 00 40 00 05 00 80 00 41 00")
            stage.say("18 03 0C 00 40 00 40 00 04 00 09 00 00 00 40 00")
            stage.expect(.accepted(ChannelID(rawValue: 0x40)))
        }
    }

    @Test("L2CAP/LE/CFC/BV-20-C, L2CAP/ECFC/BV-20-C: a source in use, before or in the same request")
    func sourceInUse() {
        Stage.playChannels { stage in
            stage.hear("14 01 0A 00 80 00 41 00 17 00 17 00 01 00")
            stage.say("15 01 0A 00 40 00 40 00 40 00 04 00 00 00")
            stage.expect(.accepted(ChannelID(rawValue: 0x40)))
            stage.hear("14 02 0A 00 80 00 41 00 17 00 17 00 01 00")
            stage.say("15 02 0A 00 00 00 00 00 00 00 00 00 0A 00")
            stage.hear("17 03 0E 00 80 00 40 00 40 00 05 00 41 00 42 00 42 00")
            stage.say("18 03 0E 00 40 00 40 00 04 00 0A 00 00 00 41 00 00 00")
            stage.expect(.accepted(ChannelID(rawValue: 0x41)))
        }
    }

    @Test(
        "Parameters that no peer may have — 4.22",
        arguments: ["16 00 17 00 01 00", "17 00 16 00 01 00", "17 00 FE FF 01 00"])
    func unacceptable(parameters: String) {
        Stage.playChannels { stage in
            stage.hear("14 01 0A 00 80 00 41 00 " + parameters)
            stage.say("15 01 0A 00 00 00 00 00 00 00 00 00 0B 00")
        }
    }

    @Test("Enhanced: an MTU or MPS below 64, no credits, no or too many sources — 4.25")
    func unacceptableEnhanced() {
        Stage.playChannels { stage in
            stage.hear("17 01 0A 00 80 00 3F 00 40 00 05 00 41 00")
            stage.say("18 01 0A 00 00 00 00 00 00 00 0B 00 00 00")
            stage.hear("17 02 0A 00 80 00 40 00 3F 00 05 00 41 00")
            stage.say("18 02 0A 00 00 00 00 00 00 00 0B 00 00 00")
            stage.hear("17 03 0A 00 80 00 40 00 40 00 00 00 41 00")
            stage.say("18 03 0A 00 00 00 00 00 00 00 0C 00 00 00")
            stage.hear("17 04 08 00 80 00 40 00 40 00 05 00")
            stage.say("18 04 08 00 00 00 00 00 00 00 0C 00")
            stage.hear("17 05 14 00 80 00 40 00 40 00 05 00 41 00 42 00 43 00 44 00 45 00 46 00")
            stage.say("01 05 04 00 01 00 17 00")
        }
    }

    @Test(
        "L2CAP/LE/CFC/BI-02-C: a command of the wrong size",
        arguments: [
            "14 01 09 00 80 00 41 00 17 00 17 00 01", "14 01 0B 00 80 00 41 00 17 00 17 00 01 00 00",
            "17 01 07 00 80 00 40 00 40 00 05", "17 01 09 00 80 00 40 00 40 00 05 00 41", "19 01 03 00 40 00 40",
            "06 01 03 00 40 00 41", "14 01 0A 00 80 00 41 00",
        ])
    func wrongSize(command: String) {
        Stage.playChannels { stage in
            stage.hear(command)
            stage.say("01 01 02 00 00 00")
        }
    }
}
