package import BluetoothCrypto
package import BluetoothTypes
package import ByteCodec

/// 128 bits of a pairing: a confirm value, a random value or a DHKey check. 3.5.3, 3.5.4 and 3.5.7.
package struct PairingValue: Packet, Hashable {
    package var value: UInt128 = 0

    package init() {}
    package init(_ value: UInt128) { self.value = value }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.secret("Value", &value)
    }
}

/// Pairing Failed. 3.5.5.
package struct PairingFailed: Packet, Hashable {
    package var reason = PairingFailedReason.unspecified

    package init() {}
    package init(_ reason: PairingFailedReason) { self.reason = reason }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Reason", &reason)
    }
}

/// Pairing Public Key: X, then Y, which need not be a point of the curve. 3.5.6.
package struct PairingPublicKey: Packet, Hashable {
    package var coordinates = [UInt8](repeating: 0, count: 64)

    package init() {}
    package init(_ key: P256PublicKey) { coordinates = key.wire }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octets("Public Key", &coordinates, count: 64)
    }
}

/// Keypress Notification. 3.5.8.
package struct KeypressNotification: Packet, Hashable {
    package var type: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Notification Type", &type)
    }
}

/// Encryption Information, Identity Information or Signing Information: LTK, IRK or CSRK. 3.6.2, 3.6.4 and 3.6.6.
package struct DistributedKey: Packet, Hashable {
    package var key = SecretKey(0)

    package init() {}
    package init(_ key: SecretKey) { self.key = key }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        var value = key.value
        try coder.secret("Key", &value)
        key = SecretKey(value)
    }
}

/// Central Identification: the names by which a central asks for a legacy LTK. 3.6.3.
package struct CentralIdentification: Packet, Hashable {
    package var diversifier: UInt16 = 0
    package var random: UInt64 = 0

    package init() {}

    package init(diversifier: UInt16, random: UInt64) {
        self.diversifier = diversifier
        self.random = random
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("EDIV", &diversifier)
        try coder.integer("Rand", &random)
    }
}

/// Identity Address Information: a public or static random address. 3.6.5.
package struct IdentityAddressInformation: Packet, Hashable {
    package var address = DeviceAddress(0)

    package init() {}
    package init(_ address: DeviceAddress) { self.address = address }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("AddrType", &address.kind)
        try coder.address("BD_ADDR", &address)
    }

    /// Whether the address can be an identity: it does not change. Vol 6, Part B, 1.3.
    package var isIdentity: Bool {
        switch address.kind {
        case .public: true
        case .random: address.value >> 46 == 0b11
        }
    }
}

/// Security Request. 3.6.7.
package struct SecurityRequest: Packet, Hashable {
    package var authentication: AuthenticationRequirements = []

    package init() {}
    package init(_ authentication: AuthenticationRequirements) { self.authentication = authentication }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("AuthReq", &authentication)
    }
}

extension FieldCoder {
    /// 128 bits, least significant octet first, that no printer shows.
    fileprivate mutating func secret(_ name: StaticString, _ value: inout UInt128) throws(PacketError) {
        var octets = SecretKey(value).wire
        try self.octets(name, &octets, count: 16)
        if let key = SecretKey(wire: octets) { value = key.value }
    }
}
