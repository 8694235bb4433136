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
                self.start(
                    .length(maxTxOctets: min(command.txOctets, longest), maxTxTime: command.txTime), on: link, at: now)
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
                answer.txTime = self.longestTime
                answer.rxOctets = longest
                answer.rxTime = self.longestTime
            }
        case .leReadPHY:
            run(LEReadPHY.self, parameters) { command, answer throws(HCIErrorCode) in
                let connection = try self.checkedLink(command.handle).connection
                answer.handle = command.handle
                answer.tx = PHY(rawValue: connection.transmitPHY.rawValue)
                answer.rx = PHY(rawValue: connection.receivePHY.rawValue)
            }
        case .leSetDefaultPHY:
            run(LESetDefaultPHY.self, parameters) { command throws(HCIErrorCode) in
                self.settings.phys = try Self.preferences(command.tx, command.rx, noPreference: command.noPreference)
            }
        case .leSetPHY:
            begin(LESetPHY.self, parameters) { command throws(HCIErrorCode) in
                let link = try self.checkedLink(command.handle)
                var preferences = try Self.preferences(
                    command.tx, command.rx, noPreference: command.noPreference)
                // 1 asks for S=2, 2 for S=8. 7.8.49.
                guard command.options <= 2 else { throw .invalidParameters }
                preferences.prefersS2 = command.options == 1
                return { self.start(.phy(preferences), on: link, at: now) }
            }
        default:
            return false
        }
        return true
    }

    private static func check(octets: UInt16, time: UInt16) throws(HCIErrorCode) {
        guard (27...251).contains(octets), (328...17040).contains(time) else { throw .invalidParameters }
    }

    /// The longest packet that it receives, in µs.
    private var longestTime: UInt16 {
        configuration.capabilities(hostAnswersParameterRequests: false, settings).maxTime
    }

    private static func preferences(
        _ transmit: PHYPreference, _ receive: PHYPreference, noPreference: UInt8
    ) throws(HCIErrorCode) -> PHYPreferences {
        func wish(_ preference: PHYPreference, isGiven: Bool) throws(HCIErrorCode) -> UInt8 {
            guard isGiven else { return PHYPreferences.all.wishes.transmit }
            guard preference.rawValue & ~0b111 == 0 else { throw .unsupportedFeature }
            guard !preference.isEmpty else { throw .invalidParameters }
            return preference.rawValue
        }
        return PHYPreferences(
            wishes: PHYWishes(
                transmit: try wish(transmit, isGiven: noPreference & 0b01 == 0),
                receive: try wish(receive, isGiven: noPreference & 0b10 == 0)))
    }
}
