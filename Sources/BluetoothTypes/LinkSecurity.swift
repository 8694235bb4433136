/// How well a link, or the keys that encrypt it, are protected.
///
/// Source: Core 6.0, Vol 3, Part C, 10.2.1 (security modes and levels).
package struct LinkSecurity: Hashable, Sendable {
    /// Somebody in the middle would have been found out.
    package var isAuthenticated: Bool
    package var isSecureConnections: Bool
    /// In octets; 7...16.
    package var keySize: Int

    package init(isAuthenticated: Bool, isSecureConnections: Bool, keySize: Int) {
        self.isAuthenticated = isAuthenticated
        self.isSecureConnections = isSecureConnections
        self.keySize = keySize
    }

    /// Whether nothing is lost by taking this in place of `other`.
    package func isAtLeast(_ other: LinkSecurity) -> Bool {
        (isAuthenticated || !other.isAuthenticated) && (isSecureConnections || !other.isSecureConnections)
            && keySize >= other.keySize
    }

    /// The level of LE security mode 1, from 2 (encrypted) to 4 (Secure Connections, authenticated, 128 bits).
    package var level: Int {
        if !isAuthenticated { return 2 }
        return isSecureConnections && keySize == 16 ? 4 : 3
    }
}

/// What a device can show and take in.
///
/// Source: Core 6.0, Vol 3, Part H, 2.3.2 and 3.5.1, table 3.4.
package enum IOCapability: UInt8, CaseIterable, Sendable {
    case displayOnly = 0x00
    case displayYesNo = 0x01
    case keyboardOnly = 0x02
    case noInputNoOutput = 0x03
    case keyboardDisplay = 0x04
}
