import BluetoothTypes
import HCI
import HCITransport
import ProtocolTestKit
import Testing

@Suite("H4 framing — Core 6.0, Vol 4, Part A")
struct FramerTests {
    private static let event = hex("04 0E 04 01 03 0C 00")
    private static let data = hex("02 40 20 03 00 AA BB CC")

    @Test("Several packets in one read")
    func many() {
        var framer = H4Framer()
        let packets = framer.receive(Self.event + Self.data + Self.event)
        #expect(packets.map(Array.init) == [Self.event, Self.data, Self.event])
        #expect(framer.isBetweenPackets)
    }

    @Test("A packet cut anywhere", arguments: 1..<15)
    func cut(position: Int) {
        var framer = H4Framer()
        let stream = Self.data + Self.event
        let packets = framer.receive(Array(stream[..<position])) + framer.receive(Array(stream[position...]))
        #expect(packets.map(Array.init) == [Self.data, Self.event])
    }

    @Test("All five types have their own headers — Vol 4, Part E, 5.4")
    func types() {
        let packets = ["01 03 0C 00", "02 40 20 00 00", "03 40 00 01 AA", "04 10 01 00", "05 40 20 01 C0 AA"].map(hex)
        var framer = H4Framer()
        #expect(framer.receive(packets.flatMap { $0 }).map(Array.init) == packets)
    }

    // attacks.json, HCI-01 (Mbed, CVE-2024-48981): nothing behind the damage is taken for a packet.
    @Test("An octet that begins no packet ends the stream, and is named with its place")
    func notH4() {
        var framer = H4Framer()
        #expect(framer.receive(Self.event + hex("07 07") + Self.event).map(Array.init) == [Self.event])
        #expect(framer.failure == .notH4(octet: 0x07, offset: 7))
        #expect(framer.receive(Self.event).isEmpty)
        #expect(
            framer.failure?.description
                == "Octet 0x07 at offset 7 begins no HCI packet, so this is not H4.")
    }

    @Test("A web server is no controller")
    func http() {
        var framer = H4Framer()
        #expect(framer.receive(Array("HTTP/1.1 400 Bad Request\r\n".utf8)).isEmpty)
        #expect(framer.failure == .notH4(octet: 0x48, offset: 0))
    }

    @Test("A length that no controller sends ends the stream before its octets are kept")
    func tooLong() {
        var framer = H4Framer(maximumPayload: 1000)
        #expect(framer.receive(Self.event + hex("02 40 20 E9 03")).map(Array.init) == [Self.event])
        #expect(framer.failure == .tooLong(.aclData, length: 1001, offset: 7))
    }
}

@Suite("btsnoop — RFC 1761, datalink 1002")
struct BTSnoopTests {
    @Test("The header and a record, octet by octet")
    func layout() {
        #expect(BTSnoop.header == hex("62 74 73 6E 6F 6F 70 00 00 00 00 01 00 00 03 EA"))
        let lengths = "00 00 00 04 00 00 00 04 "
        let command = BTSnoop.record(hex("01 03 0C 00"), .toController, time: 0)
        #expect(command == hex(lengths + "00 00 00 02 00 00 00 00 00 DC DD B3 0F 2F 80 00 01 03 0C 00"))
        let event = BTSnoop.record(hex("04 10 01 00"), .toHost, time: 1)
        #expect(event == hex(lengths + "00 00 00 03 00 00 00 00 00 DC DD B3 0F 2F 80 01 04 10 01 00"))
        let data = BTSnoop.record(hex("02 40 20 00 00"), .toHost, time: 0)
        #expect(data[8..<12] == [0, 0, 0, 1])
    }
}

@Suite("The radio's address")
struct RadioAddressTests {
    @Test(
        "Every kind, and back",
        arguments: [
            ("simulated", RadioAddress.simulated(world: nil)),
            ("simulated:world.json", .simulated(world: "world.json")),
            ("hci:0", .adapter(.index(0))),
            ("hci:00:1A:7D:DA:71:13", .adapter(.address(DeviceAddress(0x001A_7DDA_7113)))),
            ("serial:/dev/ttyACM0@1000000", .serial(device: "/dev/ttyACM0", baud: 1_000_000)),
            ("tcp:localhost:6402", .tcp(host: "localhost", port: 6402)),
            ("tcp:[::1]:6402", .tcp(host: "::1", port: 6402)),
            ("unix:/tmp/a:b", .unix(path: "/tmp/a:b")),
        ])
    func kinds(text: String, address: RadioAddress) throws {
        #expect(try RadioAddress(text) == address)
        #expect(address.description == text)
    }

    @Test(
        "What names no radio says what would",
        arguments: [
            ("", "The kinds are"), ("bluez", "The kinds are"), ("HCI:0", "The kinds are"), ("hci:", "hci:NUMBER"),
            ("hci", "hci:NUMBER"), ("hci:x", "hci:NUMBER"), ("tcp:6402", "tcp:HOST:PORT"),
            ("tcp:host:", "tcp:HOST:PORT"), ("tcp::6402", "tcp:HOST:PORT"), ("tcp:host:70000", "tcp:HOST:PORT"),
            ("tcp:host:0", "tcp:HOST:PORT"), ("serial:/dev/tty", "serial:DEVICE@BAUD"),
            ("serial:/dev/tty@fast", "serial:DEVICE@BAUD"), ("serial:@9600", "serial:DEVICE@BAUD"),
            ("unix:", "unix:PATH"), ("unix", "unix:PATH"), ("simulated:", "simulated:FILE"),
        ])
    func malformed(text: String, hint: String) {
        let error = #expect(throws: RadioAddress.Malformed.self) { try RadioAddress(text) }
        #expect(error?.description.contains(hint) == true)
    }
}
