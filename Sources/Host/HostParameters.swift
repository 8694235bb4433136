import EventLoop
import GAP
import HCI
import HostInterface
import L2CAP

/// Connection parameters: asked for by a client, by the peer's host over L2CAP, or by its link layer.
extension Host {
    /// The central decides and tells its controller. A peripheral asks the central: by its link layer where both have
    /// the procedure for that, else by L2CAP (Core 6.0, Vol 3, Part A, 4.20).
    func updateParameters(_ preference: ConnectionPreference, onLink index: Int, for key: RequestKey, at now: Instant) {
        let handle = links[index].handle
        switch links[index].role {
        case .central: update(ConnectionParameterRange(preference), onLink: handle, for: .request(key), at: now)
        case .peripheral where canAskByLinkLayer(links[index]):
            update(ConnectionParameterRange(preference), onLink: handle, for: .request(key), at: now)
        case .peripheral:
            let effects = links[index].signalling.handle(.requestUpdate(ParameterUpdateRequest(preference)), at: now)
            performSignalling(effects, onLink: handle, at: now)
            finish(key, .success(.done))
        }
    }

    private func canAskByLinkLayer(_ link: Link) -> Bool {
        guard let capabilities, capabilities.commands.contains(.leConnectionUpdate) else { return false }
        return capabilities.features.contains(.connectionParametersRequest)
            && link.tuner.remoteFeatures?.contains(.connectionParametersRequest) == true
    }

    func update(
        _ parameters: ConnectionParameterRange, onLink handle: UInt16, for owner: CommandOwner, at now: Instant
    ) {
        var command = LEConnectionUpdate()
        command.handle = handle
        command.parameters = parameters
        submit(command.packet, for: owner, at: now)
    }

    func performSignalling(_ effects: [Signalling.Effect], onLink handle: UInt16, at now: Instant) {
        for effect in effects {
            switch effect {
            case .send(let pdu): sendPDU(pdu, channel: .signalling, onLink: handle)
            case .update(let parameters):
                update(ConnectionParameterRange(parameters), onLink: handle, for: .nobody, at: now)
            case .updateFinished: break
            case .sendFrame(let pdu, let token): sendFrame(pdu, onLink: handle, token: token)
            case .opened(let id, let opened): channelsOpened(opened, by: id, onLink: handle, at: now)
            case .openFailed(let id, let failure): channelFailed(failure, by: id, onLink: handle, at: now)
            case .accepted(let channel): channelAccepted(channel, onLink: handle, at: now)
            case .received(let channel, let sdu): channelReceived(sdu, on: channel, onLink: handle, at: now)
            case .closed(let channel, let end, let unsent):
                channelEnded(channel, end, unsent: unsent, onLink: handle, at: now)
            case .reconfigured(let id, let failure): channelReconfigured(failure, by: id, onLink: handle)
            case .peerTakesMore(let channel): bearerWidened(channel, onLink: handle, at: now)
            }
        }
    }

    /// The peer's link layer asks: whatever the specification admits is granted.
    func answerParameterRequest(_ event: LERemoteConnectionParameterRequest, at now: Instant) {
        var reply = LERemoteConnectionParameterRequestReply()
        reply.handle = event.handle
        reply.parameters = event.parameters
        submit(reply.packet, for: .nobody, at: now)
    }
}

extension ConnectionParameterRange {
    init(_ preference: ConnectionPreference) {
        self.init()
        intervalMin = preference.intervalSlots.lowerBound
        intervalMax = preference.intervalSlots.upperBound
        latency = preference.latency
        supervisionTimeout = preference.supervisionTimeout
    }
}

extension ConnectionParameterRange {
    init(_ request: ParameterUpdateRequest) {
        self.init(
            intervalMin: request.intervalMin, intervalMax: request.intervalMax, latency: request.latency,
            supervisionTimeout: request.timeout)
    }
}

extension ParameterUpdateRequest {
    init(_ preference: ConnectionPreference) {
        self.init()
        intervalMin = preference.intervalSlots.lowerBound
        intervalMax = preference.intervalSlots.upperBound
        latency = preference.latency
        timeout = preference.supervisionTimeout
    }
}
