import EventLoop
import HCI
import LinkLayer

// Packet lengths and PHYs: Core 6.0, Vol 4, Part E, 7.8.33 to 7.8.35 and 7.8.46 to 7.8.49.

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeLengthCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        let longest = configuration.maxDataOctets
        switch opcode {
        case .leSetDataLength:
            run(LESetDataLength.self, parameters, on: \.handle) { command, link throws(HCIErrorCode) in
                try Self.check(octets: command.txOctets, time: command.txTime)
                self.start(.length(maxTxOctets: min(command.txOctets, longest)), on: link, at: now)
            }
        case .leReadSuggestedDefaultDataLength:
            run(LEReadSuggestedDefaultDataLength.self, parameters) { _, answer in
                answer.txOctets = self.settings.suggestedTxOctets
                answer.txTime = self.settings.suggestedTxTime
            }
        case .leWriteSuggestedDefaultDataLength:
            run(LEWriteSuggestedDefaultDataLength.self, parameters) { command throws(HCIErrorCode) in
                try Self.check(octets: command.txOctets, time: command.txTime)
                self.settings.suggestedTxOctets = command.txOctets
                self.settings.suggestedTxTime = command.txTime
            }
        case .leReadMaximumDataLength:
            run(LEReadMaximumDataLength.self, parameters) { _, answer in
                answer.txOctets = longest
                answer.txTime = Connection.time(ofOctets: longest)
                answer.rxOctets = longest
                answer.rxTime = Connection.time(ofOctets: longest)
            }
        case .leReadPHY:
            run(LEReadPHY.self, parameters) { command, answer throws(HCIErrorCode) in
                answer.handle = try self.checkedLink(command.handle).handle
            }
        case .leSetDefaultPHY:
            run(LESetDefaultPHY.self, parameters) { command throws(HCIErrorCode) in
                try Self.check(command.tx, command.rx, noPreference: command.noPreference)
            }
        case .leSetPHY:
            begin(LESetPHY.self, parameters) { command throws(HCIErrorCode) in
                let link = try self.checkedLink(command.handle)
                try Self.check(command.tx, command.rx, noPreference: command.noPreference)
                return {
                    // The link is on the only PHY there is; the host is told so. 7.8.49.
                    var event = LEPHYUpdateComplete()
                    event.handle = link.handle
                    self.emit(event)
                }
            }
        default:
            return false
        }
        return true
    }

    private static func check(octets: UInt16, time: UInt16) throws(HCIErrorCode) {
        guard (27...251).contains(octets), (328...17040).contains(time) else { throw .invalidParameters }
    }

    private static func check(
        _ transmit: PHYPreference, _ receive: PHYPreference, noPreference: UInt8
    ) throws(HCIErrorCode) {
        let wantsOther1 = noPreference & 0b01 == 0 && !transmit.contains(.le1M)
        let wantsOther2 = noPreference & 0b10 == 0 && !receive.contains(.le1M)
        guard !wantsOther1, !wantsOther2 else { throw .unsupportedFeature }
    }
}
