package import ByteCodec

/// Command Complete: a command has ended, or credits changed. 7.7.14.
package struct CommandComplete: HCIEvent {
    package static let code = HCIEventCode.commandComplete

    /// How many commands the host may send now.
    package var credits: UInt8 = 1
    package var opcode = HCIOpcode.none
    /// Begins with the status for all commands of this catalogue.
    package var returnParameters: ArraySlice<UInt8> = []

    package init() {}

    package init(opcode: HCIOpcode, returnParameters: ArraySlice<UInt8>, credits: UInt8 = 1) {
        self.opcode = opcode
        self.returnParameters = returnParameters
        self.credits = credits
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Num_HCI_Command_Packets", &credits)
        try coder.choice("Command_Opcode", &opcode)
        try coder.remainder("Return_Parameters", &returnParameters)
    }
}

/// Command Status: a command has begun, or was refused. 7.7.15.
package struct CommandStatus: HCIEvent {
    package static let code = HCIEventCode.commandStatus

    package var status = HCIErrorCode.success
    /// How many commands the host may send now.
    package var credits: UInt8 = 1
    package var opcode = HCIOpcode.none

    package init() {}

    package init(status: HCIErrorCode, opcode: HCIOpcode, credits: UInt8 = 1) {
        self.status = status
        self.opcode = opcode
        self.credits = credits
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.choice("Status", &status)
        try coder.integer("Num_HCI_Command_Packets", &credits)
        try coder.choice("Command_Opcode", &opcode)
    }
}
