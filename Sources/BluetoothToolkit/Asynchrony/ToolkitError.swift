public import CoreBluetooth

/// Why a call of the toolkit did not do what it was asked. What the peer or the system answers comes as `CBATTError`
/// and `CBError`, unchanged; a cancelled call throws `CancellationError`.
public enum ToolkitError: Error, Equatable, Sendable {
    /// The radio is not on.
    case radioUnavailable(CBManagerState)
    case timedOut(after: Duration)
    /// There is no link; connect first.
    case notConnected
    /// The link ended under the call.
    case linkEnded(LinkEnd)
    /// A service, characteristic or device that is not there.
    case notFound(String)
    /// The characteristic was discovered on an earlier link. Ask for it anew.
    case outdated
    case tooLong(octets: Int, limit: Int)
    /// A folder, a pipe or a device, where a file that can be read at any place is needed; by its path.
    case notARegularFile(String)
    /// The other side breaks a rule of the protocol that the toolkit speaks over the link.
    case protocolViolation(String)
}

extension ToolkitError: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .radioUnavailable(let state): "The radio cannot be used: it is \(state.words)."
        case .timedOut(let limit): "Nothing came of it within \(limit)."
        case .notConnected: "There is no link."
        case .linkEnded(let end): "The link ended: \(end)."
        case .notFound(let what): "There is no \(what)."
        case .outdated: "The characteristic belongs to an earlier link; ask for it anew."
        case .tooLong(let octets, let limit): "\(octets) octets are too many; \(limit) are the most."
        case .notARegularFile(let path): "\(path) is not a regular file."
        case .protocolViolation(let text): "The other side does not keep to the protocol: \(text)."
        }
    }

    public var errorDescription: String? { description }
}

extension CBManagerState {
    var words: String {
        switch self {
        case .unknown: "not known yet"
        case .resetting: "starting again"
        case .unsupported: "missing, or without Bluetooth Low Energy"
        case .unauthorized: "not allowed to this program"
        case .poweredOff: "switched off"
        case .poweredOn: "on"
        @unknown default: "in a state without a name"
        }
    }
}
