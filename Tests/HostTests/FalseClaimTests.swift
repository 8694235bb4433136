import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

/// Core 6.0, Vol 4, Part E, 3.1.1: of legacy and extended commands a host uses one kind, until the next reset. Real
/// controllers have been seen to name the extended ones without knowing them: Linux, drivers/bluetooth/btusb.c,
/// BTUSB_ACTIONS_SEMI.
@Suite("A controller that names commands it does not know")
struct FalseClaimTests {
    /// A host on a controller of ours, but for one command: it reaches the controller under a number that no command
    /// has, and so the answer is the controller's own.
    private final class Line: HCIHost {
        private static let nobody: [UInt8] = [0xFE, 0xFF]

        private(set) var host: Host!
        private(set) var sent: [UInt16] = []
        private(set) var events: [HostEvent] = []
        private var client: ClientID!
        private var lastNumber: UInt64 = 0
        private let unknown: [UInt8]
        private let world: World

        var deadline: Instant? { host.deadline }
        func wake(at now: Instant) { host.wake(at: now) }

        func receive(_ packet: [UInt8], at now: Instant) {
            guard packet.starts(with: [0x04, 0x0F]), packet.suffix(2) == Self.nobody[...] else {
                return host.receive(packet, at: now)
            }
            host.receive(packet.dropLast(2) + unknown, at: now)
        }

        init(in world: World, device: Device, unknown: UInt16) {
            self.world = world
            self.unknown = [UInt8(truncatingIfNeeded: unknown), UInt8(unknown >> 8)]
            device.attach { [self] send in
                host = Host { [unowned self] packet in
                    guard packet[0] == 0x01 else { return send(packet) }
                    sent.append(UInt16(packet[1]) | UInt16(packet[2]) << 8)
                    send(packet[1...2] == self.unknown[...] ? [0x01] + Self.nobody + packet[3...] : packet)
                }
                return self
            }
            client = host.attach({ [unowned self] in events.append($0) }, at: world.now)
            host.powerOn(at: world.now)
            world.run(for: .milliseconds(100))
        }

        func answer(_ request: HostRequest) -> Result<HostAnswer, HostFailure>? {
            lastNumber += 1
            host.submit(request, number: RequestNumber(lastNumber), client: client, at: world.now)
            world.run(for: .seconds(1))
            for case .answer(RequestNumber(lastNumber), let result) in events { return result }
            return nil
        }

        var states: [String] {
            events.compactMap { event in
                guard case .state(let state) = event else { return nil }
                return switch state {
                case .resetting: "resetting"
                case .poweredOn: "on"
                default: "\(state)"
                }
            }
        }
    }

    @Test(
        "It is told in legacy commands after a reset, whichever it did not know",
        arguments: [0x2041, 0x2042, 0x2036, 0x2039, 0x2043] as [UInt16])
    func fallsBack(unknown: UInt16) throws {
        let scene = TestWorld()
        let peer = scene.device("Peer")
        guard case .success(.advertising) = peer.answer(.startAdvertising(AdvertisementContent(localName: "Peer")))
        else {
            Issue.record("The peer is not on the air.")
            return
        }
        let world = scene.world
        let device = world.addDevice(name: "liar", address: DeviceAddress(0x02_0000_0000_0A), position: Position(x: 1))
        let line = Line(in: world, device: device, unknown: unknown)
        #expect(line.states == ["on"])
        for request in [
            HostRequest.startScan(ScanFilter()), .startAdvertising(AdvertisementContent(localName: "Liar")), .stopScan,
            .connect(peer.peer),
        ] {
            let first = line.answer(request)
            guard line.states.count == 3 else { continue }
            // What was asked for in the moment has ended with the controller's reset.
            #expect(line.states == ["on", "resetting", "on"])
            if case .success = first { Issue.record("\(request) was done by a command that is unknown") }
            break
        }
        try #require(line.states.count == 3)
        let reset = try #require(line.sent.lastIndex(of: 0x0C03))
        #expect(line.answer(.startScan(ScanFilter())) == .success(.done))
        #expect(line.events.contains { if case .discovered(let found) = $0 { found.peer == peer.peer } else { false } })
        guard case .success(.advertising) = line.answer(.startAdvertising(AdvertisementContent(localName: "Liar")))
        else {
            Issue.record("not on the air")
            return
        }
        #expect(line.answer(.connect(peer.peer)) == .success(.connected(mtu: 517)))
        // Extended advertising, scanning and connecting: 7.8.53 to 7.8.66. Legacy: 7.8.9 to 7.8.12.
        let afterwards = line.sent[reset...]
        #expect(!afterwards.contains { (0x2035...0x2043).contains($0) })
        #expect(afterwards.contains(0x200A) && afterwards.contains(0x200C) && afterwards.contains(0x200D))
        #expect(line.states.count == 3)
    }
}
