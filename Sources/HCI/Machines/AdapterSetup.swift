package import BluetoothTypes
package import ByteCodec
package import EventLoop

/// Makes a controller ready for a host: resets it, asks what it can do, tells it which events to send. What it says is
/// believed but for the ``ControllerQuirk``s.
///
///             start             the last answer
///     idle ─────────▶ asking ──────────────────▶ ready
///                       │ a needed command is refused, unanswered, or answered with nonsense
///                       ▼
///                     failed
///
/// One command is in flight at a time, so an answer needs no name. Time is the command queue's affair.
///
/// Source: Core 6.0, Vol 4, Part E, 4.1, and Vol 6, Part D, 2.1 (initial set-up).
package struct AdapterSetup: ProtocolMachine {
    package enum Input: Equatable, Sendable {
        case start
        /// About the one command that was last handed out.
        case commandFinished(CommandOutcome)
    }

    package enum Effect: Equatable, Sendable {
        /// Submit the command, and come back with its outcome.
        case command([UInt8])
        case ready(AdapterCapabilities)
        case failed(Failure)
    }

    package enum Failure: Equatable, Sendable {
        case noLowEnergy
        case noBuffers
        case refused(HCIOpcode, HCIErrorCode)
        case timedOut(HCIOpcode)
        case senselessAnswer(HCIOpcode, PacketError)
        case noReturnParameters(HCIOpcode)
    }

    private enum State {
        case idle
        case asking(Step)
        case over
    }

    private let fallbackAddress: DeviceAddress
    private let ignoresPublicAddress: Bool
    private var state = State.idle
    private var capabilities = AdapterCapabilities()

    /// - Parameters:
    ///   - fallbackAddress: the static random address to use if the controller has no public one.
    ///   - ignoresPublicAddress: whether it is used if the controller has one, too.
    package init(fallbackAddress: DeviceAddress, ignoresPublicAddress: Bool = false) {
        precondition(fallbackAddress.kind == .random, "\(fallbackAddress) is no random address.")
        self.fallbackAddress = fallbackAddress
        self.ignoresPublicAddress = ignoresPublicAddress
    }

    package var deadline: Instant? { nil }
    package mutating func wake(at now: Instant) -> [Effect] { [] }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch (state, input) {
        case (.idle, .start): return ask(from: .reset)
        case (.asking, .start), (.over, .start): preconditionFailure("A set-up starts once.")
        case (.asking(let step), .commandFinished(let outcome)): return take(outcome, of: step)
        case (.idle, .commandFinished), (.over, .commandFinished): return []
        }
    }

    /// Hands out the command of `first`, or of the next step behind it that this controller needs.
    private mutating func ask(from first: Step?) -> [Effect] {
        var candidate = first
        while let step = candidate {
            if isNeeded(step) {
                state = .asking(step)
                return [.command(packet(of: step))]
            }
            candidate = step.next
        }
        state = .over
        return [.ready(capabilities)]
    }

    private mutating func take(_ outcome: CommandOutcome, of step: Step) -> [Effect] {
        switch outcome {
        case .completed(let parameters):
            do throws(PacketError) {
                if let failure = try learn(parameters, from: step) { return fail(failure) }
            } catch {
                return fail(.senselessAnswer(step.opcode, error))
            }
            return ask(from: step.next)
        case .refused(let error):
            return step.isOptional ? ask(from: step.next) : fail(.refused(step.opcode, error))
        case .started: return fail(.noReturnParameters(step.opcode))
        case .timedOut: return fail(.timedOut(step.opcode))
        }
    }

    private mutating func fail(_ failure: Failure) -> [Effect] {
        state = .over
        return [.failed(failure)]
    }
}

// MARK: - Steps

extension AdapterSetup {
    /// The commands in their order.
    enum Step: Int {
        case reset, version, features, commands, eventMask, leHostSupport, leEventMask, leFeatures, leBuffers, buffers
        case leStates, address, filterAcceptList, dataLength, randomAddress

        var next: Step? { Step(rawValue: rawValue + 1) }

        var opcode: HCIOpcode {
            switch self {
            case .reset: .reset
            case .version: .readLocalVersion
            case .features: .readLocalSupportedFeatures
            case .commands: .readLocalSupportedCommands
            case .eventMask: .setEventMask
            case .leHostSupport: .writeLEHostSupport
            case .leEventMask: .leSetEventMask
            case .leFeatures: .leReadLocalSupportedFeatures
            case .leBuffers: .leReadBufferSize
            case .buffers: .readBufferSize
            case .leStates: .leReadSupportedStates
            case .address: .readAddress
            case .filterAcceptList: .leReadFilterAcceptListSize
            case .dataLength: .leReadMaximumDataLength
            case .randomAddress: .leSetRandomAddress
            }
        }

        /// Whether a host can do without the answer. A controller without a public address may refuse to read it
        /// (Core 6.0, Vol 6, Part B, 1.3).
        var isOptional: Bool {
            switch self {
            case .leHostSupport, .leStates, .address, .filterAcceptList, .dataLength: true
            case .reset, .version, .features, .commands, .eventMask, .leEventMask, .leFeatures, .leBuffers, .buffers,
                .randomAddress:
                false
            }
        }
    }

    /// The events that this host understands.
    static let eventMask: UInt64 = [
        HCIEventCode.disconnectionComplete, .encryptionChange, .readRemoteVersionComplete, .hardwareError,
        .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
    ].reduce(0) { $0 | $1.mask }

    /// The LE subevents that this host understands. Of the two about a new connection the second is sent where the
    /// controller has it, for it alone tells the addresses that were on the air (7.7.65.10). An older controller
    /// ignores the bits that it does not know (7.8.1).
    static let leEventMask: UInt64 = [
        LESubeventCode.connectionComplete, .enhancedConnectionComplete, .advertisingReport, .connectionUpdateComplete,
        .readRemoteFeaturesComplete, .longTermKeyRequest, .remoteConnectionParameterRequest, .dataLengthChange,
        .phyUpdateComplete, .extendedAdvertisingReport, .advertisingSetTerminated, .channelSelectionAlgorithm,
        .subrateChange, .periodicAdvertisingSyncEstablished, .periodicAdvertisingReport, .periodicAdvertisingSyncLost,
    ].reduce(0) { $0 | $1.mask }

    private func isNeeded(_ step: Step) -> Bool {
        switch step {
        case .leHostSupport: capabilities.isDualMode && capabilities.commands.contains(step.opcode)
        case .buffers: capabilities.aclLength == 0 || capabilities.aclCount == 0
        case .dataLength:
            capabilities.features.contains(.dataPacketLengthExtension) && capabilities.commands.contains(step.opcode)
        case .randomAddress: capabilities.address.value == 0 || ignoresPublicAddress
        case .reset, .version, .features, .commands, .eventMask, .leEventMask, .leFeatures, .leBuffers, .leStates,
            .address, .filterAcceptList:
            true
        }
    }

    private func packet(of step: Step) -> [UInt8] {
        switch step {
        case .reset: Reset().packet
        case .version: ReadLocalVersion().packet
        case .features: ReadLocalSupportedFeatures().packet
        case .commands: ReadLocalSupportedCommands().packet
        case .eventMask: SetEventMask(mask: Self.eventMask).packet
        case .leHostSupport: WriteLEHostSupport().packet
        case .leEventMask: LESetEventMask(mask: Self.leEventMask).packet
        case .leFeatures: LEReadLocalSupportedFeatures().packet
        case .leBuffers: LEReadBufferSize().packet
        case .buffers: ReadBufferSize().packet
        case .leStates: LEReadSupportedStates().packet
        case .address: ReadAddress().packet
        case .filterAcceptList: LEReadFilterAcceptListSize().packet
        case .dataLength: LEReadMaximumDataLength().packet
        case .randomAddress: LESetRandomAddress(address: fallbackAddress).packet
        }
    }

    /// Takes what an answer says into the capabilities; a failure if it rules the controller out.
    private mutating func learn(_ octets: ArraySlice<UInt8>, from step: Step) throws(PacketError) -> Failure? {
        switch step {
        case .reset, .eventMask, .leHostSupport, .leEventMask:
            _ = try StatusReturn(octets: octets)
        case .version:
            capabilities.version = try ReadLocalVersion.ReturnParameters(octets: octets)
        case .features:
            typealias Answer = ReadLocalSupportedFeatures.ReturnParameters
            let features = try Answer(octets: octets).features
            capabilities.isDualMode = features & Answer.bredrNotSupported == 0
            return features & Answer.leSupported == 0 ? .noLowEnergy : nil
        case .commands:
            capabilities.commands = try ReadLocalSupportedCommands.ReturnParameters(octets: octets).commands
        case .leFeatures:
            capabilities.features = try LEReadLocalSupportedFeatures.ReturnParameters(octets: octets).features
            capabilities.applyQuirks()
        case .leBuffers:
            let answer = try LEReadBufferSize.ReturnParameters(octets: octets)
            capabilities.aclLength = Int(answer.aclLength)
            capabilities.aclCount = Int(answer.aclCount)
        case .buffers:
            let answer = try ReadBufferSize.ReturnParameters(octets: octets)
            capabilities.aclLength = Int(answer.aclLength)
            capabilities.aclCount = Int(answer.aclCount)
            return answer.aclLength == 0 || answer.aclCount == 0 ? .noBuffers : nil
        case .leStates:
            capabilities.states = try LEReadSupportedStates.ReturnParameters(octets: octets).states
        case .address:
            capabilities.address = capabilities.ownAlone(try ReadAddress.ReturnParameters(octets: octets).address)
        case .filterAcceptList:
            capabilities.filterAcceptListSize =
                Int(try LEReadFilterAcceptListSize.ReturnParameters(octets: octets).size)
        case .dataLength:
            capabilities.maximumDataLength = try LEReadMaximumDataLength.ReturnParameters(octets: octets)
        case .randomAddress:
            _ = try StatusReturn(octets: octets)
            capabilities.address = fallbackAddress
        }
        return nil
    }
}

extension AdapterSetup.Failure: CustomStringConvertible {
    /// A sentence for a person.
    package var description: String {
        switch self {
        case .noLowEnergy: "The controller does not support Bluetooth Low Energy."
        case .noBuffers: "The controller says that it has no buffers for data."
        case .refused(let opcode, let error): "The controller refused the command \(opcode), because \(error)."
        case .timedOut(let opcode):
            "The controller did not answer the command \(opcode) in time. Is an HCI controller at the other end?"
        case .senselessAnswer(let opcode, let error):
            "The controller's answer to the command \(opcode) makes no sense in its field \(error.field)."
        case .noReturnParameters(let opcode):
            "The controller answered the command \(opcode) with Command Status in place of Command Complete."
        }
    }
}
