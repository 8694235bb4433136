import ATT
import BluetoothTypes
import GATT
import ProtocolTestKit
import Testing

@Suite("GATT client — Core 6.0, Vol 3, Part G, 4")
struct GATTClientTests {
    @Test("GATT/CL/GAC/BV-01-C: Exchange MTU; the lesser of the two counts")
    func exchangeMTU() {
        Scene.play(ServedBearer()) { client in
            client.submit(1, .exchangeMTU)
            client.expectSent("02 05 02")
            client.receive("03 B9 00")
            client.expect(.mtuChanged(185))
            client.finish(1, .mtu(185))
            client.submit(2, .exchangeMTU)  // Once a link.
            client.finish(2, .mtu(185))
        }
    }

    @Test("GATT/CL/GAD/BV-06-C, GATT/CL/GAN/BV-01-C: the configuration descriptor is found once, then known")
    func subscribe() {
        let characteristic = GATTCharacteristic(
            uuid: .uuid16(0x2A19), declaration: 2, value: 3, end: 6, properties: .notify)
        Scene.play(ServedBearer()) { client in
            client.submit(1, .subscribe(characteristic, .notifications))
            client.expectSent("04 04 00 06 00")
            client.receive("05 01 04 00 01 29")
            client.expectSent("04 05 00 06 00")
            client.receive("05 01 05 00 02 29 06 00 04 29")
            client.expectSent("12 05 00 01 00")
            client.receive("1B 03 00 AA")  // Before the confirmation: some peers are that fast.
            client.expect(.notified(handle: 3, value: [0xAA]))
            client.receive("13")
            client.finish(1, .done)
            client.submit(2, .subscribe(characteristic, []))
            client.expectSent("12 05 00 00 00")
        }
    }
}
