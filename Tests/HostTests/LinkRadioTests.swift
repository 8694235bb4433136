import BluetoothTypes
import Host
import HostInterface
import Simulation
import Testing
import VirtualController

/// What hosts make of their links: long packets, LE 2M, and how much goes through.
@Suite("A link on the air")
struct LinkRadioTests {
    @Test("Both sides soon have long packets on LE 2M, and tell so")
    func status() throws {
        let link = StreamScene()
        for (client, peer) in [(link.central, link.peripheral.peer), (link.peripheral, link.central.peer)] {
            let status = try link.status(of: client, to: peer)
            #expect((status.transmitPHY, status.receivePHY) == (2, 2))
            #expect((status.transmitOctets, status.receiveOctets) == (251, 251))
            #expect(status.timing == LinkTiming(interval: 12, latency: 0, supervisionTimeout: 200))
            #expect(status.mtu == 517 && status.security == nil && !status.isBonded)
        }
        let slow = ConnectionPreference(intervalSlots: 24...24, latency: 4, supervisionTimeout: 600)
        #expect(
            link.central.answer(.updateConnectionParameters(link.peripheral.peer, slow)) == .success(.done))
        link.world.run(.seconds(1))
        #expect(
            try link.status(of: link.peripheral, to: link.central.peer).timing
                == LinkTiming(interval: 24, latency: 4, supervisionTimeout: 600))
        #expect(link.central.answer(.readLink(PeerID(DeviceAddress(1)))) == .failure(.notConnected))
    }

    @Test("The shorter of two lengths counts, and who wants LE 1M keeps it")
    func oldPeer() throws {
        let link = StreamScene(
            peripheral: {
                $0.maximumDataOctets = 27
                $0.prefers2M = false
            }, controller: { $0.maxDataOctets = 60 })
        let status = try link.status(of: link.central, to: link.peripheral.peer)
        #expect((status.transmitPHY, status.transmitOctets) == (1, 60))
    }

    struct Stream: CustomTestStringConvertible {
        var intervalSlots: UInt16
        var mtu: UInt16
        var prefers2M = true
        var octets: UInt16 = 251
        /// Of values, in kbit/s.
        var limit: Double

        var testDescription: String {
            "\(intervalSlots) slots, MTU \(mtu), \(prefers2M ? "2M" : "1M"), \(octets) octets a packet"
        }
    }

    /// The limits are those of exchanges of a full packet and an empty one, `T_IFS` between them (Core 6.0, Vol 6,
    /// Part B, 2.1 and 4.1.1): 1392 µs for 251 octets on LE 2M, 2468 on LE 1M, 676 for 27 octets; as many as fit an
    /// event.
    @Test(
        "A stream of notifications fills the link's events",
        arguments: [
            Stream(intervalSlots: 6, mtu: 247, limit: 1301), Stream(intervalSlots: 12, mtu: 247, limit: 1301),
            Stream(intervalSlots: 24, mtu: 247, limit: 1366), Stream(intervalSlots: 80, mtu: 247, limit: 1386),
            // 495 octets fill two packets.
            Stream(intervalSlots: 12, mtu: 498, limit: 1320),
            Stream(intervalSlots: 24, mtu: 247, prefers2M: false, limit: 781),
            Stream(intervalSlots: 12, mtu: 23, prefers2M: false, octets: 27, limit: 235),
        ])
    func throughput(stream: Stream) throws {
        let link = StreamScene(both: {
            $0.preferredMTU = stream.mtu
            $0.prefers2M = stream.prefers2M
            $0.maximumDataOctets = stream.octets
            $0.connection.intervalSlots = stream.intervalSlots...stream.intervalSlots
        })
        let kilobits = try link.notify(octets: Int(stream.mtu) - 3)
        #expect(kilobits >= 0.98 * stream.limit && kilobits <= 1.01 * stream.limit, "\(kilobits) kbit/s")
    }
}

/// Two hosts with a link between them, and a characteristic that notifies.
final class StreamScene {
    let world = TestWorld()
    let peripheral: TestClient
    let central: TestClient
    private var value = AttributeHandle(rawValue: 0)

    init(
        peripheral configurePeripheral: ((inout HostConfiguration) -> Void)? = nil,
        controller: @escaping (inout ControllerConfiguration) -> Void = { _ in },
        both: @escaping (inout HostConfiguration) -> Void = { _ in }
    ) {
        peripheral = world.device("peripheral", at: 1, controller: controller, configurePeripheral ?? both)
        central = world.device("central", both)
        let characteristic = CharacteristicDefinition(
            uuid: .uuid16(0xFFF1), properties: 0x10, permissions: .readable)
        let service = ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [characteristic])
        if case .success(.published(let service)) = peripheral.answer(.addService(service)) {
            value = service.characteristics[0]
        }
        _ = peripheral.answer(.startAdvertising(AdvertisementContent(services: [.uuid16(0xFFF0)])))
        _ = central.answer(.connect(peripheral.peer))
        _ = peripheral.answer(.stopAdvertising)
        world.run(.seconds(2))
    }

    func status(of client: TestClient, to peer: PeerID) throws -> LinkStatus {
        guard case .success(.link(let status)) = client.answer(.readLink(peer)) else {
            throw HostFailure.notConnected
        }
        return status
    }

    /// Notifies for five seconds as fast as it may; kbit/s of values that arrive.
    func notify(octets: Int) throws -> Double {
        guard case .success(.services(let services)) = central.answer(.discoverServices(peripheral.peer, only: nil)),
            let service = services.first(where: { $0.uuid == .uuid16(0xFFF0) }),
            case .success(.characteristics(let list)) = central.answer(
                .discoverCharacteristics(peripheral.peer, of: service)),
            central.answer(.subscribe(peripheral.peer, list[0], .notifications)) == .success(.done)
        else { throw HostFailure.unknownPeer }
        // Each value that the controller has taken makes room for the next.
        let next = HostRequest.notify(value, value: [UInt8](repeating: 7, count: octets), to: nil)
        peripheral.onQuestion = { if case .answer(_, .success(.done)) = $0 { next } else { nil } }
        for _ in 0..<40 { peripheral.ask(next) }
        world.run(.seconds(1))
        central.clear()
        world.run(.seconds(5))
        var received = 0
        for case .notified(_, _, let value) in central.events.map(\.event) { received += value.count }
        return Double(received) * 8 / 5 / 1000
    }
}
