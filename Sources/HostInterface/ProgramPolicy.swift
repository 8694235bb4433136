/// What a system decides about the programs on it, as a phone does. By default everything is allowed, and nothing is
/// in the background: a host has no such rules by itself.
package struct ProgramPolicy: Equatable, Sendable {
    package var permission = RadioPermission.allowed
    /// Whether the system has a radio at all; a phone's simulator has none.
    package var hasRadio = true
    package var isInBackground = false
    package var backgroundModes: BackgroundModes = []

    package init() {}
}

/// Whether programs may use the radio.
package enum RadioPermission: Equatable, Sendable {
    /// Nobody has been asked yet, or the question is on the screen.
    case notDetermined
    /// The device's manager forbids it, and the person cannot change that.
    case restricted
    case denied
    case allowed
}

/// In which roles a program may go on in the background.
package struct BackgroundModes: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let central = BackgroundModes(rawValue: 1 << 0)
    package static let peripheral = BackgroundModes(rawValue: 1 << 1)
}
