import ATT
import BluetoothTypes
import EventLoop
import GATT
import ProtocolTestKit
import Testing

/// Hostile input, by the ids of the project's list of attacks.
@Suite("Attribute protocol under attack")
struct AttackTests {
    /// Handle 3 is a read-only value of six octets, handle 5 one of thirty, which may be written.
    static func database() throws -> AttributeDatabase {
        var database = AttributeDatabase()
        _ = try database.add(
            GATTServiceDefinition(
                uuid: .uuid16(0xFF00),
                characteristics: [
                    GATTCharacteristicDefinition(
                        uuid: .uuid16(0xFF01), properties: .read, permissions: .readable, value: Array(1...6)),
                    GATTCharacteristicDefinition(
                        uuid: .uuid16(0xFF02), properties: [.read, .write], permissions: [.readable, .writeable],
                        value: Array(1...30)),
                ]))
        return database
    }

    static func answers(to pdus: [[UInt8]]) throws -> [[UInt8]] {
        var database = try database()
        var bearer = GATTConnection()
        return pdus.flatMap { pdu in
            bearer.handle(.receive(pdu[...]), database: &database, at: Instant()).compactMap { effect in
                if case .send(let answer, _) = effect { answer } else { nil }
            }
        }
    }

    @Test("ATT-01: every opcode without parameters", arguments: UInt8.min...UInt8.max)
    func bareOpcode(octet: UInt8) throws {
        let opcode = ATTOpcode(rawValue: octet)
        let answers = try Self.answers(to: [[octet]])
        switch opcode.kind {
        case .request: #expect(answers == [[0x01, octet, 0, 0, 0x04]])
        case nil where !opcode.isCommand: #expect(answers == [[0x01, octet, 0, 0, 0x06]])
        case nil, .response, .command, .notification, .indication, .confirmation: #expect(answers == [])
        }
    }

    @Test("An empty PDU is nobody's")
    func empty() throws { #expect(try Self.answers(to: [[]]) == []) }

    @Test(
        "ATT-04, 05, 07, 08, 09, 10: requests that make no sense, and what they are told",
        arguments: [
            ("04 00 00 FF FF", "01 04 00 00 01"), ("04 05 00 01 00", "01 04 05 00 01"),
            ("04 FF FF FF FF", "01 04 FF FF 0A"), ("08 FF FF FF FF 03 28", "01 08 FF FF 0A"),
            ("10 FF FF FF FF 00 28", "01 10 FF FF 0A"), ("06 FF FF FF FF 00 28 00 18", "01 06 FF FF 0A"),
            ("10 01 00 FF FF 03 28", "01 10 01 00 10"),
            ("08 01 00 FF FF 28", "01 08 00 00 04"), ("08 01 00 FF FF 03 28 00", "01 08 00 00 04"),
            ("08 01 00 FF FF 03 28 00 00", "01 08 00 00 04"),
            ("08 01 00 FF FF 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "01 08 00 00 04"),
            ("10 01 00 FF FF 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "01 10 00 00 04"),
            ("0C 03 00 FF FF", "01 0C 03 00 07"), ("0C 03 00 06 00", "0D"),
            ("20 03 00", "01 20 00 00 04"), ("20 03 00 05", "01 20 00 00 04"), ("20", "01 20 00 00 04"),
            ("0E 03 00", "01 0E 00 00 04"),
            ("18 02", "01 18 00 00 04"), ("18 FF", "01 18 00 00 04"), ("18", "01 18 00 00 04"), ("18 01", "19"),
        ])
    func senseless(request: String, answer: String) throws {
        #expect(try Self.answers(to: [hex(request)]) == [hex(answer)])
    }

    @Test("ATT-08: ten long values at ATT_MTU 23 make an answer of 23 octets", arguments: [0x0E, 0x20] as [UInt8])
    func tenLongValues(opcode: UInt8) throws {
        let answers = try Self.answers(to: [[opcode] + (0..<10).flatMap { _ in [0x05, 0x00] as [UInt8] }])
        #expect(answers.map(\.count) == [23])
    }

    @Test("ATT-09: prepared parts at a mad offset, beyond 512 octets, and five hundred of them")
    func preparedWrites() throws {
        #expect(try Self.answers(to: [hex("16 05 00 FF FF 01"), hex("18 01")]).last == hex("01 18 05 00 07"))
        #expect(try Self.answers(to: [hex("16 05 00 00 02 01"), hex("18 01")]).last == hex("01 18 05 00 0D"))
        let answers = try Self.answers(to: Array(repeating: hex("16 05 00 00 00 01"), count: 500))
        #expect(answers.filter { $0 == hex("01 16 05 00 09") }.count == 500 - 128)
    }

    @Test("ATT-11, ATT-12: commands that can't be done are ignored")
    func commands() throws {
        let long = [0x52, 0x05, 0x00] + [UInt8](repeating: 0xAA, count: 600)
        let pdus = [
            hex("D2 12 00 13 37"), hex("D2 05 00 13 37 01 00 00 00 F1 87 1E 93 3C 90 0F F1"), hex("52 03 00 01"),
            hex("52 FF FF 01"), long, hex("0A 03 00"), hex("0A 05 00"),
        ]
        #expect(try Self.answers(to: pdus) == [[0x0B] + Array(1...6), [0x0B] + Array(1...22)])
    }

    @Test("ATT-16: an indication is confirmed once, whatever it is about; half a handle is dropped")
    func indications() throws {
        #expect(try Self.answers(to: [hex("1D 14")]) == [])
        #expect(try Self.answers(to: [hex("1D 01 00")]) == [[0x1E]])
        #expect(try Self.answers(to: [hex("1D FF FF 00")]) == [[0x1E]])
    }

    @Test(
        "ATT-18: answers that can't be true end the search, and only that",
        arguments: [
            "11 00", "11 01 01", "11 05 01 00 04 00 00", "11 06 01 00 04", "11 06 05 00 01 00 00 18",
            "11 06 00 00 04 00 00 18", "11", "11 06",
        ])
    func illegalGroups(answer: String) throws {
        var database = AttributeDatabase()
        var bearer = GATTConnection()
        let search = GATTProcedure.discoverPrimaryServices(only: nil)
        _ = bearer.handle(.submit(id: 1, search), database: &database, at: Instant())
        let effects = bearer.handle(.receive(hex(answer)[...]), database: &database, at: Instant())
        guard case .finish(id: 1, .failure(.illegalAnswer)) = try #require(effects.first), effects.count == 1 else {
            Issue.record("\(effects)")
            return
        }
        #expect(
            bearer.handle(.submit(id: 2, search), database: &database, at: Instant())
                == [.send(hex("10 01 00 FF FF 00 28"))])
    }

    @Test("ATT-22: a value without end ends at 512 octets")
    func endlessValue() {
        var database = AttributeDatabase()
        var bearer = GATTConnection()
        var effects = bearer.handle(.submit(id: 1, .read(3)), database: &database, at: Instant())
        var requests = 0
        while case .send(let request, _)? = effects.first, requests < 100 {
            requests += 1
            let part = [request[0] + 1] + [UInt8](repeating: 0xAA, count: 22)
            effects = bearer.handle(.receive(part[...]), database: &database, at: Instant())
        }
        #expect(effects == [.finish(id: 1, .success(.value([UInt8](repeating: 0xAA, count: 512))))])
    }

    @Test(
        "ATT-24, GATT/CL/GAW/BI-32-C: an echo of something else cancels the write",
        arguments: ["17 03 00 00 00 01 02 04", "17 03 00 01 00 01 02 03", "17 04 00 00 00 01 02 03", "17 03"])
    func wrongEcho(echo: String) {
        var database = AttributeDatabase()
        var bearer = GATTConnection()
        let write = GATTProcedure.writeLong(3, value: [0x01, 0x02, 0x03])
        let first = bearer.handle(.submit(id: 1, write), database: &database, at: Instant())
        #expect(first == [.send(hex("16 03 00 00 00 01 02 03"))])
        let second = bearer.handle(.receive(hex(echo)[...]), database: &database, at: Instant())
        #expect(second == [.send(hex("18 00"))])
        let last = bearer.handle(.receive([0x19]), database: &database, at: Instant())
        guard case .finish(id: 1, .failure(.illegalAnswer))? = last.first else {
            Issue.record("\(last)")
            return
        }
    }

    @Test("Random PDUs trap nowhere, and each is answered at most once")
    func noise() throws {
        var chance = SeededGenerator(seed: 1)
        var database = try Self.database()
        var bearer = GATTConnection()
        let opcodes: [UInt8] = [0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20, 0x52]
        for round in 0..<20_000 {
            var pdu = [UInt8](repeating: 0, count: Int.random(in: 0...40, using: &chance))
            for index in pdu.indices { pdu[index] = UInt8.random(in: 0...7, using: &chance) }
            pdu.insert(opcodes.randomElement(using: &chance) ?? 0, at: 0)
            if round.isMultiple(of: 3) { pdu[0] = UInt8.random(in: 0...255, using: &chance) }
            let effects = bearer.handle(.receive(pdu[...]), database: &database, at: Instant())
            let answers = effects.filter { if case .send = $0 { true } else { false } }
            #expect(answers.count <= 1)
        }
    }
}
