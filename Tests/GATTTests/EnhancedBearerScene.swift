import ATT
import BluetoothTypes
import EventLoop
import GATT
import ProtocolTestKit
import Testing

let firstBearer = GATTBearerID(rawValue: 0x40)
let secondBearer = GATTBearerID(rawValue: 0x41)

/// Handles: 1 service; 2, 3 a kept value that may be notified and indicated, 4 its configuration; 5, 6 another; 7 its
/// configuration; 8, 9 a value that only the owner knows.
func servedBearers(_ bearers: [GATTBearerID] = [firstBearer, secondBearer], mtu: Int = 64) throws -> ServedBearer {
    var database = AttributeDatabase()
    let kept = GATTCharacteristicDefinition(
        uuid: .uuid16(0xFFF1), properties: [.read, .write, .notify, .indicate],
        permissions: [.readable, .writeable], value: [0x64])
    let asked = GATTCharacteristicDefinition(
        uuid: .uuid16(0xFFF2), properties: [.read, .write], permissions: [.readable, .writeable])
    _ = try database.add(GATTServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [kept, kept, asked]))
    var machine = ServedBearer(database)
    for bearer in bearers { _ = machine.handle(.bearerOpened(bearer, mtu: mtu), at: Instant()) }
    return machine
}

extension Scene<ServedBearer> {
    mutating func receive(
        _ pdu: String, on bearer: GATTBearerID, at location: SourceLocation = #_sourceLocation
    ) {
        input(.receive(hex(pdu)[...], on: bearer), location)
    }

    mutating func expectSent(
        _ pdu: String, on bearer: GATTBearerID, at location: SourceLocation = #_sourceLocation
    ) {
        expect(.send(hex(pdu), on: bearer), sourceLocation: location)
    }

    mutating func exchange(
        _ request: String, _ answer: String, on bearer: GATTBearerID, at location: SourceLocation = #_sourceLocation
    ) {
        receive(request, on: bearer, at: location)
        expectSent(answer, on: bearer, at: location)
    }
}
