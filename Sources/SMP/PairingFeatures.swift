package import BluetoothTypes
package import ByteCodec

/// What a device asks of a pairing. Bits that the specification reserves come along and mean nothing.
///
/// Source: Core 6.0, Vol 3, Part H, 3.5.1, figure 3.3.
package struct AuthenticationRequirements: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let bonding = AuthenticationRequirements(rawValue: 0x01)
    /// Somebody in the middle must be found out.
    package static let mitm = AuthenticationRequirements(rawValue: 0x04)
    package static let secureConnections = AuthenticationRequirements(rawValue: 0x08)
    package static let keypress = AuthenticationRequirements(rawValue: 0x10)
    package static let ct2 = AuthenticationRequirements(rawValue: 0x20)
}

/// The keys that a side gives away at the end of a pairing.
///
/// Source: Core 6.0, Vol 3, Part H, 3.6.1, figure 3.11.
package struct KeyDistribution: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// LTK, EDIV and Rand, in a legacy pairing; nothing in a Secure Connections pairing.
    package static let encryption = KeyDistribution(rawValue: 0x01)
    /// IRK and identity address.
    package static let identity = KeyDistribution(rawValue: 0x02)
    /// CSRK.
    package static let signing = KeyDistribution(rawValue: 0x04)
    /// The link key of BR/EDR, derived on both sides. A host that has LE alone neither asks for it nor grants it.
    package static let link = KeyDistribution(rawValue: 0x08)
}

/// The parameters of Pairing Request and Pairing Response.
///
/// Source: Core 6.0, Vol 3, Part H, 3.5.1 and 3.5.2.
package struct PairingFeatures: Packet, Hashable {
    package var ioCapability = IOCapability.noInputNoOutput
    package var hasOutOfBandData = false
    package var authentication: AuthenticationRequirements = []
    /// In octets; 7...16 are legal.
    package var maximumKeySize: UInt8 = 16
    package var initiatorKeys: KeyDistribution = []
    package var responderKeys: KeyDistribution = []

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("IO Capability", &ioCapability)
        var flag: UInt8 = hasOutOfBandData ? 1 : 0
        try coder.integer("OOB data flag", &flag)
        guard flag <= 1 else { throw PacketError(.valueNotAllowed(Int(flag)), field: "OOB data flag") }
        hasOutOfBandData = flag == 1
        try coder.choice("AuthReq", &authentication)
        try coder.integer("Maximum Encryption Key Size", &maximumKeySize)
        try coder.choice("Initiator Key Distribution", &initiatorKeys)
        try coder.choice("Responder Key Distribution", &responderKeys)
    }

    /// AuthReq, OOB data flag and IO capability as f6 takes them (2.2.8).
    var ioCapabilityValue: UInt32 {
        UInt32(authentication.rawValue) << 16 | (hasOutOfBandData ? 0x100 : 0) | UInt32(ioCapability.rawValue)
    }
}
