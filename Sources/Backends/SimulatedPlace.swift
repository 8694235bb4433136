import BluetoothTypes
import Simulation
import Storage

/// The world that comes with the library, for programs whose radio is `simulated`: this computer, and what lies around.
enum SimulatedPlace {
    /// Starts the world on a thread of its own, a second a second, and gives this computer's radio in it.
    static func open() -> any SessionFactory {
        let world = World(seed: 1)
        let computer = HostedDevice(in: world, name: "Linux", address: DeviceAddress(0x0200_0000_0001))
        for (index, neighbour) in neighbours.enumerated() {
            let address = DeviceAddress(0x0200_0000_0010 + UInt64(index))
            let device = HostedDevice(
                in: world, name: neighbour.name, address: address, position: Position(x: neighbour.metres))
            ScriptedPeripheral(neighbour.script(neighbour.name, address), on: device).start()
        }
        WorldThread(world, pace: .realTime).start()
        // What is learnt of a made-up world is not mixed into what the user's programs know.
        return SimulatedRadio(
            device: computer, runsOnTheWorldsLoop: false, program: ProgramRun.nameOfThisProcess,
            state: .ofEnvironment() ?? .inMemory())
    }

    private struct Neighbour {
        var name: String
        var metres: Double
        var script: (String, DeviceAddress) -> PeripheralScript
    }

    private static var neighbours: [Neighbour] {
        [
            Neighbour(name: "KL940704079", metres: 2) { .smartLock(name: $0, address: $1) },
            Neighbour(name: "Sensor", metres: 4) { .addressBeacon(name: $0, address: $1) },
            Neighbour(name: "Strap", metres: 6) { .heartRateSensor(name: $0, address: $1) },
        ]
    }
}
