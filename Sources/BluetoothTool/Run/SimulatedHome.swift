import BluetoothSimulation
import BluetoothToolkit
import Host
import HostInterface
import Simulation

/// The world in which commands play whose radio is simulated: this computer, and a few devices around it.
final class SimulatedHome {
    let world: BluetoothWorld
    let computer: SimulatedDevice
    private var devices: [(device: HostedDevice, script: ScriptedPeripheral)] = []

    init(seed: UInt64) {
        world = BluetoothWorld(seed: seed)
        computer = world.addDevice("This computer")
        for neighbour in ReadyDevice.neighbourhood {
            var configuration = HostConfiguration()
            configuration.deviceName = neighbour.script.advertisement.localName ?? neighbour.name
            let device = HostedDevice(
                in: world.world, name: neighbour.name, address: neighbour.address, position: neighbour.position,
                host: configuration)
            let script = ScriptedPeripheral(neighbour.script, on: device)
            script.start()
            devices.append((device, script))
        }
    }

    deinit {
        // Device and script hold each other.
        for (device, _) in devices { device.device.onPowerChange = nil }
    }

    /// Adds a device that runs async code of the toolkit.
    func add(_ name: String, at metres: Double, _ body: @escaping @Sendable (Timekeeper) async throws -> Void) {
        let time = Timekeeper(world.clock)
        _ = world.addDevice(name, at: .init(x: metres)).start { try await body(time) }
    }
}
