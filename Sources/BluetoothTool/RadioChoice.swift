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

    /// Gives out sessions of a real radio; `nil` for the simulated world.
    var factory: (any SessionFactory)? {
        switch self {
        case .simulated: nil
        case .real(let address?): DefaultRadio.open(address)
        case .real(nil): SessionProvider.current
        }
    }
}
