import BluetoothTypes
import EventLoop
import HCI
import Simulation
import Testing
import VirtualController

/// Sleep clocks that drift apart: Core 6.0, Vol 6, Part B, 4.2.2 and 4.2.4.
@Suite("Sleep clocks")
struct ClockTests {
    struct Clocks: CustomTestStringConvertible {
        /// Of both: 5 promises 50 ppm, 0 promises 500.
        var accuracyClass: UInt8
        /// In ppm.
        var central: Int
        var peripheral: Int
        var latency: UInt16
        var holds: Bool

        var testDescription: String {
            "class \(accuracyClass), \(central) and \(peripheral) ppm, latency \(latency)"
        }
    }

    /// After 21 intervals of 125 ms, clocks of 50 ppm each are at most 262 µs apart, and the peripheral listens for so
    /// long before and behind the anchor that it expects.
    @Test(
        "Window widening holds what the clocks promise, and no more",
        arguments: [
            Clocks(accuracyClass: 5, central: 50, peripheral: -50, latency: 20, holds: true),
            Clocks(accuracyClass: 5, central: -50, peripheral: 50, latency: 20, holds: true),
            Clocks(accuracyClass: 5, central: 50, peripheral: -50, latency: 0, holds: true),
            Clocks(accuracyClass: 0, central: 500, peripheral: -500, latency: 20, holds: true),
            Clocks(accuracyClass: 5, central: 250, peripheral: -250, latency: 20, holds: false),
            Clocks(accuracyClass: 5, central: -250, peripheral: 250, latency: 20, holds: false),
        ])
    func widening(clocks: Clocks) throws {
        let world = World(seed: 1)
        func station(_ name: String, _ address: UInt64, _ error: Int) -> Station {
            var configuration = ControllerConfiguration(address: DeviceAddress(address))
            configuration.clockAccuracyClass = clocks.accuracyClass
            configuration.clockError = error
            return Station(world, name, address, configuration: configuration)
        }
        let central = station("central", 0xC0_0000_0000_01, clocks.central)
        let peripheral = station("peripheral", 0xA0_0000_0000_02, clocks.peripheral)
        peripheral.advertise()
        central.connect(to: peripheral, interval: 100, latency: clocks.latency, timeout: 1200)
        world.run(for: .seconds(60))
        #expect(central.connections.count == 1)
        let reasons = central.disconnections.map(\.event.reason)
        #expect(reasons == (clocks.holds ? [] : [.connectionTimeout]))
    }

    @Test("The link keeps to the central's clock")
    func pace() throws {
        let world = World(seed: 1)
        var configuration = ControllerConfiguration(address: DeviceAddress(0))
        configuration.clockError = 40
        let central = Station(world, "central", 0xC0_0000_0000_01, configuration: configuration)
        let peripheral = Station(world, "peripheral", 0xA0_0000_0000_02)
        peripheral.advertise()
        central.connect(to: peripheral, interval: 80, timeout: 400)
        world.run(for: .seconds(1))
        var anchors: [Instant] = []
        world.airTap = { if $0.sender == 0 { anchors.append($0.start) } }
        world.run(for: .milliseconds(10_050))
        // 100 intervals of 100 ms at 40 ppm.
        #expect(anchors[0].duration(to: anchors[100]) == .microseconds(10_000_400))
    }
}
