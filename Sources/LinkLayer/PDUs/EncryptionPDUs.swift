package import ByteCodec

/// A control PDU that is its opcode alone.
package struct NoFields: Packet {
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}

/// LL_ENC_REQ. Core 6.0, Vol 6, Part B, 2.4.2.4.
package struct EncryptionRequest: Packet {
    /// Rand and EDIV, by which the peripheral finds the key.
    package var randomNumber: UInt64 = 0
    package var encryptedDiversifier: UInt16 = 0
    package var half = SessionHalf()

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Rand", &randomNumber)
        try coder.integer("EDIV", &encryptedDiversifier)
        try half.fields(&coder)
    }
}

/// What one side adds to the session of an encrypted link; the whole of LL_ENC_RSP.
///
/// Core 6.0, Vol 6, Part B, 2.4.2.4, 2.4.2.5.
package struct SessionHalf: Packet {
    /// SKD_C or SKD_P.
    package var diversifier: UInt64 = 0
    /// IV_C or IV_P.
    package var vector: UInt32 = 0

    package init() {}

    package init(diversifier: UInt64, vector: UInt32) {
        self.diversifier = diversifier
        self.vector = vector
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("SKD", &diversifier)
        try coder.integer("IV", &vector)
    }
}
