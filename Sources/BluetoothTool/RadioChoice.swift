import Backends
import HCITransport
import Simulation

/// Which radio a command plays on.
enum RadioChoice: Equatable {
    /// The world that the tool makes for itself.
    case simulated
    /// The world of a file.
    case world(LoadedWorld)
    /// A radio of this machine, or a controller somewhere.
    case real(RadioAddress?)

    /// - Parameter text: what the option or the environment says.
    init(_ text: String) throws(UsageError) {
        let address: RadioAddress
        do { address = try RadioAddress(text) } catch { throw UsageError(String(error.description.dropLast())) }
        switch address {
        case .simulated(world: nil): self = .simulated
        case .simulated(world: let path?):
            do { self = .world(LoadedWorld(path: path, file: try WorldFile.read(path))) } catch {
                throw UsageError(error.description, status: .noRadio)
            }
        case .adapter, .serial, .tcp, .unix: self = .real(address)
        }
    }

    /// What `--radio` says, else the environment; an empty variable is none.
    init(_ tool: Tool, _ arguments: ParsedArguments) throws(UsageError) {
        let environment = tool.environment[DefaultRadio.variable].flatMap { $0.isEmpty ? nil : $0 }
        self =
            try (arguments.values["--radio"] ?? environment).map { text throws(UsageError) in try Self(text) }
            ?? .real(nil)
    }

    /// The world of a file, if it is one.
    var world: WorldFile? { if case .world(let world) = self { world.file } else { nil } }

    /// Gives out sessions in real time; `nil` for the tool's own world.
    var realTimeFactory: (any SessionFactory)? {
        guard case .world(let world) = self else { return factory() }
        return DefaultRadio.open(.simulated(world: world.path))
    }

    /// Gives out sessions of a real radio; `nil` for a simulated world.
    ///
    /// - Parameters:
    ///   - deviceName: what this computer is called for those who connect to it; `nil` leaves it as it is.
    ///   - capture: a file that takes what passes between the host and its controller; `nil` for that of the
    ///     environment, or none.
    func factory(deviceName: String? = nil, capture: String? = nil) -> (any SessionFactory)? {
        switch self {
        case .simulated, .world: nil
        case .real(nil) where deviceName == nil && capture == nil: SessionProvider.current
        case .real(let address): DefaultRadio.open(address, deviceName: deviceName, capture: capture)
        }
    }
}

/// A world file that has been read.
struct LoadedWorld: Equatable {
    let path: String
    let file: WorldFile

    static func == (left: LoadedWorld, right: LoadedWorld) -> Bool { left.path == right.path }
}
