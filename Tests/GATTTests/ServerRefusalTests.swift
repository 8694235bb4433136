import ATT
import BluetoothTypes
import EventLoop
import GATT
import ProtocolTestKit
import Testing

/// Handles: 1 service; 2, 3 only written (FF01); 4, 5 only read (FF02); 6, 7 for an encrypted link (FF03); 8, 9 the
/// owner's (FF04), 10 a long description, 11 a format, 12 an aggregate format; 13, 14 kept (FF05).
private func refusing() throws -> AttributeDatabase {
    var database = AttributeDatabase()
    let placement = try database.add(
        GATTServiceDefinition(
            uuid: .uuid16(0xFF00),
            characteristics: [
                GATTCharacteristicDefinition(
                    uuid: .uuid16(0xFF01), properties: .write, permissions: .writeable, value: [0x01]),
                GATTCharacteristicDefinition(
                    uuid: .uuid16(0xFF02), properties: .read, permissions: .readable, value: [0x02]),
                GATTCharacteristicDefinition(
                    uuid: .uuid16(0xFF03), properties: [.read, .write],
                    permissions: [.readEncryptionRequired, .writeEncryptionRequired], value: [0x03]),
                GATTCharacteristicDefinition(
                    uuid: .uuid16(0xFF04), properties: [.read, .write, .writeWithoutResponse],
                    permissions: [.readable, .writeable],
                    descriptors: [
                        GATTDescriptorDefinition(uuid: .uuid16(0x2901), value: Array(0..<30)),
                        GATTDescriptorDefinition(uuid: .uuid16(0x2904), value: [4, 0, 0xAD, 0x27, 1, 0, 0]),
                        GATTDescriptorDefinition(uuid: .uuid16(0x2905), value: [0x0B, 0]),
                    ]),
                GATTCharacteristicDefinition(
                    uuid: .uuid16(0xFF05), properties: [.read, .write, .writeWithoutResponse],
                    permissions: [.readable, .writeable], value: [0x05]),
            ]))
    #expect(placement.characteristics == [3, 5, 7, 9, 14])
    #expect(placement.handles == 1...14)
    return database
}

/// What of an attribute the application alone can judge, such as authorization, it judges when it is asked.
@Suite("What a GATT server refuses — Core 6.0, Vol 3, Part F, 4")
struct ServerRefusalTests {
    private typealias Stage = Scene<ServedBearer>

    @Test(
        "Refused at once, by the attribute's permissions",
        arguments: [
            ("GATT/SR/GAR/BI-01-C", "0A 03 00", "01 0A 03 00 02"),
            ("GATT/SR/GAR/BI-04-C", "0A 07 00", "01 0A 07 00 05"),
            ("GATT/SR/GAR/BI-06-C", "08 01 00 FF FF 01 FF", "01 08 03 00 02"),
            ("GATT/SR/GAR/BI-10-C", "08 01 00 FF FF 03 FF", "01 08 07 00 05"),
            ("GATT/SR/GAR/BI-12-C", "0C 03 00 01 00", "01 0C 03 00 02"),
            ("GATT/SR/GAR/BI-16-C", "0C 07 00 01 00", "01 0C 07 00 05"),
            ("GATT/SR/GAR/BI-18-C", "0E 05 00 03 00", "01 0E 03 00 02"),
            ("GATT/SR/GAR/BI-21-C", "0E 05 00 07 00", "01 0E 07 00 05"),
            ("GATT/SR/GAR/BI-36-C", "20 05 00 03 00", "01 20 03 00 02"),
            ("GATT/SR/GAR/BI-38-C", "20 05 00 F0 00", "01 20 F0 00 01"),
            ("GATT/SR/GAR/BI-42-C", "20 05 00 07 00", "01 20 07 00 05"),
            ("GATT/SR/GAW/BI-05-C", "12 07 00 AA", "01 12 07 00 05"),
            ("GATT/SR/GAW/BI-12-C", "16 07 00 00 00 AA", "01 16 07 00 05"),
        ])
    func byPermission(id: String, request: String, answer: String) throws {
        Stage.play(ServedBearer(try refusing())) { server in
            server.exchange(request, answer)
            server.exchange("0A 05 00", "0B 02")
        }
    }

    @Test(
        "Refused by the application, which knows the person's consent and the key's size",
        arguments: [
            ("GATT/SR/GAR/BI-03-C", "0A 09 00", "01 0A 09 00 08"),
            ("GATT/SR/GAR/BI-09-C", "08 01 00 FF FF 04 FF", "01 08 09 00 08"),
            ("GATT/SR/GAR/BI-11-C", "08 01 00 FF FF 04 FF", "01 08 09 00 0C"),
            ("GATT/SR/GAR/BI-15-C", "0C 09 00 01 00", "01 0C 09 00 08"),
            ("GATT/SR/GAR/BI-17-C", "0C 09 00 01 00", "01 0C 09 00 0C"),
            ("GATT/SR/GAR/BI-20-C", "0E 05 00 09 00", "01 0E 09 00 08"),
            ("GATT/SR/GAR/BI-22-C", "0E 05 00 09 00", "01 0E 09 00 0C"),
            ("GATT/SR/GAR/BI-40-C", "20 05 00 09 00", "01 20 09 00 08"),
            ("GATT/SR/GAR/BI-44-C", "20 05 00 09 00", "01 20 09 00 0C"),
        ])
    func readByApplication(id: String, request: String, answer: String) throws {
        Stage.play(ServedBearer(try refusing())) { server in
            server.receive(request)
            let offset = request.hasPrefix("0C") ? 1 : 0
            server.expect(.readRequested(GATTReadRequest(id: 1, handle: 9, offset: offset)))
            server.input(.respond(id: 1, error: ATTErrorCode(rawValue: hex(answer)[4]), value: []), #_sourceLocation)
            server.expectSent(answer)
        }
    }

    @Test(
        "Writes refused by the application",
        arguments: [("GATT/SR/GAW/BI-04-C", 0x08), ("GATT/SR/GAW/BI-06-C", 0x0C)] as [(String, UInt8)])
    func writeByApplication(id: String, code: UInt8) throws {
        Stage.play(ServedBearer(try refusing())) { server in
            server.receive("12 09 00 AA")
            let part = GATTWritePart(handle: 9, offset: 0, value: [0xAA])
            server.expect(.writeRequested(GATTWriteRequest(id: 1, parts: [part], needsResponse: true)))
            server.input(.respond(id: 1, error: ATTErrorCode(rawValue: code), value: []), #_sourceLocation)
            server.expect(.send([0x01, 0x12, 0x09, 0x00, code]))
        }
    }

    @Test(
        "Long writes refused by the application, at the latest when they are executed",
        arguments: [("GATT/SR/GAW/BI-11-C", 0x08), ("GATT/SR/GAW/BI-13-C", 0x0C)] as [(String, UInt8)])
    func longWriteByApplication(id: String, code: UInt8) throws {
        Stage.play(ServedBearer(try refusing())) { server in
            server.exchange("16 09 00 00 00 AA", "17 09 00 00 00 AA")
            server.receive("18 01")
            let part = GATTWritePart(handle: 9, offset: 0, value: [0xAA])
            server.expect(.writeRequested(GATTWriteRequest(id: 1, parts: [part], needsResponse: true)))
            server.input(.respond(id: 1, error: ATTErrorCode(rawValue: code), value: []), #_sourceLocation)
            server.expect(.send([0x01, 0x18, 0x09, 0x00, code]))
        }
    }

    @Test("GATT/SR/GAW/BI-09-C: a long write whose offset is past the end; the value stays")
    func offsetPastEnd() throws {
        Stage.play(ServedBearer(try refusing())) { server in
            server.exchange("16 0E 00 02 00 AA", "17 0E 00 02 00 AA")
            server.exchange("18 01", "01 18 0E 00 07")
            server.exchange("0A 0E 00", "0B 05")
        }
    }

    @Test(
        """
        GATT/SR/GAW/BI-32-C, GATT/SR/GAW/BI-33-C, GATT/SR/GAW/BI-39-C: more than the 512 octets that an attribute \
        holds, by Write Request, Prepare Write and Write Command
        """
    )
    func tooLong() throws {
        let many = String(repeating: " AA", count: 513)
        Stage.play(ServedBearer(try refusing())) { server in
            server.exchange("02 05 02", "03 05 02")
            server.expect(.mtuChanged(517))
            server.exchange("12 0E 00" + many, "01 12 0E 00 0D")
            server.receive("52 0E 00" + many)
            let half = String(repeating: " AA", count: 300)
            server.exchange("16 0E 00 00 00" + half, "17 0E 00 00 00" + half)
            server.exchange("16 0E 00 2C 01" + half, "17 0E 00 2C 01" + half)
            server.exchange("18 01", "01 18 0E 00 0D")
            server.exchange("0A 0E 00", "0B 05")
        }
    }

    @Test("GATT/SR/GAC/BI-01-C, GATT/SR/GAC/BI-02-C, GATT/SR/GAC/BI-03-C: MTUs below 23, very large ones, and repeats")
    func unusualMTU() throws {
        Stage.play(ServedBearer(try refusing())) { server in
            for mtu in ["00 00", "16 00"] { server.exchange("02 " + mtu, "03 05 02") }
            server.exchange("0C 0A 00 00 00", "0D 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 11 12 13 14 15")
            server.exchange("02 FF FF", "03 05 02")
            server.expect(.mtuChanged(517))
            server.exchange("02 FF FF", "03 05 02")
            server.exchange("0A 05 00", "0B 02")
            server.exchange("02", "01 02 00 00 04")
        }
    }

    @Test("GATT/SR/GAR/BV-07-C, GATT/SR/GAR/BV-08-C: a long descriptor, and what begins at its exact end")
    func longDescriptor() throws {
        Stage.play(ServedBearer(try refusing())) { server in
            server.receive("0A 0A 00")
            server.expect(.send([0x0B] + Array(0..<22)))
            server.receive("0C 0A 00 16 00")
            server.expect(.send([0x0D] + Array(22..<30)))
            server.exchange("0C 0A 00 1E 00", "0D")
            server.exchange("0C 0A 00 1F 00", "01 0C 0A 00 07")
        }
    }

    @Test("GATT/SR/GPA/BV-11-C, GATT/SR/GPA/BV-12-C: a presentation format, and an aggregate format that names it")
    func formats() throws {
        Stage.play(ServedBearer(try refusing())) { server in
            server.exchange("04 0A 00 0C 00", "05 01 0A 00 01 29 0B 00 04 29 0C 00 05 29")
            server.exchange("0A 0B 00", "0B 04 00 AD 27 01 00 00")
            server.exchange("0A 0C 00", "0B 0B 00")
        }
    }

    @Test("GATT/SR/UNS/BI-01-C, GATT/SR/UNS/BI-02-C: requests that nobody knows get an answer, such commands none")
    func unknownOpcodes() throws {
        for opcode in UInt8(0x26)...0x3F {
            Stage.play(ServedBearer(try refusing())) { server in
                server.input(.receive([opcode, 0xAA]), #_sourceLocation)
                server.expect(.send([0x01, opcode, 0x00, 0x00, 0x06]))
                // Bit 6 makes it a command (Part F, 3.3.1).
                server.input(.receive([opcode | 0x40, 0xAA]), #_sourceLocation)
                server.exchange("0A 05 00", "0B 02")
            }
        }
    }
}
