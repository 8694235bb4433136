import BluetoothTypes
import EventLoop
import ProtocolTestKit
import Simulation

/// An advertiser that is no host of ours: it says what a test wants, by HCI commands that are spelt out.
final class RawAdvertiser: HCIHost {
    let device: Device
    private let world: World
    private var send: ([UInt8]) -> Void = { _ in }
    private(set) var packets: [[UInt8]] = []

    var deadline: Instant? { nil }
    func wake(at now: Instant) {}
    func receive(_ packet: [UInt8], at now: Instant) { packets.append(packet) }

    init(in world: World, name: String, address: UInt64, at metres: Double = 1) {
        self.world = world
        device = world.addDevice(name: name, address: DeviceAddress(address), position: Position(x: metres, y: 0))
        device.attach { send in
            self.send = send
            return self
        }
        command("03 0C 00")  // Reset.
        command("01 0C 08 FF FF FF FF FF FF FF 3F")  // Set Event Mask: the LE events too.
        // LE Set Event Mask: all but Enhanced Connection Complete, which would come in place of Connection Complete.
        command("01 20 08 FF FD FF FF 00 00 00 00")
    }

    /// The command's octets, from the opcode on.
    func command(_ octets: String) { command(hex(octets)) }

    func command(_ octets: [UInt8]) {
        send([0x01] + octets)
        world.run(for: .zero)
    }

    enum Kind: UInt8 {
        // Core 6.0, Vol 4, Part E, 7.8.5.
        case connectable = 0x00
        case directed = 0x04
        case scannable = 0x02
        case nonconnectable = 0x03
    }

    func advertise(_ kind: Kind, _ data: [UInt8] = [], to target: DeviceAddress? = nil) {
        let address = (target ?? DeviceAddress(0)).value
        let octets = (0..<6).map { UInt8(truncatingIfNeeded: address >> (8 * UInt64($0))) }
        command([0x06, 0x20, 15, 0xA0, 0, 0xA0, 0, kind.rawValue, 0, 0] + octets + [7, 0])
        if kind != .directed {
            let padding = [UInt8](repeating: 0, count: 31 - data.count)
            command([0x08, 0x20, 32, UInt8(data.count)] + data + padding)
        }
        command("0A 20 01 01")
    }

    /// Of the link that came up last: LE Connection Complete (7.7.65.1).
    var linkHandle: [UInt8]? {
        packets.last { $0.count > 6 && $0[0] == 0x04 && $0[1] == 0x3E && $0[3] == 0x01 && $0[4] == 0 }.map {
            Array($0[5...6])
        }
    }
}

/// What is on the advertising channels.
final class AirWatch {
    struct Packet {
        var sender: Int
        /// The PDU type of Core 6.0, Vol 6, Part B, 2.3.
        var kind: UInt8
        var senderIsRandom: Bool
        var address: UInt64
        var data: [UInt8]

        /// Vol 6, Part B, 1.3.2.2.
        var isResolvable: Bool { senderIsRandom && address >> 46 == 0b01 }
    }

    private(set) var packets: [Packet] = []

    init(_ world: World) {
        world.airTap = { [unowned self] packet in
            guard packet.channel >= 37, packet.octets.count >= 8 else { return }
            let address = packet.octets[2..<8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            packets.append(
                Packet(
                    sender: packet.sender, kind: packet.octets[0] & 0x0F, senderIsRandom: packet.octets[0] & 0x40 != 0,
                    address: address, data: Array(packet.octets[8...])))
        }
    }

    func kinds(from device: HostedDevice) -> Set<UInt8> { Set(packets(from: device).map(\.kind)) }

    func packets(from device: HostedDevice) -> [Packet] { packets.filter { $0.sender == device.device.number } }
}
