import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import Simulation
import VirtualController

/// How much two of our controllers get through a link, whatever the hosts: the rows of a table of what the air allows.
///
/// The limits follow from air times and `T_IFS` (Core 6.0, Vol 6, Part B, 2.1, 2.2 and 4.1.1): as many exchanges of a
/// data PDU and an empty one as end before the next anchor, for ever, on a link without errors.
struct RadioBenchmark {
    enum Direction: String, CaseIterable { case notify, write }

    /// What one value or SDU becomes on the link.
    struct Shape {
        let name: String
        /// Octets that an application has of it.
        let octets: Int
        /// L2CAP PDUs, header included.
        let pdus: [Int]
        /// The most octets of an LL data PDU.
        let dataLength: UInt16

        /// A notification or a write command.
        static func value(_ name: String, octets: Int, dataLength: UInt16) -> Shape {
            Shape(name: name, octets: octets, pdus: [4 + 3 + octets], dataLength: dataLength)
        }

        /// An SDU of 2048 octets on a credit-based channel, its length in front of it.
        static func channel(_ name: String, payload: Int, dataLength: UInt16) -> Shape {
            let whole = (2 + 2048) / payload
            let rest = (2 + 2048) % payload
            return Shape(
                name: name, octets: 2048,
                pdus: Array(repeating: 4 + payload, count: whole) + (rest == 0 ? [] : [4 + rest]),
                dataLength: dataLength)
        }
    }

    enum Physical: String { case le1M = "1M", le2M = "2M", codedS2 = "S2", codedS8 = "S8" }

    let shape: Shape
    let physical: Physical
    let isEncrypted: Bool
    /// In slots of 1.25 ms.
    let interval: UInt16

    func run(_ direction: Direction) -> [Measurement] {
        let rate = RadioPair(self).measure(direction, seconds: 20)
        let encryption = isEncrypted ? "encrypted" : "clear"
        let milliseconds = Double(interval) * 1.25
        let name = "radio_\(direction.rawValue)_\(shape.name)_\(physical.rawValue)_\(encryption)_\(milliseconds)ms"
        return [
            Measurement(name: name, value: rate, unit: "kbit/s"),
            Measurement(name: name + "_of_limit", value: rate / limit, unit: "ratio"),
        ]
    }

    /// What the physics allows, in kbit/s of applications' octets: 20,000 events, packed one exchange after the other.
    var limit: Double {
        let lengths = shape.pdus.flatMap { pdu in
            stride(from: 0, to: pdu, by: Int(shape.dataLength)).map { min(Int(shape.dataLength), pdu - $0) }
        }
        let exchanges = lengths.map { microseconds(of: $0 + (isEncrypted ? 4 : 0)) + 150 + microseconds(of: 0) + 150 }
        let share = Double(shape.octets) / Double(shape.pdus.reduce(0, +))
        let event = Int(interval) * 1250
        var (next, octets) = (0, 0)
        for _ in 0..<20_000 {
            var used = exchanges[next]
            repeat {
                octets += lengths[next]
                next = (next + 1) % lengths.count
                used += exchanges[next]
            } while used <= event
        }
        return Double(octets) * share * 8 / (20_000 * Double(event) / 1000)
    }

    private func microseconds(of count: Int) -> Int {
        switch physical {
        case .le1M: 8 * (10 + count)
        case .le2M: 4 * (11 + count)
        case .codedS2: 462 + 16 * count
        case .codedS8: 720 + 64 * count
        }
    }

    static var all: [RadioBenchmark] {
        let intervals: [UInt16] = [6, 12, 24, 80]
        let long: [Shape] = [
            .value("mtu247_dle", octets: 244, dataLength: 251), .value("mtu517_dle", octets: 512, dataLength: 251),
            .value("mtu185_dle", octets: 182, dataLength: 251),
            .channel("coc_mps247_dle", payload: 247, dataLength: 251),
            .channel("coc_mps1004_dle", payload: 1004, dataLength: 251),
        ]
        let short: [Shape] = [
            .value("20B_nodle", octets: 20, dataLength: 27), .value("mtu185_nodle", octets: 182, dataLength: 27),
            .channel("coc_mps23_nodle", payload: 23, dataLength: 27),
        ]
        var all: [RadioBenchmark] = []
        for interval in intervals {
            for isEncrypted in [true, false] {
                for physical in [Physical.le1M, .le2M] {
                    all += (long + short).map {
                        RadioBenchmark(shape: $0, physical: physical, isEncrypted: isEncrypted, interval: interval)
                    }
                }
                for physical in [Physical.codedS2, .codedS8] where physical == .codedS2 || interval >= 24 {
                    all.append(
                        RadioBenchmark(
                            shape: long[0], physical: physical, isEncrypted: isEncrypted, interval: interval))
                }
            }
        }
        return all
    }
}

/// Two controllers, set to a benchmark's link, and hosts that send as fast as they may.
private struct RadioPair {
    private let benchmark: RadioBenchmark
    private let world: World
    private let central: FillingHost
    private let peripheral: FillingHost

    init(_ benchmark: RadioBenchmark) {
        self.benchmark = benchmark
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
            host = FillingHost(send: send, buffers: 60)
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
            intervalMin: benchmark.interval, intervalMax: benchmark.interval, latency: 0, supervisionTimeout: 400)
        central.send(create.packet)
        world.run(for: .seconds(1))
    }

    private func adjust() {
        for host in [central, peripheral] where benchmark.shape.dataLength > 27 {
            host.send(LESetDataLength(handle: FillingHost.handle, txOctets: 251, txTime: 17040).packet)
        }
        world.run(for: .seconds(1))
        var phy = LESetPHY()
        phy.handle = FillingHost.handle
        phy.noPreference = 0
        switch benchmark.physical {
        case .le1M: phy.tx = .le1M
        case .le2M: phy.tx = .le2M
        case .codedS2, .codedS8: phy.tx = .leCoded
        }
        phy.rx = phy.tx
        phy.options = benchmark.physical == .codedS2 ? 1 : 2
        for host in [central, peripheral] {
            host.send(phy.packet)
            world.run(for: .seconds(2))
        }
        guard benchmark.isEncrypted else { return }
        central.send(LEEnableEncryption(handle: FillingHost.handle, longTermKey: FillingHost.key).packet)
        world.run(for: .seconds(2))
    }

    func measure(_ direction: RadioBenchmark.Direction, seconds: Int) -> Double {
        let (sender, receiver) = direction == .notify ? (peripheral, central) : (central, peripheral)
        sender.fill(with: benchmark.shape.pdus)
        world.run(for: .seconds(2))
        let before = receiver.octets
        world.run(for: .seconds(seconds))
        let share = Double(benchmark.shape.octets) / Double(benchmark.shape.pdus.reduce(0, +))
        return Double(receiver.octets - before) * share * 8 / Double(seconds) / 1000
    }
}

/// A host that keeps its controller's buffers full and counts what comes.
private final class FillingHost: HCIHost {
    /// The first that a controller gives.
    static let handle: UInt16 = 0x0040
    static let key: UInt128 = 1

    let send: ([UInt8]) -> Void
    let deadline: Instant? = nil
    private(set) var octets = 0
    private var free: Int
    private var packets: [[UInt8]] = []
    private var next = 0

    init(send: @escaping ([UInt8]) -> Void, buffers: Int) {
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
