import EventLoop
import HCI
import LinkLayer

// Commands about a link: Core 6.0, Vol 4, Part E, 7.1, 7.3.35, 7.5.4, 7.8.18 to 7.8.21, 7.8.31, 7.8.32.

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeLinkCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .disconnect:
            begin(Disconnect.self, parameters) { command throws(HCIErrorCode) in
                let link = try self.checkedLink(command.handle)
                guard Self.disconnectReasons.contains(command.reason) else { throw .invalidParameters }
                return { link.connection.terminate(LinkError(rawValue: command.reason.rawValue), at: now) }
            }
        case .readRemoteVersion:
            begin(ReadRemoteVersion.self, parameters) { command throws(HCIErrorCode) in
                let link = try self.checkedLink(command.handle)
                return { self.start(.versionExchange, on: link, at: now) }
            }
        case .leReadRemoteFeatures:
            begin(LEReadRemoteFeatures.self, parameters) { command throws(HCIErrorCode) in
                let link = try self.checkedLink(command.handle)
                return { self.start(.featureExchange, on: link, at: now) }
            }
        case .leConnectionUpdate:
            begin(LEConnectionUpdate.self, parameters) { command throws(HCIErrorCode) in
                try self.updateConnection(command, at: now)
            }
        case .leRemoteConnectionParameterRequestReply, .leRemoteConnectionParameterRequestNegativeReply:
            answerParameterRequest(opcode, parameters, at: now)
        case .readTransmitPowerLevel, .readRSSI, .leReadChannelMap:
            takeLinkQuestion(opcode, parameters)
        case .leSetHostChannelClassification:
            run(LESetHostChannelClassification.self, parameters) { command throws(HCIErrorCode) in
                try self.setChannels(command.channelMap, at: now)
            }
        default:
            return false
        }
        return true
    }

    /// The reasons that a host may give. 7.1.6.
    private static let disconnectReasons: [HCIErrorCode] = [
        .authenticationFailure, .remoteUserTerminated, .remoteLowResources, .remotePowerOff,
        .unsupportedRemoteFeature, HCIErrorCode(rawValue: 0x29), .unacceptableConnectionParameters,
    ]

    func checkedLink(_ handle: UInt16) throws(HCIErrorCode) -> Link {
        guard let link = link(handle) else { throw .unknownConnection }
        return link
    }

    private func updateConnection(
        _ command: LEConnectionUpdate, at now: Instant
    ) throws(HCIErrorCode) -> () -> Void {
        let link = try checkedLink(command.handle)
        _ = try Self.timing(command.parameters)
        guard command.eventLengthMin <= command.eventLengthMax else { throw .invalidParameters }
        guard !link.connection.isUpdating else { throw .commandDisallowed }
        if link.connection.role == .central { try checkAirtime(for: command.parameters.intervalMax, of: link) }
        let range = LinkParameterRange(command.parameters)
        return { self.start(.update(range), on: link, at: now) }
    }

    private func answerParameterRequest(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) {
        func answer(_ link: Link, _ range: LinkParameterRange?) throws(HCIErrorCode) {
            guard link.connection.hasParameterQuestion else { throw .commandDisallowed }
            link.connection.answerParameterRequest(range, at: now)
        }
        if opcode == .leRemoteConnectionParameterRequestReply {
            run(LERemoteConnectionParameterRequestReply.self, parameters, on: \.handle) {
                command, link throws(HCIErrorCode) in
                _ = try Self.timing(command.parameters)
                try answer(link, LinkParameterRange(command.parameters))
            }
        } else {
            run(LERemoteConnectionParameterRequestNegativeReply.self, parameters, on: \.handle) {
                _, link throws(HCIErrorCode) in try answer(link, nil)
            }
        }
    }

    private func takeLinkQuestion(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>) {
        switch opcode {
        case .readTransmitPowerLevel:
            run(ReadTransmitPowerLevel.self, parameters) { command, answer throws(HCIErrorCode) in
                answer.handle = try self.checkedLink(command.handle).handle
                answer.level = self.configuration.transmitPower
            }
        case .readRSSI:
            run(ReadRSSI.self, parameters) { command, answer throws(HCIErrorCode) in
                answer.handle = command.handle
                answer.rssi = try self.checkedLink(command.handle).connection.rssi
            }
        default:
            run(LEReadChannelMap.self, parameters) { command, answer throws(HCIErrorCode) in
                answer.handle = command.handle
                answer.channelMap = ChannelMap(
                    rawValue: try self.checkedLink(command.handle).connection.channels.bits)
            }
        }
    }

    /// For the links to come and, as central, for those that are. 7.8.19.
    private func setChannels(_ channels: ChannelMap, at now: Instant) throws(HCIErrorCode) {
        let used = UsedChannels(bits: channels.rawValue)
        // A connection needs two: Vol 6, Part B, 4.5.8.1.
        guard used.count >= 2 else { throw .invalidParameters }
        settings.channels = channels
        for link in links where link.connection.role == .central {
            start(.channelMap(used), on: link, at: now)
        }
    }
}

extension LinkParameterRange {
    init(_ range: ConnectionParameterRange) {
        self.init(
            intervalMin: range.intervalMin, intervalMax: range.intervalMax, latency: range.latency,
            timeout: range.supervisionTimeout)
    }
}
