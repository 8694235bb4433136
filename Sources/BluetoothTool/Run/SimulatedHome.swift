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

    /// - Parameter isAlone: whether there is nobody around; long tests take less time then.
    init(seed: UInt64, isAlone: Bool = false) {
        world = BluetoothWorld(seed: seed)
        // The address of the one that scans: a device has the same identifier in all commands.
        computer = world.addDevice("This computer", address: "C0:DE:00:00:00:F0")
        for neighbour in isAlone ? [] : ReadyDevice.neighbourhood {
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

    /// The world of a file, with this computer where the file has the program.
    init(_ file: WorldFile) {
        world = BluetoothWorld(file)
        computer = world.program
    }

    deinit {
        // Device and script hold each other.
        for (device, _) in devices { device.device.onPowerChange = nil }
    }

    /// Records what passes between this computer and its controller, in simulated time from 2026-01-01 on.
    func record(into path: String) throws(CaptureFile.Failure) -> CaptureFile {
        try CaptureFile(hciOf: computer.simulated, at: path)
    }

    /// Records all of the air.
    func recordAir(into path: String) throws(CaptureFile.Failure) -> CaptureFile {
        try CaptureFile(airOf: world.world, at: path)
    }

    /// Adds a device that runs async code of the toolkit.
    func add(_ name: String, at metres: Double, _ body: @escaping @Sendable (Timekeeper) async throws -> Void) {
        let time = Timekeeper(world.clock)
        _ = world.addDevice(name, at: .init(x: metres)).start { try await body(time) }
    }
}
