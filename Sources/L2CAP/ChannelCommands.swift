package import ByteCodec

/// How a peer answers a request for channels.
///
/// Source: Core 6.0, Vol 3, Part A, 4.23 and 4.26, tables 4.18 and 4.20.
package struct ChannelResult: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let success = ChannelResult(rawValue: 0x0000)
    package static let spsmNotSupported = ChannelResult(rawValue: 0x0002)
    package static let noResources = ChannelResult(rawValue: 0x0004)
    package static let insufficientAuthentication = ChannelResult(rawValue: 0x0005)
    package static let insufficientAuthorization = ChannelResult(rawValue: 0x0006)
    package static let encryptionKeyTooShort = ChannelResult(rawValue: 0x0007)
    package static let insufficientEncryption = ChannelResult(rawValue: 0x0008)
    package static let invalidSource = ChannelResult(rawValue: 0x0009)
    package static let sourceAlreadyAllocated = ChannelResult(rawValue: 0x000A)
    package static let unacceptableParameters = ChannelResult(rawValue: 0x000B)
    /// For enhanced channels only, as are the three below.
    package static let invalidParameters = ChannelResult(rawValue: 0x000C)
    package static let pending = ChannelResult(rawValue: 0x000D)
    package static let authenticationPending = ChannelResult(rawValue: 0x000E)
    package static let authorizationPending = ChannelResult(rawValue: 0x000F)

    /// Whether another answer follows.
    package var isPending: Bool {
        self == .pending || self == .authenticationPending || self == .authorizationPending
    }
}

/// LE Credit Based Connection Request. 4.22.
package struct LECreditBasedConnectionRequest: SignallingCommand {
    package static let code = SignallingCode.leCreditBasedConnectionRequest

    package var spsm: UInt16 = 0
    package var source: UInt16 = 0
    package var mtu: UInt16 = 23
    package var mps: UInt16 = 23
    package var credits: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("SPSM", &spsm)
        try coder.integer("Source CID", &source)
        try coder.integer("MTU", &mtu)
        try coder.integer("MPS", &mps)
        try coder.integer("Initial Credits", &credits)
    }
}

/// LE Credit Based Connection Response. 4.23.
package struct LECreditBasedConnectionResponse: SignallingCommand {
    package static let code = SignallingCode.leCreditBasedConnectionResponse

    package var destination: UInt16 = 0
    package var mtu: UInt16 = 0
    package var mps: UInt16 = 0
    package var credits: UInt16 = 0
    package var result: UInt16 = 0

    package init() {}
    package init(refusal: ChannelResult) { result = refusal.rawValue }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Destination CID", &destination)
        try coder.integer("MTU", &mtu)
        try coder.integer("MPS", &mps)
        try coder.integer("Initial Credits", &credits)
        try coder.integer("Result", &result)
    }
}

/// Flow Control Credit Indication: the sender of `channel` may be sent `credits` frames more. 4.24.
package struct FlowControlCredit: SignallingCommand {
    package static let code = SignallingCode.flowControlCredit

    package var channel: UInt16 = 0
    package var credits: UInt16 = 0

    package init() {}

    package init(channel: UInt16, credits: UInt16) {
        self.channel = channel
        self.credits = credits
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("CID", &channel)
        try coder.integer("Credits", &credits)
    }
}

/// Credit Based Connection Request, for up to five channels at once. 4.25.
package struct CreditBasedConnectionRequest: SignallingCommand {
    package static let code = SignallingCode.creditBasedConnectionRequest

    package var spsm: UInt16 = 0
    package var mtu: UInt16 = 0
    package var mps: UInt16 = 0
    package var credits: UInt16 = 0
    package var sources: [UInt16] = []

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("SPSM", &spsm)
        try coder.integer("MTU", &mtu)
        try coder.integer("MPS", &mps)
        try coder.integer("Initial Credits", &credits)
        try coder.list("Source CID", &sources, blank: 0) { coder, source throws(PacketError) in
            try coder.integer("Source CID", &source)
        }
    }
}

/// Credit Based Connection Response: as many channels as were asked for, 0 for each that was refused. 4.26.
package struct CreditBasedConnectionResponse: SignallingCommand {
    package static let code = SignallingCode.creditBasedConnectionResponse

    package var mtu: UInt16 = 0
    package var mps: UInt16 = 0
    package var credits: UInt16 = 0
    package var result: UInt16 = 0
    package var destinations: [UInt16] = []

    package init() {}

    /// None of `count` channels.
    package init(refusal: ChannelResult, count: Int) {
        result = refusal.rawValue
        destinations = Array(repeating: 0, count: count)
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("MTU", &mtu)
        try coder.integer("MPS", &mps)
        try coder.integer("Initial Credits", &credits)
        try coder.integer("Result", &result)
        try coder.list("Destination CID", &destinations, blank: 0) { coder, destination throws(PacketError) in
            try coder.integer("Destination CID", &destination)
        }
    }
}

/// Credit Based Reconfigure Request: what the sender takes on these channels of its own from now on. 4.27.
package struct ReconfigureRequest: SignallingCommand {
    package static let code = SignallingCode.reconfigureRequest

    package var mtu: UInt16 = 0
    package var mps: UInt16 = 0
    /// As the sender counts its channels: the receiver sends to them.
    package var destinations: [UInt16] = []

    package init() {}

    package init(mtu: UInt16, mps: UInt16, destinations: [UInt16]) {
        self.mtu = mtu
        self.mps = mps
        self.destinations = destinations
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("MTU", &mtu)
        try coder.integer("MPS", &mps)
        try coder.list("Destination CID", &destinations, blank: 0) { coder, destination throws(PacketError) in
            try coder.integer("Destination CID", &destination)
        }
    }
}

/// How a peer answers a reconfiguration. 4.28, table 4.22.
package struct ReconfigureResult: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let success = ReconfigureResult(rawValue: 0x0000)
    package static let mtuReduced = ReconfigureResult(rawValue: 0x0001)
    /// Of more than one channel at a time.
    package static let mpsReduced = ReconfigureResult(rawValue: 0x0002)
    package static let invalidDestination = ReconfigureResult(rawValue: 0x0003)
    package static let unacceptableParameters = ReconfigureResult(rawValue: 0x0004)
}

/// Credit Based Reconfigure Response. 4.28.
package struct ReconfigureResponse: SignallingCommand {
    package static let code = SignallingCode.reconfigureResponse

    package var result: UInt16 = 0

    package init() {}
    package init(_ result: ReconfigureResult) { self.result = result.rawValue }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Result", &result)
    }
}
