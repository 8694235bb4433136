package import ByteCodec

/// The parameters of a command, host to controller.
package protocol HCICommand: Packet {
    static var opcode: HCIOpcode { get }
    /// What Command Complete carries back, the status included; ``NoReturnParameters`` for a command that is
    /// answered by Command Status.
    associatedtype ReturnParameters: Packet = StatusReturn
}

extension HCICommand {
    /// The command in its H4 form.
    package var packet: [UInt8] {
        let opcode = Self.opcode.rawValue
        return shortPacket(
            .command, header: [UInt8(truncatingIfNeeded: opcode), UInt8(truncatingIfNeeded: opcode >> 8)],
            parameters: octets)
    }

    /// The Command Complete event that answers this command, in its H4 form.
    package static func completed(_ parameters: ReturnParameters, credits: UInt8 = 1) -> [UInt8] {
        CommandComplete(opcode: opcode, returnParameters: parameters.octets[...], credits: credits).packet
    }

    /// The Command Complete event that answers this command with an error: the status, and nothing behind it.
    package static func failed(_ status: HCIErrorCode, credits: UInt8 = 1) -> [UInt8] {
        CommandComplete(opcode: opcode, returnParameters: [status.rawValue], credits: credits).packet
    }

    /// The Command Status event that answers this command, in its H4 form.
    package static func accepted(_ status: HCIErrorCode = .success, credits: UInt8 = 1) -> [UInt8] {
        CommandStatus(status: status, opcode: opcode, credits: credits).packet
    }
}

/// Return parameters that are a status and nothing else.
package struct StatusReturn: Packet {
    package var status = HCIErrorCode.success

    package init() {}
    package init(_ status: HCIErrorCode) { self.status = status }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
    }
}

/// Return parameters that are a status and the link that it is about.
package struct HandleReturn: Packet {
    package var status = HCIErrorCode.success
    package var handle: UInt16 = 0

    package init() {}

    package init(_ status: HCIErrorCode, handle: UInt16) {
        self.status = status
        self.handle = handle
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.handle("Connection_Handle", &handle)
    }
}

/// The command is answered by Command Status, and its result comes in an event of its own, if there is one.
package struct NoReturnParameters: Packet {
    package init() {}
    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {}
}
