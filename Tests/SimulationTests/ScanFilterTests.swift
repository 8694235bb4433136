import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

/// What a client's filter lets through, of advertisements of any form.
@Suite("Scan filters")
struct ScanFilterTests {
    private static let service = BluetoothUUID.uuid16(0xFFF0)

    @Test(
        "B-C2: a list of any kind matches, Service Data alone does not, solicitation on demand",
        arguments: [
            ([3, 0x02, 0xF0, 0xFF], true, false), ([3, 0x03, 0xF0, 0xFF], true, false),
            ([5, 0x04, 0xF0, 0xFF, 0, 0], true, false), ([5, 0x05, 0xF0, 0xFF, 0, 0], true, false),
            ([17, 0x06] + base(0xFFF0), true, false), ([17, 0x07] + base(0xFFF0), true, false),
            ([5, 0x03, 0x0F, 0x18, 0xF0, 0xFF], true, false), ([3, 0x03, 0x0F, 0x18], false, false),
            ([5, 0x16, 0xF0, 0xFF, 1, 2], false, false), ([3, 0x14, 0xF0, 0xFF], false, true),
            ([17, 0x15] + base(0xFFF0), false, true), ([5, 0x1F, 0xF0, 0xFF, 0, 0], false, true), ([], false, false),
        ] as [([UInt8], Bool, Bool)])
    func forms(data: [UInt8], matches: Bool, matchesIfSolicited: Bool) {
        #expect(isReported(data, ScanFilter(services: [Self.service])) == matches)
        #expect(
            isReported(data, ScanFilter(services: [.uuid16(0x180A)], solicitedServices: [Self.service]))
                == matchesIfSolicited)
        #expect(isReported(data, ScanFilter()), "without a filter everything is reported")
    }

    private func isReported(_ data: [UInt8], _ filter: ScanFilter) -> Bool {
        let world = World(seed: 1)
        let advertiser = Station(world, "advertiser", 0xA1)
        let phone = HostedDevice(in: world, name: "phone", address: DeviceAddress(0xB1))
        var reports = 0
        world.run(for: .milliseconds(10))
        phone.withHost { host in
            let client = host.attach({ if case .discovered = $0 { reports += 1 } }, at: world.now)
            host.submit(.startScan(filter), number: RequestNumber(1), client: client, at: world.now)
        }
        advertiser.advertise(interval: 0x00A0, data: data)
        world.run(for: .seconds(1))
        return reports > 0
    }
}

/// A 16-bit UUID in 128 bits, as it travels.
private func base(_ uuid: UInt16) -> [UInt8] { BluetoothUUID.uuid128(BluetoothUUID.uuid16(uuid).full).octets }
