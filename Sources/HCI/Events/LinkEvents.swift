package import ByteCodec

/// Disconnection Complete. 7.7.5.
package struct DisconnectionComplete: HCIEvent {
    package static let code = HCIEventCode.disconnectionComplete

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0
    package var reason = HCIErrorCode.success

    package init() {}

    package init(handle: UInt16, reason: HCIErrorCode) {
        self.handle = handle
        self.reason = reason
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Connection_Handle", &handle)
        try coder.choice("Reason", &reason)
    }
}

/// Encryption Change [v1]. 7.7.8.
package struct EncryptionChange: HCIEvent {
    package static let code = HCIEventCode.encryptionChange

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0
    /// 0 off, 1 on.
    package var enabled: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Encryption_Enabled", &enabled)
    }
}

/// Encryption Change [v2]. 7.7.8.
package struct EncryptionChangeV2: HCIEvent {
    package static let code = HCIEventCode.encryptionChangeV2

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0
    /// 0 off, 1 on.
    package var enabled: UInt8 = 0
    /// In octets; an LE link layer always encrypts with 16.
    package var keySize: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Encryption_Enabled", &enabled)
        try coder.integer("Encryption_Key_Size", &keySize)
    }

    /// What both versions of the event have in common.
    package var change: EncryptionChange {
        var change = EncryptionChange()
        change.status = status
        change.handle = handle
        change.enabled = enabled
        return change
    }
}

/// Authenticated Payload Timeout Expired: for so long nothing came that proves the peer's key. 7.7.75.
package struct AuthenticatedPayloadTimeoutExpired: HCIEvent {
    package static let code = HCIEventCode.authenticatedPayloadTimeoutExpired

    package var handle: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
    }
}

/// Encryption Key Refresh Complete. 7.7.39.
package struct EncryptionKeyRefreshComplete: HCIEvent {
    package static let code = HCIEventCode.encryptionKeyRefreshComplete

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Connection_Handle", &handle)
    }
}

/// Read Remote Version Information Complete. 7.7.12.
package struct ReadRemoteVersionComplete: HCIEvent {
    package static let code = HCIEventCode.readRemoteVersionComplete

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0
    package var version: UInt8 = 0
    package var companyIdentifier: UInt16 = 0
    package var subversion: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Version", &version)
        try coder.integer("Company_Identifier", &companyIdentifier)
        try coder.integer("Subversion", &subversion)
    }
}

/// Hardware Error: the controller is lost until it is reset. 7.7.16.
package struct HardwareError: HCIEvent {
    package static let code = HCIEventCode.hardwareError

    /// The vendor's own number.
    package var hardwareCode: UInt8 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Hardware_Code", &hardwareCode)
    }
}

/// Number Of Completed Packets: buffers that the controller has free again. 7.7.19.
package struct NumberOfCompletedPackets: HCIEvent {
    package static let code = HCIEventCode.numberOfCompletedPackets

    package struct Entry: Equatable, Sendable {
        package var handle: UInt16
        package var count: UInt16

        package init(handle: UInt16, count: UInt16) {
            self.handle = handle
            self.count = count
        }
    }

    package var entries: [Entry] = []

    package init() {}
    package init(entries: [Entry]) { self.entries = entries }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        let blank = Entry(handle: 0, count: 0)
        try coder.countedList("Num_Handles", &entries, blank: blank) { coder, entry throws(PacketError) in
            try coder.handle("Connection_Handle", &entry.handle)
            try coder.integer("Num_Completed_Packets", &entry.count)
        }
    }
}

/// Data Buffer Overflow: the host has sent more than it had credits for. 7.7.26.
package struct DataBufferOverflow: HCIEvent {
    package static let code = HCIEventCode.dataBufferOverflow

    /// 0x00 synchronous, 0x01 ACL, 0x02 isochronous.
    package var linkType: UInt8 = 1

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Link_Type", &linkType)
    }
}
