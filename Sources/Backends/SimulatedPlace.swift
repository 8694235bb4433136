import BluetoothTypes
import Host
import HostInterface
import Simulation
import Storage

/// The worlds for programs whose radio is `simulated`: this computer, and what lies around.
enum SimulatedPlace {
    /// Starts the world that comes with the library on a thread of its own, a second a second, and gives this
    /// computer's radio in it.
    static func open() -> any SessionFactory { open(standard) }

    /// The same with a world from a file.
    static func open(_ file: WorldFile) -> any SessionFactory {
        let place = PlayedWorld(file)
        WorldThread(place.world, pace: .realTime).start()
        // What is learnt of a made-up world is not mixed into what the user's programs know.
        let radio = SimulatedRadio(
            device: place.program.hosted, runsOnTheWorldsLoop: false, program: ProgramRun.nameOfThisProcess,
            state: .ofEnvironment() ?? .inMemory())
        // It lasts as long as the process.
        radio.keep(place)
        return radio
    }

    private static var standard: WorldFile {
        var file = WorldFile(seed: 1)
        file.program = device("Linux", 0x0200_0000_0001, nil, metres: 0)
        file.devices = [
            device("KL940704079", 0x0200_0000_0010, .smartLock, metres: 2),
            device("Sensor", 0x0200_0000_0011, .counter, metres: 4),
            device("Strap", 0x0200_0000_0012, .heartRateStrap, metres: 6),
        ]
        return file
    }

    private static func device(_ name: String, _ address: UInt64, _ kind: ReadyKind?, metres: Double)
        -> WorldFile.Device
    {
        var device = WorldFile.Device(name: name)
        device.address = DeviceAddress(address)
        device.position = Position(x: metres)
        device.role = kind.map { .ready($0) }
        return device
    }
}
