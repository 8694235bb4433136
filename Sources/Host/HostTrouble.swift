package import EventLoop
package import HostInterface

/// What is wrong with an adapter's controller. Whoever owns the adapter may know a cure.
package enum AdapterTrouble: Equatable, Sendable {
    /// It left a command without an answer.
    case hangs(command: String)
    /// The Hardware Error event: it must be reset (Core 6.0, Vol 4, Part E, 7.7.16).
    case hardwareError(code: UInt8)
    /// It cannot be set up. The sentence says why.
    case unusable(reason: String)
}

extension AdapterTrouble: CustomStringConvertible {
    /// A sentence for a person.
    package var description: String {
        switch self {
        case .hangs(let command):
            "The controller stopped answering at the command \(command). Unplug it, or restart it."
        case .hardwareError(let code):
            "The controller reports hardware error \(code). Restart it or unplug it."
        case .unusable(let reason): reason
        }
    }
}

extension Host {
    /// The controller is lost until somebody does something about it.
    func controllerFailed(_ trouble: AdapterTrouble, at now: Instant) {
        guard let onTrouble else { return transportLost(reason: "\(trouble)", at: now) }
        lose(showing: isOn ? .resetting : state, at: now)
        onTrouble(trouble)
    }

    /// Ends everything: the controller is gone, whether or not it comes back. Services stay (B-H15).
    package func lose(showing shown: AdapterState, at now: Instant) {
        endEverything(because: .sessionLost, at: now)
        phase = .lost
        change(to: shown)
    }

    /// The transport is gone, or speaks nonsense, and nobody will bring it back.
    ///
    /// - Parameter reason: a sentence for a person, which says what to do.
    package func transportLost(reason: String, at now: Instant) {
        if case .lost = phase { return }
        if isOn { lose(showing: .resetting, at: now) }
        lose(showing: .unsupported(reason: reason), at: now)
    }
}
