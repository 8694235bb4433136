import EventLoop

/// Opening channels, and answering who opens some. Core 6.0, Vol 3, Part A, 4.22, 4.23, 4.25 and 4.26.
extension Signalling {
    private static let mostChannelsInARequest = 5

    /// The lowest numbers that no channel of this link has.
    private func freeChannels(_ count: Int) -> [ChannelID] {
        var free: [ChannelID] = []
        for number in ChannelID.dynamic where free.count < count {
            if channel(ChannelID(rawValue: number)) == nil { free.append(ChannelID(rawValue: number)) }
        }
        return free
    }

    func channel(_ id: ChannelID) -> Int? { channels.firstIndex { $0.local == id } }

    private func channel(remote id: UInt16) -> Int? {
        id == 0 ? nil : channels.firstIndex { $0.remote.rawValue == id }
    }

    private mutating func insert(_ channel: CreditBasedChannel) {
        let index = channels.firstIndex { $0.local.rawValue > channel.local.rawValue } ?? channels.endIndex
        channels.insert(channel, at: index)
    }

    // MARK: This side opens

    mutating func open(
        id: UInt64, spsm: UInt16, mode: ChannelMode, count: Int, capacity: ChannelCapacity, at now: Instant
    ) -> [Effect] {
        let allowed = mode == .enhanced ? 1...Self.mostChannelsInARequest : 1...1
        let free = freeChannels(count)
        guard allowed.contains(count), free.count == count, (0x0001...0x00FF).contains(spsm),
            mode.admits(mtu: capacity.mtu, mps: capacity.mps)
        else { return [.openFailed(id: id, .notPossible)] }
        for number in free {
            insert(CreditBasedChannel(local: number, spsm: spsm, mode: mode, capacity: capacity))
        }
        let credits = channels[channel(free[0])!].initialCredits
        let kind = Pending.Kind.open(id: id, mode: mode, free)
        switch mode {
        case .leCreditBased:
            var request = LECreditBasedConnectionRequest()
            request.spsm = spsm
            request.source = free[0].rawValue
            request.mtu = capacity.mtu
            request.mps = capacity.mps
            request.credits = credits
            return [ask(kind, request, at: now)]
        case .enhanced:
            var request = CreditBasedConnectionRequest()
            request.spsm = spsm
            request.mtu = capacity.mtu
            request.mps = capacity.mps
            request.credits = credits
            request.sources = free.map(\.rawValue)
            return [ask(kind, request, at: now)]
        }
    }

    mutating func opened(
        _ id: UInt64, _ opening: [ChannelID], _ response: LECreditBasedConnectionResponse, at now: Instant
    ) -> [Effect] {
        let result = ChannelResult(rawValue: response.result)
        guard result == .success else {
            channels.removeAll { opening.contains($0.local) }
            return [.openFailed(id: id, .refused(result))]
        }
        var answer = CreditBasedConnectionResponse()
        answer.mtu = response.mtu
        answer.mps = response.mps
        answer.credits = response.credits
        answer.destinations = [response.destination]
        return opened(id, opening, answer, at: now)
    }

    /// - Parameter response: not one that says "pending".
    mutating func opened(
        _ id: UInt64, _ opening: [ChannelID], _ response: CreditBasedConnectionResponse, at now: Instant
    ) -> [Effect] {
        var effects: [Effect] = []
        var open: [ChannelID] = []
        var isLegal = response.destinations.count <= opening.count
        for (offset, local) in opening.enumerated() {
            guard let index = channel(local) else { continue }
            let remote = offset < response.destinations.count ? response.destinations[offset] : 0
            guard remote != 0 else {
                channels.remove(at: index)
                continue
            }
            let isTaken = channel(remote: remote) != nil
            let isDynamic = ChannelID.dynamic.contains(remote)
            if isTaken || !isDynamic || !channels[index].mode.admits(mtu: response.mtu, mps: response.mps) {
                isLegal = false
                // A number that another channel has: both are given up, and nothing more is sent on them (4.26).
                if let other = channel(remote: remote) {
                    let lost = channels[other].local
                    effects += giveUp(other)
                    open.removeAll { $0 == lost }
                }
                if let index = channel(local) { channels.remove(at: index) }
                continue
            }
            channels[index].open(
                remote: ChannelID(rawValue: remote), mtu: response.mtu, mps: response.mps,
                credits: response.credits)
            open.append(local)
        }
        // Nobody has been told yet of a channel that one answer opens and gives up.
        effects.removeAll { if case .closed(let lost, _, _) = $0 { opening.contains(lost) } else { false } }
        guard open.isEmpty else { return effects + [.opened(id: id, open)] }
        let result = ChannelResult(rawValue: response.result)
        let failure: ChannelFailure = isLegal && result != .success ? .refused(result) : .illegalAnswer
        return effects + [.openFailed(id: id, failure)]
    }

    /// Forgets a channel without a word to the peer.
    private mutating func giveUp(_ index: Int) -> [Effect] {
        var channel = channels.remove(at: index)
        pending.removeAll { $0.kind == .close(channel.local) }
        guard channel.state == .open else { return [] }
        return [.closed(channel.local, .violated(.doubleDestination), unsent: channel.dropQueue())]
    }

    // MARK: The peer opens

    mutating func accept(_ request: LECreditBasedConnectionRequest, _ identifier: UInt8) -> [Effect] {
        func refuse(_ result: ChannelResult) -> [Effect] {
            [.send(LECreditBasedConnectionResponse(refusal: result).payload(identifier: identifier))]
        }
        guard let offer = offers.first(where: { $0.isFor(request.spsm, .leCreditBased) }) else {
            return refuse(.spsmNotSupported)
        }
        if let refusal = offer.requirement.refusal(on: protection) { return refuse(refusal) }
        let capacity = offer.capacity ?? capacity
        guard ChannelMode.leCreditBased.admits(mtu: request.mtu, mps: request.mps) else {
            return refuse(.unacceptableParameters)
        }
        let (accepted, result) = take(
            [request.source], of: offer, .leCreditBased, mtu: request.mtu, mps: request.mps, credits: request.credits)
        guard let accepted = accepted.first.flatMap({ $0 }), let index = channel(accepted) else {
            return refuse(result)
        }
        var response = LECreditBasedConnectionResponse()
        response.destination = accepted.rawValue
        response.mtu = capacity.mtu
        response.mps = capacity.mps
        response.credits = channels[index].initialCredits
        return [.send(response.payload(identifier: identifier)), .accepted(accepted)]
    }

    mutating func accept(_ request: CreditBasedConnectionRequest, _ identifier: UInt8) -> [Effect] {
        let count = request.sources.count
        func refuse(_ result: ChannelResult) -> [Effect] {
            let response = CreditBasedConnectionResponse(refusal: result, count: count)
            return [.send(response.payload(identifier: identifier))]
        }
        guard let offer = offers.first(where: { $0.isFor(request.spsm, .enhanced) }) else {
            return refuse(.spsmNotSupported)
        }
        if let refusal = offer.requirement.refusal(on: protection) { return refuse(refusal) }
        guard (1...Self.mostChannelsInARequest).contains(count), request.credits > 0 else {
            return refuse(.invalidParameters)
        }
        let capacity = offer.capacity ?? capacity
        guard ChannelMode.enhanced.admits(mtu: request.mtu, mps: request.mps),
            ChannelMode.enhanced.admits(mtu: capacity.mtu, mps: capacity.mps)
        else { return refuse(.unacceptableParameters) }
        let (accepted, result) = take(
            request.sources, of: offer, .enhanced, mtu: request.mtu, mps: request.mps, credits: request.credits)
        let opened = accepted.compactMap { $0 }
        guard let first = opened.first, let index = channel(first) else { return refuse(result) }
        var response = CreditBasedConnectionResponse()
        response.mtu = capacity.mtu
        response.mps = capacity.mps
        response.credits = channels[index].initialCredits
        response.result = result.rawValue
        response.destinations = accepted.map { $0?.rawValue ?? 0 }
        return [.send(response.payload(identifier: identifier))] + opened.map(Effect.accepted)
    }

    /// Opens a channel for each of the peer's numbers, as far as that can be.
    ///
    /// - Returns: the numbers here, `nil` for those that were refused, and why one was.
    private mutating func take(
        _ sources: [UInt16], of offer: ChannelOffer, _ mode: ChannelMode, mtu: UInt16, mps: UInt16, credits: UInt16
    ) -> (accepted: [ChannelID?], result: ChannelResult) {
        var accepted: [ChannelID?] = []
        var reasons: [ChannelResult] = []
        for source in sources {
            let inUse = channels.count { $0.spsm == offer.spsm && $0.remote.rawValue != 0 }
            let free = freeChannels(1).first
            let refusal: ChannelResult? =
                if !ChannelID.dynamic.contains(source) {
                    .invalidSource
                } else if channel(remote: source) != nil {
                    .sourceAlreadyAllocated
                } else if inUse >= offer.mostChannels || free == nil { .noResources } else { nil }
            if let refusal { reasons.append(refusal) }
            guard refusal == nil, let free else {
                accepted.append(nil)
                continue
            }
            var channel = CreditBasedChannel(
                local: free, spsm: offer.spsm, mode: mode, capacity: offer.capacity ?? capacity)
            channel.open(remote: ChannelID(rawValue: source), mtu: mtu, mps: mps, credits: credits)
            insert(channel)
            accepted.append(free)
        }
        // What is wrong with the request counts before what is lacking here.
        let order: [ChannelResult] = [.invalidSource, .sourceAlreadyAllocated, .noResources]
        return (accepted, order.first { reasons.contains($0) } ?? .success)
    }
}
