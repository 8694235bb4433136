import BluetoothTypes
import ByteCodec
import HCI
import ProtocolTestKit
import Testing

@Suite("HCI packets — Core 6.0, Vol 4, Part E, 5.4 and 7")
struct PacketTests {
    // Expected octets: counted out from the tables of the section named in each test.

    @Test("A command is its opcode, a length and its parameters — 5.4.1")
    func commands() {
        #expect(Reset().packet == hex("01 03 0C 00"))
        #expect(Disconnect(handle: 0x0040).packet == hex("01 06 04 03 40 00 13"))
        #expect(LESetScanEnable(true).packet == hex("01 0C 20 02 01 00"))
    }

    @Test("LE Set Advertising Data always takes 32 octets — 7.8.7")
    func advertisingDataIsPadded() throws {
        let command = LESetAdvertisingData(data: hex("02 01 06"))
        let octets = hex("03 02 01 06") + Array(repeating: 0, count: 28)
        #expect(command.octets == octets)
        #expect(try LESetAdvertisingData(octets: octets) == command)
        let tooLong = hex("20") + Array(repeating: 0, count: 31)
        #expect(throws: PacketError(.valueNotAllowed(32), field: "Advertising_Data_Length")) {
            try LESetAdvertisingData(octets: tooLong)
        }
    }

    @Test("LE Create Connection — 7.8.12")
    func createConnection() throws {
        var command = LECreateConnection()
        command.peer = DeviceAddress(0xC0_1122_3344_55, kind: .random)
        command.parameters = .init(intervalMin: 6, intervalMax: 12, latency: 1, supervisionTimeout: 200)
        let octets = hex("60 00 60 00 00 01 55 44 33 22 11 C0 00 06 00 0C 00 01 00 C8 00 00 00 00 00")
        #expect(command.octets == octets)
        #expect(try LECreateConnection(octets: octets) == command)
    }

    @Test("The catalogue's defaults survive a round trip")
    func roundTrips() throws {
        func check<Command: HCICommand>(_: Command.Type) throws {
            #expect(try Command(octets: Command().octets) == Command())
            let answer = Command.ReturnParameters()
            #expect(try Command.ReturnParameters(octets: answer.octets) == answer)
        }
        try check(SetEventMask.self)
        try check(HostBufferSize.self)
        try check(ReadTransmitPowerLevel.self)
        try check(ReadLocalVersion.self)
        try check(ReadLocalSupportedCommands.self)
        try check(ReadBufferSize.self)
        try check(ReadAddress.self)
        try check(ReadRSSI.self)
        try check(LEReadBufferSizeV2.self)
        try check(LEEncrypt.self)
        try check(LERand.self)
        try check(LESetAdvertisingParameters.self)
        try check(LESetScanParameters.self)
        try check(LEReadChannelMap.self)
        try check(LEConnectionUpdate.self)
        try check(LERemoteConnectionParameterRequestReply.self)
        try check(LEReadMaximumDataLength.self)
        try check(LESetPHY.self)
        try check(LESetHostFeature.self)
        try check(LESetDefaultSubrate.self)
        try check(LESubrateRequest.self)
        try check(LESetPeriodicAdvertisingParameters.self)
        try check(LESetPeriodicAdvertisingData.self)
        try check(LESetPeriodicAdvertisingEnable.self)
        try check(LEPeriodicAdvertisingCreateSync.self)
        try check(LEPeriodicAdvertisingTerminateSync.self)
        try check(LEAddDeviceToPeriodicAdvertiserList.self)
        try check(LERemoveDeviceFromPeriodicAdvertiserList.self)
        try check(LEReadPeriodicAdvertiserListSize.self)
        try check(LESetPeriodicAdvertisingReceiveEnable.self)
        try check(LEEnableEncryption.self)
        try check(WriteAuthenticatedPayloadTimeout.self)
    }

    @Test("Command Complete and Command Status answer a command — 7.7.14, 7.7.15")
    func answers() throws {
        var address = ReadAddress.ReturnParameters()
        address.address = DeviceAddress(0x00AA_0100_0042)
        let packet = ReadAddress.completed(address)
        #expect(packet == hex("04 0E 0A 01 09 10 00 42 00 00 01 AA 00"))
        #expect(ReadAddress.failed(.commandDisallowed) == hex("04 0E 04 01 09 10 0C"))
        #expect(LECreateConnection.accepted() == hex("04 0F 04 00 01 0D 20"))

        guard case .event(let code, let parameters) = try HCIPacket(packet),
            case .commandComplete(let event) = try ControllerEvent(code: code, parameters: parameters)
        else {
            Issue.record("not a Command Complete event")
            return
        }
        #expect(event.opcode == .readAddress)
        #expect(try ReadAddress.ReturnParameters(octets: event.returnParameters) == address)
    }

    @Test("An ACL packet's first two octets are handle and flags — 5.4.2")
    func acl() throws {
        let packet = aclPacket(handle: 0x0EFF, boundary: .firstFlushable, payload: hex("AA BB"))
        #expect(packet == hex("02 FF 2E 02 00 AA BB"))
        #expect(
            try HCIPacket(packet) == .acl(ACLHeader(handle: 0x0EFF, boundary: .firstFlushable), payload: [0xAA, 0xBB]))
    }

    @Test("Number Of Completed Packets pairs each handle with its count — 7.7.19")
    func completedPackets() throws {
        let event = NumberOfCompletedPackets(entries: [.init(handle: 1, count: 2), .init(handle: 3, count: 4)])
        #expect(event.packet == hex("04 13 09 02 01 00 02 00 03 00 04 00"))
        #expect(try NumberOfCompletedPackets(octets: event.octets) == event)
    }

    @Test("LE Connection Complete — 7.7.65.1")
    func connectionComplete() throws {
        let packet = hex("04 3E 13 01 00 40 00 01 01 55 44 33 22 11 C0 18 00 00 00 48 00 05")
        guard case .leEvent(let subevent, let parameters) = try HCIPacket(packet),
            case .connectionComplete(let event) = try ControllerEvent(subevent: subevent, parameters: parameters)
        else {
            Issue.record("not an LE Connection Complete event")
            return
        }
        #expect(event.handle == 0x0040)
        #expect(event.role == .peripheral)
        #expect(event.peer == DeviceAddress(0xC0_1122_3344_55, kind: .random))
        #expect((event.interval, event.latency, event.supervisionTimeout) == (24, 0, 72))
        #expect(event.packet == packet)
    }

    @Test(
        "A packet whose lengths do not fit names what is wrong",
        arguments: [
            ("", PacketError(.truncated, field: "HCI packet indicator")),
            ("09 00 00", PacketError(.valueNotAllowed(9), field: "HCI packet indicator")),
            ("04 0E", PacketError(.truncated, field: "HCI packet header")),
            ("04 0E 04 01 03 0C", PacketError(.truncated, field: "HCI packet payload")),
            ("04 0E 01 01 03", PacketError(.trailing(octets: 1), field: "HCI packet payload")),
            ("04 3E 00", PacketError(.truncated, field: "Subevent_Code")),
            ("02 40 20 05 00 01", PacketError(.truncated, field: "HCI packet payload")),
        ])
    func malformed(octets: String, error: PacketError) {
        #expect(throws: error) { try HCIPacket(hex(octets)) }
    }

    // attacks.json, HCI-13 (Zephyr), and a good role and address type with the same handle.
    @Test(
        "A connection that cannot be is refused by name",
        arguments: [
            ("04 3E 13 01 00 FF FF 02 09 C1 C2 C3 C4 C5 C6 18 00 00 00 C8 00 00", "Connection_Handle"),
            ("04 3E 13 01 00 40 00 02 00 C1 C2 C3 C4 C5 C6 18 00 00 00 C8 00 00", "Role"),
            ("04 3E 13 01 00 40 00 01 09 C1 C2 C3 C4 C5 C6 18 00 00 00 C8 00 00", "Peer_Address_Type"),
        ])
    func impossibleConnection(octets: String, field: String) throws {
        guard case .leEvent(let subevent, let parameters) = try HCIPacket(hex(octets)) else {
            Issue.record("not an LE event")
            return
        }
        let error = #expect(throws: PacketError.self) {
            try ControllerEvent(subevent: subevent, parameters: parameters)
        }
        #expect(error?.field == field)
    }

    // attacks.json, HCI-18
    @Test("ACL flags that LE does not have", arguments: [("40 30", false), ("40 60", false), ("40 20", true)])
    func flags(flags: String, isPossible: Bool) throws {
        guard case .acl(let header, _) = try HCIPacket(hex("02 " + flags + " 00 00")) else {
            Issue.record("not ACL data")
            return
        }
        #expect(header.isPossibleOnLE == isPossible)
    }

    @Test("Each command has its own bit among the supported ones — 6.27")
    func supportedCommands() {
        let some = SupportedCommands([.reset, .leSetScanEnable])
        #expect(some.octets[5] == 0x80)
        #expect(some.octets[26] == 0x08)
        #expect(some.contains(.reset) && some.contains(.leSetScanEnable) && !some.contains(.disconnect))
    }
}

@Suite("LE Advertising Report — Core 6.0, Vol 4, Part E, 7.7.65.2")
struct AdvertisingReportTests {
    @Test("Several reports in one event")
    func several() throws {
        let first = AdvertisingReport(
            eventType: .connectable, address: DeviceAddress(0x1122_3344_5566, kind: .random), data: [2, 1, 6], rssi: -40
        )
        let second = AdvertisingReport(eventType: .scanResponse, address: DeviceAddress(1), data: [], rssi: 127)
        let event = LEAdvertisingReport(reports: [first, second])
        #expect(event.octets == hex("02 00 01 66 55 44 33 22 11 03 02 01 06 D8 04 00 01 00 00 00 00 00 00 7F"))
        #expect(Array(AdvertisingReports(parameters: event.octets[...])) == [first, second])
    }

    @Test("Reports before a damaged one count, and nothing behind it")
    func damaged() {
        let octets = hex("03 00 01 66 55 44 33 22 11 03 02 01 06 D8 04 00 01 00 00 00 00 00 1F 00")
        #expect(Array(AdvertisingReports(parameters: octets[...])).count == 1)
        #expect(Array(AdvertisingReports(parameters: [])).isEmpty)
        #expect(Array(AdvertisingReports(parameters: [0xFF])).isEmpty)
    }
}
