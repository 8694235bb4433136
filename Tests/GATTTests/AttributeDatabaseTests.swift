import BluetoothTypes
import GATT
import ProtocolTestKit
import Testing

@Suite("Attribute database — Core 6.0, Vol 3, Part G, 3")
struct AttributeDatabaseTests {
    @Test("GATT/SR/GAD/BV-01-C to BV-06-C: a service is laid out as its definition says")
    func layout() throws {
        var database = AttributeDatabase()
        let battery = try database.add(GATTServiceDefinition(uuid: .uuid16(0x180F), isPrimary: false))
        let long = BluetoothUUID.uuid128(0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F)
        let placement = try database.add(
            GATTServiceDefinition(
                uuid: long, includedServices: [battery.handles.lowerBound],
                characteristics: [
                    GATTCharacteristicDefinition(
                        uuid: long, properties: [.read, .indicate, .extendedProperties], permissions: .readable,
                        descriptors: [.init(uuid: .uuid16(0x2901), value: Array("Lock".utf8))])
                ]))
        #expect(placement.handles == 2...8)
        #expect(placement.characteristics == [5])
        Scene.play(ServedBearer(database)) { server in
            server.exchange(
                "10 01 00 FF FF 00 28", "11 14 02 00 08 00 0F 0E 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01 00")
            server.exchange("10 01 00 FF FF 01 28", "11 06 01 00 01 00 0F 18")
            server.exchange("08 01 00 FF FF 02 28", "09 08 03 00 01 00 01 00 0F 18")
            server.exchange("02 40 00", "03 05 02")
            server.expect(.mtuChanged(64))
            server.exchange(
                "08 01 00 FF FF 03 28", "09 15 04 00 A2 05 00 0F 0E 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01 00")
            server.exchange("04 06 00 FF FF", "05 01 06 00 02 29 07 00 00 29 08 00 01 29")
        }
    }

    @Test("Handles of a removed service are not given out again while there are others")
    func removal() throws {
        var database = AttributeDatabase()
        let first = try database.add(GATTServiceDefinition(uuid: .uuid16(0x1111)))
        let second = try database.add(GATTServiceDefinition(uuid: .uuid16(0x2222)))
        #expect(database.removeService(at: second.handles.lowerBound) == 2...2)
        #expect(database.removeService(at: second.handles.lowerBound) == nil)
        #expect(try database.add(GATTServiceDefinition(uuid: .uuid16(0x3333))).handles == 3...3)
        #expect(first.handles == 1...1)
        Scene.play(ServedBearer(database)) { server in
            server.exchange("10 01 00 FF FF 00 28", "11 06 01 00 01 00 11 11 03 00 03 00 33 33")
        }
    }

    @Test("When all handles have been given out, gaps are used; when there are none, adding fails")
    func exhaustion() throws {
        var database = try AttributeDatabase(attributes: [
            GATTAttribute(
                handle: 3, type: GATTAttributeType.primaryService, permissions: .readable, content: .stored([0, 0]),
                groupEnd: 0xFFFF)
        ])
        #expect(try database.add(GATTServiceDefinition(uuid: .uuid16(1))).handles == 1...1)
        #expect(try database.add(GATTServiceDefinition(uuid: .uuid16(2))).handles == 2...2)
        #expect(throws: AttributeDatabaseError.noHandlesLeft) {
            try database.add(GATTServiceDefinition(uuid: .uuid16(3)))
        }
    }

    @Test("What can't be laid out is refused")
    func refusals() {
        var database = AttributeDatabase()
        #expect(throws: AttributeDatabaseError.unknownService(9)) {
            try database.add(GATTServiceDefinition(uuid: .uuid16(1), includedServices: [9]))
        }
        let long = GATTCharacteristicDefinition(
            uuid: .uuid16(2), properties: .read, permissions: .readable, value: Array(repeating: 0, count: 513))
        #expect(throws: AttributeDatabaseError.valueTooLong(octets: 513)) {
            try database.add(GATTServiceDefinition(uuid: .uuid16(1), characteristics: [long]))
        }
        let attribute = GATTAttribute(handle: 0, type: .uuid16(1), permissions: [], content: .dynamic)
        #expect(throws: AttributeDatabaseError.badHandle(0)) { try AttributeDatabase(attributes: [attribute]) }
    }

    @Test("Generic Access and Generic Attribute — Part C, 12 and Part G, 7")
    func standardServices() {
        var database = AttributeDatabase.standard(deviceName: "Lock")
        database.setDeviceName("Door")
        Scene.play(ServedBearer(database)) { server in
            server.exchange("10 01 00 FF FF 00 28", "11 06 01 00 05 00 00 18 06 00 0D 00 01 18")
            server.exchange("08 01 00 FF FF 00 2A", "09 06 03 00 44 6F 6F 72")
            server.exchange("0A 05 00", "0B 00 00")
            server.exchange("0A 08 00", "01 0A 08 00 02")  // Service Changed is indicated, not read.
            server.exchange("12 09 00 02 00", "13")
            server.expect(.subscribed(handle: 8, .indications))
        }
        #expect(database.serviceChangedHandle == 8)
    }
}
