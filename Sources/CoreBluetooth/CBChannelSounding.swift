/// How a distance measurement shall run.
// `@unchecked`: all properties are constants.
open class CBChannelSoundingSessionConfiguration: NSObject, @unchecked Sendable {
    /// Which part this device plays.
    public enum Role: Int, Sendable {
        /// It asks, and the peer reflects.
        case initiator = 0
    }

    private let chosenRole: Role

    /// - Parameter role: the only one that there is.
    public init(role: CBChannelSoundingSessionConfiguration.Role) {
        chosenRole = role
        super.init()
    }

    /// Which part this device plays.
    open var role: CBChannelSoundingSessionConfiguration.Role { chosenRole }
}

/// What one distance measurement found.
// `@unchecked`: all properties are constants.
open class CBChannelSoundingProcedureResults: NSObject, @unchecked Sendable {
    private let metres: Double

    init(distance: Double) {
        metres = distance
        super.init()
    }

    /// In metres.
    open var distance: Double { metres }
}
