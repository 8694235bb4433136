import ATT
import BluetoothTypes
import EventLoop
import GATT
import ProtocolTestKit
import Testing

@Suite("What a GATT client is refused — Core 6.0, Vol 3, Part G, 4")
struct ClientRefusalTests {
    private typealias Stage = Scene<ServedBearer>

    /// A procedure of one request, the request, and the octet of the peer's error.
    struct Refusal: Sendable, CustomTestStringConvertible {
        var id: String
        var procedure: GATTProcedure
        var request: String
        var code: UInt8
        var testDescription: String { id }

        init(_ id: String, _ procedure: GATTProcedure, _ request: String, _ code: UInt8) {
            (self.id, self.procedure, self.request, self.code) = (id, procedure, request, code)
        }
    }

    static let byType = GATTProcedure.readByUUID(.uuid16(0x2A19), 1...0xFFFF)

    static let refusals = [
        Refusal("GATT/CL/GAR/BI-01-C", .read(3), "0A 03 00", 0x01),
        Refusal("GATT/CL/GAR/BI-02-C", .read(3), "0A 03 00", 0x02),
        Refusal("GATT/CL/GAR/BI-35-C", .read(3), "0A 03 00", 0x80),
        Refusal("GATT/CL/GAR/BI-09-C", byType, "08 01 00 FF FF 19 2A", 0x08),
        Refusal("GATT/CL/GAR/BI-10-C", byType, "08 01 00 FF FF 19 2A", 0x05),
        Refusal("GATT/CL/GAR/BI-11-C", byType, "08 01 00 FF FF 19 2A", 0x0C),
        Refusal("GATT/CL/GAR/BI-18-C", .readMultiple([3, 7]), "0E 03 00 07 00", 0x02),
        Refusal("GATT/CL/GAR/BI-20-C", .readMultiple([3, 7]), "0E 03 00 07 00", 0x08),
        Refusal("GATT/CL/GAR/BI-36-C", .readMultipleVariable([3, 7]), "20 03 00 07 00", 0x02),
        Refusal("GATT/CL/GAR/BI-38-C", .readMultipleVariable([3, 7]), "20 03 00 07 00", 0x01),
        Refusal("GATT/CL/GAR/BI-40-C", .readMultipleVariable([3, 7]), "20 03 00 07 00", 0x08),
        Refusal("GATT/CL/GAR/BI-42-C", .readMultipleVariable([3, 7]), "20 03 00 07 00", 0x05),
        Refusal("GATT/CL/GAR/BI-44-C", .readMultipleVariable([3, 7]), "20 03 00 07 00", 0x0C),
        Refusal("GATT/CL/GAW/BI-04-C", .write(3, value: [1]), "12 03 00 01", 0x08),
        Refusal("GATT/CL/GAW/BI-05-C", .write(3, value: [1]), "12 03 00 01", 0x05),
    ]

    @Test("The peer's error reaches who asked, and the next request goes on", arguments: refusals)
    func refused(_ refusal: Refusal) {
        Stage.play(ServedBearer()) { client in
            client.submit(1, refusal.procedure)
            client.expectSent(refusal.request)
            client.input(.receive([0x01, hex(refusal.request)[0], 0x03, 0x00, refusal.code]), #_sourceLocation)
            client.fail(1, .refused(ATTErrorCode(rawValue: refusal.code)))
            client.submit(2, .write(3, value: [7]))
            client.expectSent("12 03 00 07")
            client.receive("13")
            client.finish(2, .done)
        }
    }

    @Test(
        "A long read that is refused after its first part",
        arguments: [("GATT/CL/GAR/BI-15-C", 0x08), ("GATT/CL/GAR/BI-16-C", 0x05)] as [(String, UInt8)])
    func longRead(id: String, code: UInt8) {
        Stage.play(ServedBearer()) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.receive("0B" + String(repeating: " AA", count: 22))
            client.expectSent("0C 03 00 16 00")
            client.input(.receive([0x01, 0x0C, 0x03, 0x00, code]), #_sourceLocation)
            client.fail(1, .refused(ATTErrorCode(rawValue: code)))
        }
    }

    @Test(
        "A long write that is refused: at its first part, or when it is executed",
        arguments: [
            ("GATT/CL/GAW/BI-07-C", 0x01), ("GATT/CL/GAW/BI-09-C", 0x07), ("GATT/CL/GAW/BI-11-C", 0x08),
            ("GATT/CL/GAW/BI-13-C", 0x0C),
        ] as [(String, UInt8)])
    func longWrite(id: String, code: UInt8) {
        Stage.play(ServedBearer()) { client in
            client.submit(1, .writeLong(3, value: [1, 2]))
            client.expectSent("16 03 00 00 00 01 02")
            client.input(.receive([0x01, 0x16, 0x03, 0x00, code]), #_sourceLocation)
            // Nothing is left in the peer's queue.
            client.expectSent("18 00")
            client.receive("19")
            client.fail(1, .refused(ATTErrorCode(rawValue: code)))
            client.submit(2, .writeLong(3, value: [1, 2]))
            client.expectSent("16 03 00 00 00 01 02")
            client.receive("17 03 00 00 00 01 02")
            client.expectSent("18 01")
            client.input(.receive([0x01, 0x18, 0x03, 0x00, code]), #_sourceLocation)
            client.fail(2, .refused(ATTErrorCode(rawValue: code)))
        }
    }

    @Test(
        "A long write that is answered with nonsense ends; the next one cancels what lies in the peer's queue first",
        arguments: [
            ("0B 01", "opcode 11 does not answer opcode 22"), ("01 16 03 00 00", "Error Response without an error"),
        ], ["19", "01 18 00 00 04", "0B 01"])
    func leftovers(nonsense: (pdu: String, meaning: String), answer: String) {
        Stage.play(ServedBearer()) { client in
            client.submit(1, .writeLong(3, value: [1]))
            client.expectSent("16 03 00 00 00 01")
            client.receive(nonsense.pdu)
            client.expect(.reportViolation(hex(nonsense.pdu)))
            client.fail(1, .illegalAnswer(nonsense.meaning))
            client.submit(2, .reliableWrite([]))  // It comes to nothing, and changes nothing.
            client.fail(2, .invalidParameters("a reliable write without parts"))
            client.submit(3, .writeLong(3, value: [2]))
            client.expectSent("18 00")
            client.receive(answer)
            if answer == "0B 01" {
                client.expect(.reportViolation(hex(answer)))
                client.fail(3, .illegalAnswer("opcode 11 does not answer opcode 24"))
                client.submit(4, .writeLong(3, value: [2]))
                client.expectSent("18 00")
            } else {
                client.expectSent("16 03 00 00 00 02")
            }
        }
    }

    @Test("GATT/CL/GAW/BV-03-C: a write that the peer confirms")
    func write() {
        Stage.play(ServedBearer()) { client in
            client.submit(1, .write(3, value: [1, 2]))
            client.expectSent("12 03 00 01 02")
            client.receive("13")
            client.finish(1, .done)
        }
    }

    @Test("GATT/CL/GAW/BV-06-C: a reliable write compares what comes back, and executes only what is right")
    func reliableWrite() {
        let parts = [
            GATTWritePart(handle: 3, offset: 0, value: [1, 2]), GATTWritePart(handle: 7, offset: 0, value: [3]),
        ]
        for isTrue in [true, false] {
            Stage.play(ServedBearer()) { client in
                client.submit(1, .reliableWrite(parts))
                client.expectSent("16 03 00 00 00 01 02")
                client.receive("17 03 00 00 00 01 02")
                client.expectSent("16 07 00 00 00 03")
                client.receive(isTrue ? "17 07 00 00 00 03" : "17 07 00 00 00 04")
                client.expectSent(isTrue ? "18 01" : "18 00")
                client.receive("19")
                if isTrue {
                    client.finish(1, .done)
                } else {
                    client.fail(
                        1, .illegalAnswer("the Prepare Write Response echoes something else than was sent"))
                }
            }
        }
    }

    @Test("GATT/CL/GAW/BV-09-C: a long descriptor is written in parts")
    func longDescriptorWrite() {
        Stage.play(ServedBearer()) { client in
            client.submit(1, .write(0x0B, value: [UInt8](repeating: 0xDD, count: 21)))
            let part = String(repeating: " DD", count: 18)
            client.expectSent("16 0B 00 00 00" + part)
            client.receive("17 0B 00 00 00" + part)
            client.expectSent("16 0B 00 12 00 DD DD DD")
            client.receive("17 0B 00 12 00 DD DD DD")
            client.expectSent("18 01")
            client.receive("19")
            client.finish(1, .done)
        }
    }

    @Test(
        """
        GATT/CL/GAR/BV-06-C, GATT/CL/GPA/BV-11-C, GATT/CL/GPA/BV-12-C: descriptors are found and read: a presentation \
        format, and an aggregate format
        """
    )
    func descriptors() {
        let level = GATTCharacteristic(
            uuid: .uuid16(0x2A19), declaration: 2, value: 3, end: 5, properties: .read)
        Stage.play(ServedBearer()) { client in
            client.submit(1, .discoverDescriptors(level))
            client.expectSent("04 04 00 05 00")
            client.receive("05 01 04 00 04 29 05 00 05 29")
            client.finish(
                1,
                .descriptors([
                    GATTDescriptor(uuid: .uuid16(0x2904), handle: 4), GATTDescriptor(uuid: .uuid16(0x2905), handle: 5),
                ]))
            client.submit(2, .read(4))
            client.expectSent("0A 04 00")
            client.receive("0B 04 00 AD 27 01 00 00")
            client.finish(2, .value([4, 0, 0xAD, 0x27, 1, 0, 0]))
            client.submit(3, .read(5))
            client.expectSent("0A 05 00")
            client.receive("0B 04 00")
            client.finish(3, .value([4, 0]))
        }
    }

    @Test("GATT/CL/GAI/BI-01-C: indications that do not wait for their confirmation are all confirmed and told")
    func hastyIndications() {
        Stage.play(ServedBearer()) { client in
            for value in ["01", "02", "03"] {
                client.receive("1D 03 00 " + value)
                client.expectSent("1E")
                client.expect(.notified(handle: 3, value: hex(value)))
            }
        }
    }

    @Test(
        "Thirty seconds without an answer: the transaction fails, and nothing goes out on this bearer any more",
        arguments: [
            Refusal("GATT/CL/GAT/BV-01-C", .read(3), "0A 03 00", 0),
            Refusal("GATT/CL/GAT/BV-02-C", .write(3, value: [1]), "12 03 00 01", 0),
            Refusal("GATT/CL/GAT/BV-03-C", .readMultipleVariable([3, 7]), "20 03 00 07 00", 0),
        ])
    func noAnswer(_ refusal: Refusal) {
        Stage.play(ServedBearer()) { client in
            client.submit(1, refusal.procedure)
            client.expectSent(refusal.request)
            client.wait(.milliseconds(29_999))
            client.wait(.milliseconds(1))
            client.fail(1, .timedOut)
            client.expect(.drop)
            client.submit(2, .read(3))
            client.fail(2, .timedOut)
            client.input(.writeCommand(id: 3, handle: 3, value: [1]), #_sourceLocation)
            client.fail(3, .linkLost)
        }
    }
}
