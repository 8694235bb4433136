package import HCI

/// Why a controller did not do what a machine asked of it.
package struct CommandFailure: Error, Equatable, Sendable {
    package var opcode: HCIOpcode
    /// `nil` if the controller did not answer at all.
    package var error: HCIErrorCode?

    package init(opcode: HCIOpcode, error: HCIErrorCode?) {
        self.opcode = opcode
        self.error = error
    }

    /// `nil` if the command went well.
    init?(_ outcome: CommandOutcome, opcode: HCIOpcode) {
        switch outcome {
        case .completed, .started: return nil
        case .refused(let error): self.init(opcode: opcode, error: error)
        case .timedOut: self.init(opcode: opcode, error: nil)
        }
    }
}

extension CommandFailure: CustomStringConvertible {
    package var description: String {
        guard let error else { return "The controller did not answer the command \(opcode)." }
        return "The controller refused the command \(opcode), because \(error)."
    }
}
