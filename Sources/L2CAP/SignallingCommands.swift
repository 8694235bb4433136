package import ByteCodec

/// What a signalling command is: its first octet.
///
/// Source: Core 6.0, Vol 3, Part A, 4, table 4.2.
package struct SignallingCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let commandReject = SignallingCode(rawValue: 0x01)
    package static let connectionResponse = SignallingCode(rawValue: 0x03)
    package static let configurationResponse = SignallingCode(rawValue: 0x05)
    package static let disconnectionRequest = SignallingCode(rawValue: 0x06)
    package static let disconnectionResponse = SignallingCode(rawValue: 0x07)
    package static let echoResponse = SignallingCode(rawValue: 0x09)
    package static let informationResponse = SignallingCode(rawValue: 0x0B)
    package static let parameterUpdateRequest = SignallingCode(rawValue: 0x12)
    package static let parameterUpdateResponse = SignallingCode(rawValue: 0x13)
    package static let leCreditBasedConnectionRequest = SignallingCode(rawValue: 0x14)
    package static let leCreditBasedConnectionResponse = SignallingCode(rawValue: 0x15)
    package static let flowControlCredit = SignallingCode(rawValue: 0x16)
    package static let creditBasedConnectionRequest = SignallingCode(rawValue: 0x17)
    package static let creditBasedConnectionResponse = SignallingCode(rawValue: 0x18)
    package static let reconfigureRequest = SignallingCode(rawValue: 0x19)
    package static let reconfigureResponse = SignallingCode(rawValue: 0x1A)
}

/// The data of a signalling command.
package protocol SignallingCommand: Packet {
    static var code: SignallingCode { get }
}

extension SignallingCommand {
    /// The command as the payload of the signalling channel: code, identifier, length, data.
    package func payload(identifier: UInt8) -> [UInt8] {
        let data = octets
        return [
            Self.code.rawValue, identifier, UInt8(truncatingIfNeeded: data.count),
            UInt8(truncatingIfNeeded: data.count >> 8),
        ] + data
    }
}

/// Command Reject. 4.1.
package struct CommandReject: SignallingCommand {
    package static let code = SignallingCode.commandReject

    package struct Reason: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let notUnderstood = Reason(rawValue: 0x0000)
        package static let signallingMTUExceeded = Reason(rawValue: 0x0001)
        package static let invalidChannel = Reason(rawValue: 0x0002)
    }

    package var reason = Reason.notUnderstood
    package var data: [UInt8] = []

    package init() {}

    package init(_ reason: Reason, data: [UInt8] = []) {
        self.reason = reason
        self.data = data
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Reason", &reason)
        try coder.remainder("Reason Data", &data)
    }
}

/// Disconnection Request. 4.6.
package struct DisconnectionRequest: SignallingCommand {
    package static let code = SignallingCode.disconnectionRequest

    package var destination: UInt16 = 0
    package var source: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Destination CID", &destination)
        try coder.integer("Source CID", &source)
    }
}

/// Disconnection Response: the CIDs of the request. 4.7.
package struct DisconnectionResponse: SignallingCommand {
    package static let code = SignallingCode.disconnectionResponse

    package var destination: UInt16 = 0
    package var source: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Destination CID", &destination)
        try coder.integer("Source CID", &source)
    }
}

/// Connection Parameter Update Request, peripheral to central. 4.20.
package struct ParameterUpdateRequest: SignallingCommand {
    package static let code = SignallingCode.parameterUpdateRequest

    /// In units of 1.25 ms, 6...3200.
    package var intervalMin: UInt16 = 6
    package var intervalMax: UInt16 = 6
    /// In connection events, 0...499.
    package var latency: UInt16 = 0
    /// In units of 10 ms, 10...3200.
    package var timeout: UInt16 = 10

    package init() {}

    package init(intervalMin: UInt16, intervalMax: UInt16, latency: UInt16, timeout: UInt16) {
        self.intervalMin = intervalMin
        self.intervalMax = intervalMax
        self.latency = latency
        self.timeout = timeout
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Interval Min", &intervalMin)
        try coder.integer("Interval Max", &intervalMax)
        try coder.integer("Latency", &latency)
        try coder.integer("Timeout", &timeout)
    }

    /// Whether a link could work so: each value in its range, and the timeout longer than the peripheral may be
    /// silent, which is (1 + latency) × interval × 2 (Core 6.0, Vol 6, Part B, 4.5.1 and 4.5.2).
    package var isValid: Bool {
        // In units of 2.5 ms on both sides.
        let silence = (1 + Int(latency)) * Int(intervalMax)
        return intervalMin >= 6 && intervalMin <= intervalMax && intervalMax <= 3200 && latency <= 499
            && (10...3200).contains(timeout) && 4 * Int(timeout) > silence
    }
}

/// Connection Parameter Update Response. 4.21.
package struct ParameterUpdateResponse: SignallingCommand {
    package static let code = SignallingCode.parameterUpdateResponse

    /// 0 accepted, 1 rejected.
    package var result: UInt16 = 0

    package init() {}
    package init(isAccepted: Bool) { result = isAccepted ? 0 : 1 }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Result", &result)
    }
}
