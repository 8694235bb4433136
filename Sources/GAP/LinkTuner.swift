import ByteCodec
package import EventLoop
package import HCI

/// Makes a new link fast: longer packets, and LE 2M, where both sides have them.
///
///     waiting ──▶ looking ──▶ learning ──▶ lengthening ──▶ quickening ──▶ settled
///      central: at once   PHY      what the peer has            2M
///      peripheral: a second later, for the central decides, and most do so by themselves
///
/// Steps that the controller or the peer has no part in are passed over, and whoever refuses one loses nothing else:
/// the link stays as it is. One command is in flight at a time, so an outcome needs no name.
///
/// Source: Core 6.0, Vol 6, Part B, 5.1.4, 5.1.9 and 5.1.10; Vol 4, Part E, 7.8.21, 7.8.33 and 7.8.49.
package struct LinkTuner: ProtocolMachine {
    package struct Configuration: Equatable, Sendable {
        package var capabilities = AdapterCapabilities()
        /// The longest payload of a packet to ask for, in octets, 27...251.
        package var maximumOctets: UInt16 = 251
        package var prefers2M = true
        /// Whether the link may have begun on another PHY than LE 1M. One on the coded PHY stays there: it is for those
        /// who are far away.
        package var readsPHY = false

        package init() {}
    }

    package enum Input: Equatable, Sendable {
        /// The link is up.
        case start
        /// About the one command that was last handed out.
        case commandFinished(CommandOutcome)
        case remoteFeatures(LEReadRemoteFeaturesComplete)
        case dataLengthChanged(LEDataLengthChange)
        case phyUpdated(LEPHYUpdateComplete)
    }

    package enum Effect: Equatable, Sendable {
        case command([UInt8])
    }

    private enum State: Equatable {
        case waiting(until: Instant?)
        case looking
        case learning
        case lengthening
        case quickening
        case settled
    }

    /// How long a peripheral leaves the central the first word.
    static let patienceForCentral = Duration.seconds(1)

    private let handle: UInt16
    private let role: LinkRole
    private let configuration: Configuration
    private var state = State.waiting(until: nil)
    /// What the peer's link layer can do; `nil` until it has told.
    package private(set) var remoteFeatures: LEFeatures?
    package private(set) var lengths = LEDataLengthChange()
    /// What the last change said. A link may also have begun on another PHY than LE 1M.
    package private(set) var transmitPHY = PHY.le1M
    package private(set) var receivePHY = PHY.le1M

    package init(handle: UInt16, role: LinkRole, configuration: Configuration = Configuration()) {
        self.handle = handle
        self.role = role
        self.configuration = configuration
        lengths.handle = handle
    }

    package var deadline: Instant? { if case .waiting(let until) = state { until } else { nil } }

    package mutating func wake(at now: Instant) -> [Effect] {
        guard let deadline, deadline <= now else { return [] }
        return look()
    }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .start:
            guard state == .waiting(until: nil) else { return [] }
            if role == .central { return look() }
            state = .waiting(until: now.advanced(by: Self.patienceForCentral))
            return []
        case .commandFinished(let outcome): return finish(outcome)
        case .remoteFeatures(let event):
            if event.status == .success { remoteFeatures = event.features }
            return state == .learning ? lengthen() : []
        case .dataLengthChanged(let event):
            lengths = event
            return []
        case .phyUpdated(let event):
            if event.status == .success {
                transmitPHY = event.tx
                receivePHY = event.rx
            }
            return state == .quickening ? settle() : []
        }
    }
}

// MARK: - Steps

extension LinkTuner {
    private var capabilities: AdapterCapabilities { configuration.capabilities }

    private var canLengthen: Bool {
        capabilities.maximumDataLength != nil && capabilities.commands.contains(.leSetDataLength)
            && configuration.maximumOctets > 27
    }

    private var canQuicken: Bool {
        configuration.prefers2M && capabilities.features.contains(.phy2M) && capabilities.commands.contains(.leSetPHY)
    }

    private mutating func settle() -> [Effect] {
        state = .settled
        return []
    }

    private mutating func look() -> [Effect] {
        guard configuration.readsPHY, canQuicken, capabilities.commands.contains(.leReadPHY) else { return learn() }
        state = .looking
        return [.command(LEReadPHY(handle: handle).packet)]
    }

    private mutating func takePHY(_ outcome: CommandOutcome) {
        guard case .completed(let octets) = outcome, let answer = try? LEReadPHY.ReturnParameters(octets: octets) else {
            return
        }
        transmitPHY = answer.tx
        receivePHY = answer.rx
    }

    private mutating func learn() -> [Effect] {
        let mayAsk = role == .central || capabilities.features.contains(.peripheralInitiatedFeaturesExchange)
        guard canLengthen || canQuicken, mayAsk, capabilities.commands.contains(.leReadRemoteFeatures) else {
            return settle()
        }
        state = .learning
        return [.command(LEReadRemoteFeatures(handle: handle).packet)]
    }

    private mutating func lengthen() -> [Effect] {
        guard canLengthen, let maximum = capabilities.maximumDataLength,
            remoteFeatures?.contains(.dataPacketLengthExtension) == true
        else { return quicken() }
        let octets = min(maximum.txOctets, configuration.maximumOctets)
        // The controller may have asked by itself, as the suggested default has it.
        guard octets > lengths.txOctets else { return quicken() }
        state = .lengthening
        return [
            .command(LESetDataLength(handle: handle, txOctets: octets, txTime: maximum.txTime).packet)
        ]
    }

    private mutating func quicken() -> [Effect] {
        guard canQuicken, transmitPHY == .le1M || receivePHY == .le1M, remoteFeatures?.contains(.phy2M) == true else {
            return settle()
        }
        var command = LESetPHY()
        command.handle = handle
        command.noPreference = 0
        command.tx = .le2M
        command.rx = .le2M
        state = .quickening
        return [.command(command.packet)]
    }

    private mutating func finish(_ outcome: CommandOutcome) -> [Effect] {
        let isRefused =
            switch outcome {
            case .completed, .started: false
            case .refused, .timedOut: true
            }
        switch state {
        case .waiting, .settled: return []
        case .looking:
            takePHY(outcome)
            return learn()
        // Without knowing the peer, nothing more is asked of it.
        case .learning, .quickening: return isRefused ? settle() : []
        case .lengthening: return quicken()
        }
    }
}
