import ATT
import BluetoothTypes
import ByteCodec
import ProtocolTestKit
import Testing

@Suite("Attribute PDUs — Core 6.0, Vol 3, Part F, 3.4")
struct PDUTests {
    @Test("Each PDU becomes its octets, and these become the PDU")
    func layouts() throws {
        try expect(ErrorResponse(.attributeNotFound, to: .readByTypeRequest, at: 3), "01 08 03 00 0A")
        try expect(ExchangeMTURequest(clientRxMTU: 517), "02 05 02")
        try expect(ExchangeMTUResponse(serverRxMTU: 185), "03 B9 00")
        try expect(FindInformationRequest(from: 1, through: 0xFFFF), "04 01 00 FF FF")
        try expect(
            FindByTypeValueRequest(from: 1, through: 0xFFFF, type: 0x2800, value: [0x0D, 0x18]),
            "06 01 00 FF FF 00 28 0D 18")
        try expect(FindByTypeValueResponse(groups: [.init(handle: 1, end: 7)]), "07 01 00 07 00")
        try expect(ReadByTypeRequest(from: 1, through: 8, type: .uuid16(0x2803)), "08 01 00 08 00 03 28")
        try expect(ReadByTypeResponse(attributes: [.init(handle: 3, value: [0xAA])]), "09 03 03 00 AA")
        try expect(ReadRequest(handle: 3), "0A 03 00")
        try expect(ReadResponse(value: [0xAA]), "0B AA")
        try expect(ReadBlobRequest(handle: 3, offset: 22), "0C 03 00 16 00")
        try expect(ReadBlobResponse(part: []), "0D")
        try expect(ReadMultipleRequest(handles: [3, 7]), "0E 03 00 07 00")
        try expect(ReadMultipleResponse(values: [0xAA]), "0F AA")
        try expect(ReadByGroupTypeRequest(from: 1, through: 8, groupType: .uuid16(0x2800)), "10 01 00 08 00 00 28")
        try expect(
            ReadByGroupTypeResponse(groups: [.init(handle: 1, end: 4, value: [0x01, 0x18])]), "11 06 01 00 04 00 01 18")
        try expect(WriteRequest(handle: 3, value: [0xAA]), "12 03 00 AA")
        try expect(WriteResponse(), "13")
        let part = PrepareWriteRequest(handle: 3, offset: 18, part: [0xAA])
        try expect(part, "16 03 00 12 00 AA")
        try expect(PrepareWriteResponse(echo: part), "17 03 00 12 00 AA")
        try expect(ExecuteWriteRequest(.write), "18 01")
        try expect(ExecuteWriteResponse(), "19")
        try expect(HandleValueNotification(handle: 3, value: [0xAA]), "1B 03 00 AA")
        try expect(HandleValueIndication(handle: 3, value: []), "1D 03 00")
        try expect(HandleValueConfirmation(), "1E")
        try expect(ReadMultipleVariableRequest(handles: [3, 7]), "20 03 00 07 00")
        try expect(ReadMultipleVariableResponse(tuples: [.init(length: 9, value: [0xAA])]), "21 09 00 AA")
        try expect(
            MultipleHandleValueNotification(notifications: [
                .init(handle: 3, value: [0xAA]), .init(handle: 4, value: []),
            ]),
            "23 03 00 01 00 AA 04 00 00 00")
        try expect(WriteCommand(handle: 3, value: [0xAA]), "52 03 00 AA")
        var signed = SignedWriteCommand()
        signed.handle = 3
        signed.valueAndSignature = [0xAA] + hex("00 00 00 00 F1 87 1E 93 3C 90 0F F1")
        try expect(signed, "D2 03 00 AA 00 00 00 00 F1 87 1E 93 3C 90 0F F1")
    }

    @Test("Opcodes fall into the six kinds of PDU, or into none — 3.3 and 3.4.8")
    func kinds() {
        #expect(ATTOpcode.multipleHandleValueNotification.kind == .notification)
        #expect(ATTOpcode.signedWriteCommand.kind == .command)
        #expect(ATTOpcode(rawValue: 0x1E).kind == .confirmation)
        #expect(ATTOpcode(rawValue: 0xBF).kind == nil)
        #expect(!ATTOpcode(rawValue: 0xBF).isCommand)
        #expect(ATTOpcode(rawValue: 0x40).isCommand)
        #expect((UInt8.min...UInt8.max).filter { ATTOpcode(rawValue: $0).kind != nil }.count == 31)
    }

    @Test("Errors speak the specification's words — 3.4.1.1")
    func words() {
        #expect("\(ATTErrorCode.insufficientEncryption)" == "Insufficient Encryption")
        #expect("\(ATTErrorCode(rawValue: 0x80))" == "Application Error 0x80")
        #expect("\(ATTErrorCode(rawValue: 0x20))" == "Reserved Error 0x20")
    }

    private func expect<P: ATTParameters>(
        _ packet: P, _ pdu: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(packet.pdu == hex(pdu), sourceLocation: sourceLocation)
        #expect(try P(octets: hex(pdu).dropFirst()) == packet, sourceLocation: sourceLocation)
    }
}
