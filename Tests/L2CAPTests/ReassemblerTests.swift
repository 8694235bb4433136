import L2CAP
import ProtocolTestKit
import Testing

@Suite("Reassembly — Core 6.0, Vol 3, Part A, 7.2.2")
struct ReassemblerTests {
    @Test("A PDU in one piece is a slice of what came")
    func whole() {
        var reassembler = Reassembler()
        let pdu = receive(&reassembler, "03 00 04 00 0A 03 00")
        #expect(pdu == .init(channel: .attribute, payload: [0x0A, 0x03, 0x00]))
        #expect(pdu?.payload.startIndex == 4)
    }

    @Test(
        """
        L2CAP/LE/CFC/BV-30-C, L2CAP/LE/CFC/BV-31-C, L2CAP/ECFC/BV-41-C: signalling frames and frames of channels in \
        pieces, also such as split the header
        """, arguments: [0x04, 0x05, 0x40] as [UInt8])
    func pieces(channel: UInt8) {
        for cut in 1..<7 {
            var reassembler = Reassembler()
            let octets: [UInt8] = [0x03, 0x00, channel, 0x00, 0x0A, 0x03, 0x00]
            #expect(reassembler.receive(octets[..<cut], isStart: true) == nil)
            #expect(
                reassembler.receive(octets[cut...], isStart: false)
                    == .init(channel: ChannelID(rawValue: UInt16(channel)), payload: [0x0A, 0x03, 0x00]))
            #expect(reassembler.violations == 0)
        }
    }

    @Test("Octet by octet")
    func octetByOctet() {
        var reassembler = Reassembler()
        let octets = hex("03 00 34 12 0A 03 00")
        var pdus: [Reassembler.PDU] = []
        for index in octets.indices {
            if let pdu = reassembler.receive(octets[index...index], isStart: index == 0) { pdus.append(pdu) }
        }
        #expect(pdus == [.init(channel: ChannelID(rawValue: 0x1234), payload: [0x0A, 0x03, 0x00])])
    }

    // nimble/frag/single/1
    @Test("A continuation without a start is lost")
    func loneContinuation() {
        var reassembler = Reassembler()
        let pdu = receive(&reassembler, "03 00 04 00 0A 03 00", isStart: false)
        #expect(pdu == nil)
        #expect(reassembler.violations == 1)
    }

    @Test("A start inside a PDU ends that one and begins the next")
    func startInside() {
        var reassembler = Reassembler()
        var pdu = receive(&reassembler, "05 00 04 00 0A")
        #expect(pdu == nil)
        pdu = receive(&reassembler, "01 00 04 00 0B")
        #expect(pdu == .init(channel: .attribute, payload: [0x0B]))
        #expect(reassembler.violations == 1)
    }

    @Test(
        "What is longer than it says is lost, and the next PDU is not",
        arguments: [
            ["00 00 04 00 10 ED EA"],  // attacks.json, L2CAP-01 (SweynTooth, CVE-2019-17517)
            ["04 00 04 00 01", "02 03 04 05"],
        ])
    func tooMuch(fragments: [String]) {
        var reassembler = Reassembler()
        for (index, fragment) in fragments.enumerated() {
            let pdu = receive(&reassembler, fragment, isStart: index == 0)
            #expect(pdu == nil)
        }
        #expect(reassembler.violations == 1)
        let pdu = receive(&reassembler, "01 00 04 00 0B")
        #expect(pdu == .init(channel: .attribute, payload: [0x0B]))
    }

    // attacks.json, L2CAP-06
    @Test("A length beyond every channel's MTU is refused at once, and its octets are not kept")
    func tooLong() {
        var reassembler = Reassembler()
        var pdu = receive(&reassembler, "FF FF 04 00 01")
        #expect(pdu == nil)
        #expect(reassembler.violations == 1)
        for _ in 0..<100 {
            pdu = reassembler.receive(Array(repeating: 0, count: 251)[...], isStart: false)
            #expect(pdu == nil)
        }
        #expect(reassembler.violations == 1)
        pdu = receive(&reassembler, "01 00 04 00 0B")
        #expect(pdu == .init(channel: .attribute, payload: [0x0B]))
    }

    @Test("An empty PDU is a PDU; an empty fragment is nothing")
    func empty() {
        var reassembler = Reassembler()
        var pdu = receive(&reassembler, "00 00 05 00")
        #expect(pdu == .init(channel: .signalling, payload: []))
        pdu = receive(&reassembler, "")
        #expect(pdu == nil)
        #expect(reassembler.violations == 1)
    }

    @Test("What is sent is what is received")
    func symmetry() {
        var reassembler = Reassembler()
        let octets = l2capPDU([1, 2, 3], channel: .securityManager)
        #expect(octets == hex("03 00 06 00 01 02 03"))
        let pdu = reassembler.receive(octets[...], isStart: true)
        #expect(pdu == .init(channel: .securityManager, payload: [1, 2, 3]))
    }

    private func receive(_ reassembler: inout Reassembler, _ octets: String, isStart: Bool = true) -> Reassembler.PDU? {
        reassembler.receive(hex(octets)[...], isStart: isStart)
    }
}
