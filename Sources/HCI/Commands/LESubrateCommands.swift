package import ByteCodec

// Connection subrating: Core 6.0, Vol 4, Part E, 7.8.115, 7.8.123 and 7.8.124.

/// LE Set Host Feature [v1]: what this host is for, as the peers see it. 7.8.115.
package struct LESetHostFeature: HCICommand {
    package static let opcode = HCIOpcode.leSetHostFeature

    /// Of the link layer's features: Vol 6, Part B, 4.6.
    package var bit: UInt8 = 0
    package var isSet = false

    package init() {}

    package init(bit: UInt8, isSet: Bool) {
        self.bit = bit
        self.isSet = isSet
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.octet("Bit_Number", &bit, in: 0...63)
        try coder.flag("Bit_Value", &isSet)
    }
}

/// Which of a link's events are to be used.
package struct SubrateRange: Hashable, Sendable {
    /// One in so many: 1...500.
    package var factorMin: UInt16 = 1
    package var factorMax: UInt16 = 1
    /// How many of those in a row the peripheral may skip, 0...499.
    package var maxLatency: UInt16 = 0
    /// For how many events after one with data both sides stay, 0...499.
    package var continuation: UInt16 = 0
    /// In units of 10 ms, 10...3200.
    package var supervisionTimeout: UInt16 = 3200

    package init() {}

    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Subrate_Min", &factorMin)
        try coder.integer("Subrate_Max", &factorMax)
        try coder.integer("Max_Latency", &maxLatency)
        try coder.integer("Continuation_Number", &continuation)
        try coder.integer("Supervision_Timeout", &supervisionTimeout)
    }
}

/// LE Set Default Subrate: what a central takes of peripherals that ask, on links to come. 7.8.123.
package struct LESetDefaultSubrate: HCICommand {
    package static let opcode = HCIOpcode.leSetDefaultSubrate

    package var range = SubrateRange()

    package init() {}
    package init(range: SubrateRange) { self.range = range }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) { try range.fields(&coder) }
}

/// LE Subrate Request. 7.8.124.
package struct LESubrateRequest: HCICommand {
    package static let opcode = HCIOpcode.leSubrateRequest
    package typealias ReturnParameters = NoReturnParameters

    package var handle: UInt16 = 0
    package var range = SubrateRange()

    package init() {}

    package init(handle: UInt16, range: SubrateRange) {
        self.handle = handle
        self.range = range
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handle("Connection_Handle", &handle)
        try range.fields(&coder)
    }
}

/// LE Subrate Change. 7.7.65.35.
package struct LESubrateChange: LEEvent {
    package static let subevent = LESubeventCode.subrateChange

    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0
    package var factor: UInt16 = 1
    /// In subrated events.
    package var latency: UInt16 = 0
    package var continuation: UInt16 = 0
    /// In units of 10 ms.
    package var supervisionTimeout: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Connection_Handle", &handle)
        try coder.integer("Subrate_Factor", &factor)
        try coder.integer("Peripheral_Latency", &latency)
        try coder.integer("Continuation_Number", &continuation)
        try coder.integer("Supervision_Timeout", &supervisionTimeout)
    }
}
