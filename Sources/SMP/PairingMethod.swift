import BluetoothTypes

/// How the two sides, or the persons who hold them, make sure of each other.
///
/// Source: Core 6.0, Vol 3, Part H, 2.3.5.1.
package enum PairingMethod: Hashable, Sendable {
    /// Not at all.
    case justWorks
    case passkey(Passkey)
    case numericComparison
    case outOfBand

    /// Who types the passkey; the other side shows it.
    package enum Passkey: Hashable, Sendable {
        case initiatorEnters
        case responderEnters
        case bothEnter
    }

    /// Whether somebody in the middle is found out.
    package var isAuthenticated: Bool { self != .justWorks }

    /// The method that the features of the two sides lead to: tables 2.6 to 2.8.
    package static func select(initiator: PairingFeatures, responder: PairingFeatures) -> PairingMethod {
        let authentication = (initiator.authentication, responder.authentication)
        let isSecure = isSecureConnections(initiator, responder)
        let outOfBand = (initiator.hasOutOfBandData, responder.hasOutOfBandData)
        if isSecure ? outOfBand.0 || outOfBand.1 : outOfBand.0 && outOfBand.1 { return .outOfBand }
        guard authentication.0.contains(.mitm) || authentication.1.contains(.mitm) else { return .justWorks }
        return select(initiator.ioCapability, responder.ioCapability, isSecure)
    }

    package static func isSecureConnections(_ initiator: PairingFeatures, _ responder: PairingFeatures) -> Bool {
        initiator.authentication.contains(.secureConnections)
            && responder.authentication.contains(.secureConnections)
    }

    /// Table 2.8.
    private static func select(
        _ initiator: IOCapability, _ responder: IOCapability, _ isSecureConnections: Bool
    ) -> PairingMethod {
        switch (initiator, responder) {
        case (.noInputNoOutput, _), (_, .noInputNoOutput), (.displayOnly, .displayOnly),
            (.displayOnly, .displayYesNo), (.displayYesNo, .displayOnly):
            .justWorks
        case (.displayYesNo, .displayYesNo):
            isSecureConnections ? .numericComparison : .justWorks
        case (.displayYesNo, .keyboardDisplay), (.keyboardDisplay, .keyboardDisplay):
            isSecureConnections ? .numericComparison : .passkey(.responderEnters)
        case (.keyboardDisplay, .displayYesNo):
            isSecureConnections ? .numericComparison : .passkey(.initiatorEnters)
        case (.keyboardOnly, .keyboardOnly):
            .passkey(.bothEnter)
        case (.displayOnly, .keyboardOnly), (.displayOnly, .keyboardDisplay), (.displayYesNo, .keyboardOnly),
            (.keyboardDisplay, .keyboardOnly):
            .passkey(.responderEnters)
        case (.keyboardOnly, .displayOnly), (.keyboardOnly, .displayYesNo), (.keyboardOnly, .keyboardDisplay),
            (.keyboardDisplay, .displayOnly):
            .passkey(.initiatorEnters)
        }
    }
}
