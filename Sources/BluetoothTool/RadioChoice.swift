import Backends
import HCITransport

/// Which radio a command plays on.
enum RadioChoice: Equatable {
    /// The world that the tool makes for itself.
    case simulated
    /// A radio of this machine, or a controller somewhere.
    case real(RadioAddress?)

    /// - Parameter text: what the option or the environment says.
    init(_ text: String) throws(UsageError) {
        let address: RadioAddress
        do { address = try RadioAddress(text) } catch { throw UsageError(String(error.description.dropLast())) }
        self = address == .simulated(world: nil) ? .simulated : .real(address)
    }

    /// What `--radio` says, else the environment; an empty variable is none.
    init(_ tool: Tool, _ arguments: ParsedArguments) throws(UsageError) {
        let environment = tool.environment[DefaultRadio.variable].flatMap { $0.isEmpty ? nil : $0 }
        self =
            try (arguments.values["--radio"] ?? environment).map { text throws(UsageError) in try Self(text) }
            ?? .real(nil)
    }

    /// Gives out sessions of a real radio; `nil` for the simulated world.
    ///
    /// - Parameters:
    ///   - deviceName: what this computer is called for those who connect to it; `nil` leaves it as it is.
    ///   - capture: a file that takes what passes between the host and its controller; `nil` for that of the
    ///     environment, or none.
    func factory(deviceName: String? = nil, capture: String? = nil) -> (any SessionFactory)? {
        switch self {
        case .simulated: nil
        case .real(nil) where deviceName == nil && capture == nil: SessionProvider.current
        case .real(let address): DefaultRadio.open(address, deviceName: deviceName, capture: capture)
        }
    }
}
