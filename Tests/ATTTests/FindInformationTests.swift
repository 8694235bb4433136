import ATT
import BluetoothTypes
import ByteCodec
import ProtocolTestKit
import Testing

@Suite("Find Information — Core 6.0, Vol 3, Part F, 3.4.3")
struct FindInformationTests {
    @Test("The request is two handles")
    func request() throws {
        var request = FindInformationRequest()
        request.startingHandle = 0x0004
        request.endingHandle = 0x0006
        try expectSymmetry(of: request, and: "04 00 06 00")
        #expect(request.pdu == hex("04 04 00 06 00"))
        #expect(request.summary == "Starting Handle: 0x0004\nEnding Handle: 0x0006")
    }

    @Test("The response says once how wide its types are")
    func response() throws {
        var response = FindInformationResponse()
        response.attributes = [
            .init(handle: 0x0004, type: .uuid16(0x2902)), .init(handle: 0x0005, type: .uuid16(0x2901)),
        ]
        try expectSymmetry(of: response, and: "01 04 00 02 29 05 00 01 29")

        response.format = .uuid128
        response.attributes = [.init(handle: 0x0004, type: .uuid128(0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F))]
        try expectSymmetry(of: response, and: "02 04 00 0F 0E 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01 00")
    }

    @Test(
        "A malformed response names the field at fault",
        arguments: [
            ("", PacketError(.truncated, field: "Format")),
            ("03 04 00 02 29", PacketError(.valueNotAllowed(3), field: "Format")),
            ("01 04 00 02", PacketError(.truncated, field: "UUID")),
            ("01 04 00 02 29 05", PacketError(.truncated, field: "Handle")),
        ])
    func malformed(octets: String, error: PacketError) {
        #expect(throws: error) { try FindInformationResponse(octets: hex(octets)) }
    }
}

/// Checks both directions: the packet becomes these octets, and these octets become the packet.
func expectSymmetry<P: Packet>(
    of packet: P, and text: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    #expect(packet.octets == hex(text), sourceLocation: sourceLocation)
    #expect(try P(octets: hex(text)) == packet, sourceLocation: sourceLocation)
}
