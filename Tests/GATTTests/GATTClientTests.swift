import ATT
import BluetoothTypes
import EventLoop
import GATT
import ProtocolTestKit
import Testing

@Suite("GATT client — Core 6.0, Vol 3, Part G, 4")
struct GATTClientTests {
    static let level = GATTCharacteristic(
        uuid: .uuid16(0x2A19), declaration: 2, value: 3, end: 6, properties: [.read, .notify])

    @Test("GATT/CL/GAC/BV-01-C: Exchange MTU; the lesser of the two counts, and it is asked for once a link")
    func exchangeMTU() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .exchangeMTU)
            client.expectSent("02 05 02")
            client.receive("03 B9 00")
            client.expect(.mtuChanged(185))
            client.finish(1, .mtu(185))
            client.submit(2, .exchangeMTU)
            client.finish(2, .mtu(185))
        }
        Scene.play(ServedBearer()) { client in
            client.submit(1, .exchangeMTU)
            client.expectSent("02 05 02")
            client.receive("01 02 00 00 06")  // The peer does not know the request.
            client.finish(1, .mtu(23))
        }
    }

    @Test("Procedures run one after the other, each to its end")
    func line() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.submit(2, .write(3, value: [0x01]))
            client.submit(3, .readMultiple([3]))
            client.input(.writeCommand(id: 4, handle: 3, value: [0x02]), #_sourceLocation)  // Waits for nobody.
            client.expect(.sendUnanswered(hex("52 03 00 02"), id: 4))
            client.receive("0B 64")
            client.finish(1, .value([0x64]))
            client.expectSent("12 03 00 01")
            client.receive("01 12 03 00 03")
            client.fail(2, .refused(.writeNotPermitted))
            client.fail(3, .invalidParameters("1 handles to read at once; 2...11 are possible"))
            client.input(.writeCommand(id: 5, handle: 3, value: Array(0..<21)), #_sourceLocation)
            client.fail(5, .invalidParameters("21 octets in a Write Command that holds 20"))
        }
    }

    @Test("GATT/CL/GAD/BV-04-C: a characteristic ends before the next one, the last one with the service")
    func characteristics() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .discoverCharacteristics(1...9))
            client.expectSent("08 01 00 09 00 03 28")
            client.receive("09 07 02 00 12 03 00 19 2A 05 00 02 06 00 1A 2A")
            client.expectSent("08 06 00 09 00 03 28")
            client.receive("01 08 06 00 0A")
            client.finish(
                1,
                .characteristics([
                    GATTCharacteristic(
                        uuid: .uuid16(0x2A19), declaration: 2, value: 3, end: 4, properties: [.read, .notify]),
                    GATTCharacteristic(uuid: .uuid16(0x2A1A), declaration: 5, value: 6, end: 9, properties: .read),
                ]))
        }
    }

    @Test(
        "Declarations that can't be true end the search",
        arguments: [
            "09 07 02 00 12 02 00 19 2A",  // The value before its declaration.
            "09 07 02 00 12 03 00 19 2A 02 00 12 03 00 19 2A",  // Twice the same.
            "09 07 0A 00 12 0B 00 19 2A",  // Behind the range.
            "09 06 02 00 12 03 00 19", "09 01", "09 07", "09",
        ])
    func illegalCharacteristics(answer: String) throws {
        var client = ServedBearer()
        _ = client.handle(.submit(id: 1, .discoverCharacteristics(1...9)), at: Instant())
        let effects = client.handle(.receive(hex(answer)[...]), at: Instant())
        guard case .finish(id: 1, .failure(.illegalAnswer))? = effects.first, effects.count == 1 else {
            Issue.record("\(answer) is taken")
            return
        }
    }

    @Test("GATT/CL/GAD/BV-01-C: services by several UUIDs are picked from all")
    func someServices() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .discoverPrimaryServices(only: [.uuid16(0x1819), .uuid16(0x1800)]))
            client.expectSent("10 01 00 FF FF 00 28")
            client.receive("11 06 01 00 03 00 00 18 04 00 08 00 01 18 09 00 FF FF 19 18")
            client.finish(
                1,
                .services([
                    GATTService(uuid: .uuid16(0x1800), handles: 1...3),
                    GATTService(uuid: .uuid16(0x1819), handles: 9...0xFFFF),
                ]))
        }
    }

    @Test(
        "GATT/CL/GAD/BV-06-C, GATT/CL/GAN/BV-01-C, GATT/CL/GAN/BV-02-C: its descriptor is found once, then known"
    )
    func subscribe() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .subscribe(Self.level, .notifications))
            client.expectSent("04 04 00 06 00")
            client.receive("05 01 04 00 01 29")
            client.expectSent("04 05 00 06 00")
            client.receive("05 01 05 00 02 29 06 00 04 29")
            client.expectSent("12 05 00 01 00")
            client.receive("1B 03 00 AA")  // Before the confirmation: some peers are that fast.
            client.expect(.notified(handle: 3, value: [0xAA]))
            client.receive("13")
            client.finish(1, .done)
            client.receive("23 03 00 01 00 AA 06 00 02 00 BB CC")
            client.expect(.notified(handle: 3, value: [0xAA]))
            client.expect(.notified(handle: 6, value: [0xBB, 0xCC]))
            client.submit(2, .subscribe(Self.level, []))
            client.expectSent("12 05 00 00 00")
        }
    }

    @Test("A characteristic without a configuration descriptor says so", arguments: [3, 6] as [UInt16])
    func noConfigurationDescriptor(end: UInt16) {
        Scene.play(ServedBearer()) { client in
            var characteristic = Self.level
            characteristic.end = end
            client.submit(1, .subscribe(characteristic, .notifications))
            if end > 3 {
                client.expectSent("04 04 00 06 00")
                client.receive("01 04 04 00 0A")
            }
            client.fail(1, .noConfigurationDescriptor)
        }
    }

    @Test("Descriptors that were discovered need not be searched again; there may be no room for any")
    func descriptors() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .discoverDescriptors(Self.level))
            client.expectSent("04 04 00 06 00")
            client.receive("05 01 04 00 02 29 06 00 01 29")
            client.finish(
                1,
                .descriptors([
                    GATTDescriptor(uuid: .uuid16(0x2902), handle: 4), GATTDescriptor(uuid: .uuid16(0x2901), handle: 6),
                ]))
            client.submit(2, .subscribe(Self.level, .indications))
            client.expectSent("12 04 00 02 00")
            client.receive("13")
            client.finish(2, .done)
            var bare = Self.level
            bare.end = bare.value
            client.submit(3, .discoverDescriptors(bare))
            client.finish(3, .descriptors([]))
        }
    }

    @Test("GATT/CL/GAI/BV-01-C: an indication is confirmed before it is told")
    func indication() {
        Scene.play(ServedBearer()) { client in
            client.receive("1D 03 00 AA")
            client.expectSent("1E")
            client.expect(.notified(handle: 3, value: [0xAA]))
        }
    }

    @Test("GATT/CL/GAS/BV-01-C: Service Changed; what was known of those handles is forgotten")
    func serviceChanged() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .discoverCharacteristics(7...9))
            client.expectSent("08 07 00 09 00 03 28")
            client.receive("09 07 08 00 20 09 00 05 2A")
            client.expectSent("08 09 00 09 00 03 28")
            client.receive("01 08 09 00 0A")
            client.finish(
                1,
                .characteristics([
                    GATTCharacteristic(
                        uuid: .uuid16(0x2A05), declaration: 8, value: 9, end: 9, properties: .indicate)
                ]))
            client.submit(2, .discoverDescriptors(Self.level))
            client.expectSent("04 04 00 06 00")
            client.receive("05 01 04 00 02 29 05 00 01 29 06 00 01 29")
            client.finish(
                2,
                .descriptors([
                    GATTDescriptor(uuid: .uuid16(0x2902), handle: 4), GATTDescriptor(uuid: .uuid16(0x2901), handle: 5),
                    GATTDescriptor(uuid: .uuid16(0x2901), handle: 6),
                ]))
            client.receive("1D 09 00 01 00 FF FF")
            client.expectSent("1E")
            client.expect(.servicesChanged(1...0xFFFF))
            client.submit(3, .subscribe(Self.level, .notifications))
            client.expectSent("04 04 00 06 00")
        }
    }

    @Test("GATT/CL/GAR/BV-04-C: a value of a multiple of ATT_MTU - 1 ends with an empty part, or with an error")
    func longRead() {
        for end in ["0D", "01 0C 03 00 0B", "01 0C 03 00 07"] {
            Scene.play(ServedBearer()) { client in
                let full = String(repeating: " AA", count: 22)
                client.submit(1, .read(3))
                client.expectSent("0A 03 00")
                client.receive("0B" + full)
                client.expectSent("0C 03 00 16 00")
                client.receive(end)
                client.finish(1, .value([UInt8](repeating: 0xAA, count: 22)))
            }
        }
    }

    @Test("GATT/CL/GAR/BV-05-C, GATT/CL/GAR/BV-08-C: several values at once, with and without their lengths")
    func readMultiple() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .readMultiple([3, 7]))
            client.expectSent("0E 03 00 07 00")
            client.receive("0F 01 02 03")
            client.finish(1, .value([0x01, 0x02, 0x03]))
            client.submit(2, .readMultipleVariable([3, 7]))
            client.expectSent("20 03 00 07 00")
            client.receive("21 01 00 AA 05 00 BB CC")  // The last one cut short by ATT_MTU.
            client.finish(
                2, .values([GATTValue(handle: 3, value: [0xAA]), GATTValue(handle: 7, value: [0xBB, 0xCC])]))
        }
    }

    @Test("GATT/CL/GAW/BV-05-C: a value that does not fit is prepared in parts, and executed")
    func longWrite() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .write(3, value: [UInt8](repeating: 0xFF, count: 21)))
            let part = String(repeating: " FF", count: 18)
            client.expectSent("16 03 00 00 00" + part)
            client.receive("17 03 00 00 00" + part)
            client.expectSent("16 03 00 12 00 FF FF FF")
            client.receive("17 03 00 12 00 FF FF FF")
            client.expectSent("18 01")
            client.receive("19")
            client.finish(1, .done)
            client.submit(2, .write(3, value: [UInt8](repeating: 0xFF, count: 513)))
            client.fail(2, .refused(.invalidAttributeValueLength))
        }
    }

    @Test("After thirty seconds without an answer the bearer is dead; whatever is open ends before the link is dropped")
    func timeout() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.submit(2, .read(4))
            client.input(.indicate(id: 3, handle: 5, value: []), #_sourceLocation)
            client.expectSent("1D 05 00")
            client.receive("1E")
            client.finish(3, .done)
            client.wait(.seconds(30))
            client.fail(1, .timedOut)
            client.fail(2, .timedOut)
            client.expect(.drop)
            client.submit(4, .read(3))
            client.fail(4, .timedOut)
        }
    }

    @Test("When the link goes, everything open ends once, and nothing starts any more")
    func linkLost() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .read(3))
            client.expectSent("0A 03 00")
            client.submit(2, .read(4))
            client.input(.linkLost, #_sourceLocation)
            client.fail(1, .linkLost)
            client.fail(2, .linkLost)
            client.submit(3, .read(3))
            client.fail(3, .linkLost)
            client.receive("0B AA")
        }
    }
}
