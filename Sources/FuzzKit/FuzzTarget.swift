/// A part of the stack that reads what others wrote, and the door through which a fuzzer's octets come to it.
///
/// Nothing is expected of the octets but that the part survives them: it neither traps nor loops.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// What a controller sends to a host.
    case hciEvents = "hci-events"
    /// What a host sends to the virtual controller.
    case hciCommands = "hci-commands"
    /// What a peer's controller hands over: L2CAP and all above it, in a whole host.
    case linkData = "link-data"
    /// Packets on the air, changed on their way between two controllers.
    case air
    case signalling
    case attServer = "att-server"
    case attClient = "att-client"
    case securityManager = "smp"
    case advertisingData = "advertising-data"
    /// The stream of octets of a controller behind a socket or a serial line.
    case stream = "h4-stream"
    /// Credit-based channels, enhanced ones among them.
    case channels
    /// What scanners hear, in both forms of the controller's reports.
    case advertisingReports = "advertising-reports"
    case vectorFile = "vector-file"
    /// A world file, and a moment of the world that it describes.
    case worldFile = "world-file"
    case text
    /// Bumble's key store.
    case bumbleKeys = "bumble-keys"
    /// BlueZ's file of a device.
    case blueZInfo = "bluez-info"
    /// The rows of a store of bonds.
    case bondRows = "bond-rows"
    /// The file of a store of bonds.
    case bondDatabase = "bond-database"
    /// A device as data, for `ble serve`.
    case profile
    /// What managers find again.
    case restoration
    /// Values of well-known characteristics.
    case values
    /// The toolkit's transfer, in both roles.
    case transfer

    package func run(_ input: [UInt8]) {
        switch self {
        case .hciEvents: HostTargets.events(Script(input))
        case .hciCommands: HostTargets.commands(Script(input))
        case .linkData: HostTargets.linkData(Script(input))
        case .air: HostTargets.air(Script(input))
        case .signalling: MachineTargets.signalling(Script(input))
        case .attServer: MachineTargets.attServer(Script(input))
        case .attClient: MachineTargets.attClient(Script(input))
        case .securityManager: MachineTargets.securityManager(Script(input))
        case .advertisingData: FormatTargets.advertisingData(input)
        case .stream: FormatTargets.stream(Script(input))
        case .channels: MachineTargets.channels(Script(input))
        case .advertisingReports: MachineTargets.advertisingReports(Script(input))
        case .vectorFile: FormatTargets.vectorFile(input)
        case .worldFile: FormatTargets.worldFile(input)
        case .text: FormatTargets.text(input)
        case .bumbleKeys: FileTargets.bumbleKeys(input)
        case .blueZInfo: FileTargets.blueZInfo(input)
        case .bondRows: FileTargets.bondRows(Script(input))
        case .bondDatabase: FileTargets.bondDatabase(Script(input))
        case .profile: FileTargets.profile(input)
        case .restoration: ProgramTargets.restoration(input)
        case .values: ProgramTargets.values(input)
        case .transfer: ProgramTargets.transfer(Script(input))
        }
    }
}

/// A fuzzer's octets as steps: each has one octet that says what to do, one that says how many octets follow.
struct Script: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>
    /// More would only make a run slow.
    private var stepsLeft = 64

    init(_ input: [UInt8]) { rest = input[...] }

    mutating func next() -> (choice: UInt8, octets: [UInt8])? {
        guard stepsLeft > 0, let choice = rest.popFirst(), let length = rest.popFirst() else { return nil }
        stepsLeft -= 1
        let octets = Array(rest.prefix(Int(length)))
        rest = rest.dropFirst(Int(length))
        return (choice, octets)
    }
}
