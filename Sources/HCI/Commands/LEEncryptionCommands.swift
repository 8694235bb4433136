package import ByteCodec

// Encryption of an LE link, and how long it may go without proof of the peer's key: Core 6.0, Vol 4, Part E, 7.8.24 to
// 7.8.26, 7.3.93, 7.3.94.

/// LE Enable Encryption. 7.8.24.
package struct LEEnableEncryption: HCICommand {
    package static let opcode = HCIOpcode.leEnableEncryption
    package typealias ReturnParameters = NoReturnParameters

    package var handle: UInt16 = 0
    package var randomNumber: UInt64 = 0
    package var encryptedDiversifier: UInt16 = 0
    package var longTermKey: UInt128 = 0

    package init() {}

    package init(handle: UInt16, randomNumber: UInt64 = 0, encryptedDiversifier: UInt16 = 0, longTermKey: UInt128) {
        self.handle = handle
        self.randomNumber = randomNumber
        self.encryptedDiversifier = encryptedDiversifier
        self.longTermKey = longTermKey
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Random_Number", &randomNumber)
        try coder.integer("Encrypted_Diversifier", &encryptedDiversifier)
        try coder.integer("Long_Term_Key", &longTermKey)
    }
}

/// LE Long Term Key Request Reply. 7.8.25.
package struct LELongTermKeyRequestReply: HCICommand {
    package static let opcode = HCIOpcode.leLongTermKeyRequestReply
    package typealias ReturnParameters = HandleReturn

    package var handle: UInt16 = 0
    package var longTermKey: UInt128 = 0

    package init() {}

    package init(handle: UInt16, longTermKey: UInt128) {
        self.handle = handle
        self.longTermKey = longTermKey
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Long_Term_Key", &longTermKey)
    }
}

/// LE Long Term Key Request Negative Reply. 7.8.26.
package struct LELongTermKeyRequestNegativeReply: HCICommand {
    package static let opcode = HCIOpcode.leLongTermKeyRequestNegativeReply
    package typealias ReturnParameters = HandleReturn

    package var handle: UInt16 = 0

    package init() {}
    package init(handle: UInt16) { self.handle = handle }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
    }
}

/// Read Authenticated Payload Timeout. 7.3.93.
package struct ReadAuthenticatedPayloadTimeout: HCICommand {
    package static let opcode = HCIOpcode.readAuthenticatedPayloadTimeout

    package var handle: UInt16 = 0

    package init() {}
    package init(handle: UInt16) { self.handle = handle }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
    }

    package struct ReturnParameters: Packet {
        package var status = HCIErrorCode.success
        package var handle: UInt16 = 0
        /// In units of 10 ms, from 1.
        package var timeout: UInt16 = 0x0BB8

        package init() {}

        package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Status", &status)
            try coder.handle("Connection_Handle", &handle)
            try coder.integer("Authenticated_Payload_Timeout", &timeout)
        }
    }
}

/// Write Authenticated Payload Timeout. 7.3.94.
package struct WriteAuthenticatedPayloadTimeout: HCICommand {
    package static let opcode = HCIOpcode.writeAuthenticatedPayloadTimeout
    package typealias ReturnParameters = HandleReturn

    package var handle: UInt16 = 0
    /// In units of 10 ms, from 1.
    package var timeout: UInt16 = 0x0BB8

    package init() {}

    package init(handle: UInt16, timeout: UInt16) {
        self.handle = handle
        self.timeout = timeout
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Authenticated_Payload_Timeout", &timeout)
    }
}
