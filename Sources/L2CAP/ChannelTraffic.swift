import ByteCodec
import EventLoop

/// Open channels: what flows, how they change and how they end.
extension Signalling {
    /// What is known of a channel that is or was about to be open.
    package struct ChannelInformation: Equatable, Sendable {
        package var spsm: UInt16
        package var mode: ChannelMode
        /// The longest SDU that the peer takes.
        package var peerMTU: Int
        /// The longest SDU that this side takes.
        package var ownMTU: Int
        /// The longest payload of a frame that this side takes.
        package var ownMPS: Int
        /// How long the pieces of a stream of octets should be.
        package var bestLength: Int
    }

    package func information(_ id: ChannelID) -> ChannelInformation? {
        guard let index = channel(id), channels[index].state == .open else { return nil }
        return ChannelInformation(
            spsm: channels[index].spsm, mode: channels[index].mode, peerMTU: Int(channels[index].peerMTU),
            ownMTU: Int(channels[index].capacity.mtu), ownMPS: Int(channels[index].capacity.mps),
            bestLength: channels[index].bestLength)
    }

    /// SDUs that wait for the peer's credits.
    package func waitingCount(on id: ChannelID) -> Int { channel(id).map { channels[$0].waitingCount } ?? 0 }

    /// The open channels, in the order of their numbers.
    package var openChannels: [ChannelID] { channels.filter { $0.state == .open }.map(\.local) }

    /// Octets of payload in a PDU, at most, that any channel takes.
    package var longestFrame: Int { channels.map { Int($0.capacity.mps) }.max() ?? Int(capacity.mps) }

    // MARK: Data

    mutating func send(_ octets: [UInt8], on id: ChannelID, token: UInt64?) -> [Effect] {
        guard let index = channel(id), channels[index].state == .open else { return [] }
        channels[index].enqueue(octets, token: token)
        return frames(index)
    }

    private mutating func frames(_ index: Int) -> [Effect] {
        var effects: [Effect] = []
        while let (pdu, token) = channels[index].nextFrame() { effects.append(.sendFrame(pdu, token: token)) }
        return effects
    }

    mutating func receiveFrame(_ payload: ArraySlice<UInt8>, on id: ChannelID, at now: Instant) -> [Effect] {
        // What still comes on a channel that is being closed is thrown away (4.6).
        guard let index = channel(id), channels[index].state == .open else { return [] }
        switch channels[index].receive(payload) {
        case .nothing: return credits(index)
        case .sdu(let sdu): return [.received(id, sdu)] + credits(index)
        case .violation(let violation): return end(index, because: violation, at: now)
        }
    }

    mutating func read(_ count: Int, on id: ChannelID) -> [Effect] {
        guard let index = channel(id) else { return [] }
        channels[index].read(count)
        return credits(index)
    }

    private mutating func credits(_ index: Int) -> [Effect] {
        guard let credits = channels[index].creditsToGive() else { return [] }
        let command = FlowControlCredit(channel: channels[index].local.rawValue, credits: credits)
        // Nothing answers it, but it has an identifier, as each command (4.24).
        return [.send(command.payload(identifier: nextIdentifier()))]
    }

    mutating func takeCredits(_ command: FlowControlCredit, at now: Instant) -> [Effect] {
        guard let index = channels.firstIndex(where: { $0.remote.rawValue == command.channel }),
            channels[index].state == .open
        else { return [] }
        guard channels[index].add(credits: command.credits) else {
            return end(index, because: .impossibleCredits, at: now)
        }
        return frames(index)
    }

    // MARK: Closing

    private func farewell(_ index: Int) -> DisconnectionRequest {
        var request = DisconnectionRequest()
        request.destination = channels[index].remote.rawValue
        request.source = channels[index].local.rawValue
        return request
    }

    mutating func close(_ id: ChannelID, at now: Instant) -> [Effect] {
        guard let index = channel(id), channels[index].state == .open else { return [] }
        channels[index].state = .closing(isTold: false)
        return [ask(.close(id), farewell(index), at: now)]
    }

    private mutating func end(_ index: Int, because violation: ChannelViolation, at now: Instant) -> [Effect] {
        let id = channels[index].local
        channels[index].state = .closing(isTold: true)
        return [
            ask(.close(id), farewell(index), at: now),
            .closed(id, .violated(violation), unsent: channels[index].dropQueue()),
        ]
    }

    /// What this side asked to close is closed, or as good as.
    mutating func disconnected(_ id: ChannelID) -> [Effect] {
        guard let index = channel(id) else { return [] }
        var channel = channels.remove(at: index)
        guard channel.state == .closing(isTold: false) else { return [] }
        return [.closed(id, .closedHere, unsent: channel.dropQueue())]
    }

    /// The peer closes.
    mutating func disconnect(_ request: DisconnectionRequest, _ identifier: UInt8, at now: Instant) -> [Effect] {
        let id = ChannelID(rawValue: request.destination)
        guard let index = channel(id) else {
            return [.send(CommandReject(.invalidChannel, data: request.octets).payload(identifier: identifier))]
        }
        // A pair that does not belong together is not answered (4.6).
        guard channels[index].remote.rawValue == request.source, request.source != 0 else { return [] }
        var response = DisconnectionResponse()
        response.destination = request.destination
        response.source = request.source
        var channel = channels.remove(at: index)
        let unsent = channel.dropQueue()
        var effects: [Effect] = [.send(response.payload(identifier: identifier))]
        switch channel.state {
        case .open: effects.append(.closed(id, .closedByPeer, unsent: unsent))
        // Both asked at once: who asked here is told, and the answer to come answers nothing any more.
        case .closing(isTold: false): effects.append(.closed(id, .closedHere, unsent: unsent))
        case .closing(isTold: true), .opening: break
        }
        pending.removeAll { $0.kind == .close(id) }
        return effects
    }

    // MARK: Reconfiguring

    mutating func reconfigure(
        id: UInt64, _ ids: [ChannelID], mtu: UInt16, mps: UInt16, at now: Instant
    ) -> [Effect] {
        let isPossible = ids.allSatisfy { id in
            guard let index = channel(id), channels[index].state == .open else { return false }
            let capacity = channels[index].capacity
            return channels[index].mode == .enhanced && mtu >= capacity.mtu && mps >= capacity.mps
                && !isReconfiguring(id)
        }
        guard (1...5).contains(ids.count), Set(ids).count == ids.count, isPossible,
            ChannelMode.enhanced.admits(mtu: mtu, mps: mps)
        else { return [.reconfigured(id: id, .notPossible)] }
        let request = ReconfigureRequest(mtu: mtu, mps: mps, destinations: ids.map(\.rawValue))
        return [ask(.reconfigure(id: id, ids, mtu: mtu, mps: mps), request, at: now)]
    }

    private func isReconfiguring(_ id: ChannelID) -> Bool {
        pending.contains { if case .reconfigure(_, let ids, _, _) = $0.kind { ids.contains(id) } else { false } }
    }

    mutating func reconfigured(
        _ id: UInt64, _ ids: [ChannelID], _ mtu: UInt16, _ mps: UInt16, _ result: ReconfigureResult
    ) -> [Effect] {
        guard result == .success else { return [.reconfigured(id: id, .notReconfigured(result))] }
        for id in ids {
            if let index = channel(id) { channels[index].setOwn(mtu: mtu, mps: mps) }
        }
        return [.reconfigured(id: id, nil)]
    }

    /// The peer takes more from now on, or, on one channel, shorter frames.
    mutating func reconfigure(_ request: ReconfigureRequest, _ identifier: UInt8) -> [Effect] {
        let indices = request.destinations.map { destination in
            channels.firstIndex {
                $0.remote.rawValue == destination && $0.mode == .enhanced && $0.state == .open
            }
        }
        let known = indices.compactMap { $0 }
        let result: ReconfigureResult =
            if !(1...5).contains(request.destinations.count)
                || Set(request.destinations).count != request.destinations.count
                || !ChannelMode.enhanced.admits(mtu: request.mtu, mps: request.mps)
            {
                .unacceptableParameters
            } else if known.count != indices.count {
                .invalidDestination
            } else if known.contains(where: { channels[$0].peerMTU > request.mtu }) {
                .mtuReduced
            } else if known.count > 1, known.contains(where: { channels[$0].peerMPS > request.mps }) {
                .mpsReduced
            } else { .success }
        let response = Effect.send(ReconfigureResponse(result).payload(identifier: identifier))
        guard result == .success else { return [response] }
        let wider = known.filter { channels[$0].peerMTU < request.mtu }
        for index in known { channels[index].setPeer(mtu: request.mtu, mps: request.mps) }
        return [response] + wider.map { .peerTakesMore(channels[$0].local) }
    }
}
