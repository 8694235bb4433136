import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import Simulation
import VirtualController

/// How much two of our controllers get through a link, whatever the hosts.
package struct ControllerBenchmark {
    package let link: LinkCase
    package let direction: LinkCase.Direction

    package init(_ link: LinkCase, _ direction: LinkCase.Direction) {
        self.link = link
        self.direction = direction
    }

    /// In kbit/s of applications' octets.
    ///
    /// - Parameter seconds: of simulated time.
    package func rate(seconds: Int) -> Double { RadioPair(link).measure(direction, seconds: seconds) }
}

/// Two controllers, set to a benchmark's link, and hosts that send as fast as they may.
private struct RadioPair {
    private let link: LinkCase
    private let world: World
    private let central: FillingHost
    private let peripheral: FillingHost

    init(_ link: LinkCase) {
        self.link = link
        world = World(seed: 1)
        central = Self.host(in: world, 0xC0_0000_0001, at: Position())
        peripheral = Self.host(in: world, 0xC0_0000_0002, at: Position(x: 1))
        connect()
        adjust()
    }

    private static func host(in world: World, _ address: UInt64, at position: Position) -> FillingHost {
        var configuration = ControllerConfiguration(address: DeviceAddress(address))
        configuration.aclLength = 251
        configuration.aclCount = 60
        let device = world.addDevice(
            name: "\(address)", address: configuration.address, position: position, configuration: configuration)
        var host: FillingHost!
        device.attach { send in
            host = FillingHost(device, send: send, buffers: 60)
            return host
        }
        host.send(SetEventMask(mask: UInt64.max).packet)
        host.send(LESetEventMask(mask: 0x1F).packet)
        return host
    }

    private func connect() {
        var advertising = LESetAdvertisingParameters()
        advertising.intervalMin = 0x20
        advertising.intervalMax = 0x20
        peripheral.send(advertising.packet)
        peripheral.send(LESetAdvertisingEnable(true).packet)
        var create = LECreateConnection()
        create.peer = DeviceAddress(0xC0_0000_0002)
        create.parameters = ConnectionParameterRange(
            intervalMin: link.interval, intervalMax: link.interval, latency: 0, supervisionTimeout: 400)
        central.send(create.packet)
        world.run(for: .seconds(1))
    }

    private func adjust() {
        for host in [central, peripheral] where link.shape.dataLength > 27 {
            host.send(LESetDataLength(handle: FillingHost.handle, txOctets: 251, txTime: 17040).packet)
        }
        world.run(for: .seconds(1))
        var phy = LESetPHY()
        phy.handle = FillingHost.handle
        phy.noPreference = 0
        switch link.physical {
        case .le1M: phy.tx = .le1M
        case .le2M: phy.tx = .le2M
        case .codedS2, .codedS8: phy.tx = .leCoded
        }
        phy.rx = phy.tx
        phy.options = link.physical == .codedS2 ? 1 : 2
        for host in [central, peripheral] {
            host.send(phy.packet)
            world.run(for: .seconds(2))
        }
        guard link.isEncrypted else { return }
        central.send(LEEnableEncryption(handle: FillingHost.handle, longTermKey: FillingHost.key).packet)
        world.run(for: .seconds(2))
    }

    func measure(_ direction: LinkCase.Direction, seconds: Int) -> Double {
        let (sender, receiver) = direction == .up ? (peripheral, central) : (central, peripheral)
        sender.device.packetsPerEvent = link.packetsPerEvent
        sender.fill(with: link.shape.pdus)
        world.run(for: .seconds(2))
        let before = receiver.octets
        world.run(for: .seconds(seconds))
        let share = Double(link.shape.octets) / Double(link.shape.pdus.reduce(0, +))
        return Double(receiver.octets - before) * share * 8 / Double(seconds) / 1000
    }
}

/// A host that keeps its controller's buffers full and counts what comes.
private final class FillingHost: HCIHost {
    /// The first that a controller gives.
    static let handle: UInt16 = 0x0040
    static let key: UInt128 = 1

    let send: ([UInt8]) -> Void
    unowned let device: Device
    let deadline: Instant? = nil
    private(set) var octets = 0
    private var free: Int
    private var packets: [[UInt8]] = []
    private var next = 0

    init(_ device: Device, send: @escaping ([UInt8]) -> Void, buffers: Int) {
        self.device = device
        self.send = send
        free = buffers
    }

    func wake(at now: Instant) {}

    func receive(_ packet: [UInt8], at now: Instant) {
        switch try? HCIPacket(packet) {
        case .acl(_, let payload):
            octets += payload.count
        case .event(.numberOfCompletedPackets, let parameters):
            guard let event = try? NumberOfCompletedPackets(octets: parameters) else { return }
            free += event.entries.reduce(0) { $0 + Int($1.count) }
            refill()
        case .leEvent(.longTermKeyRequest, _):
            send(LELongTermKeyRequestReply(handle: Self.handle, longTermKey: Self.key).packet)
        default: break
        }
    }

    /// Sends L2CAP PDUs of these lengths over and over, in ACL packets of at most 251 octets.
    func fill(with lengths: [Int]) {
        packets = lengths.flatMap { length in
            stride(from: 0, to: length, by: 251).map { start in
                aclPacket(
                    handle: Self.handle, boundary: start == 0 ? .firstNonFlushable : .continuation,
                    payload: [UInt8](repeating: 0x2A, count: min(251, length - start)))
            }
        }
        refill()
    }

    private func refill() {
        while free > 0, !packets.isEmpty {
            free -= 1
            send(packets[next])
            next = (next + 1) % packets.count
        }
    }
}
