package import BluetoothTypes
import ByteCodec
import EventLoop

/// What a report of an extended advertisement says besides.
package struct ExtendedDetails: Sendable {
    package enum Status: Sendable { case complete, incomplete, truncated }

    package var mode: ExtendedPayload.Mode
    package var isAnonymous: Bool
    package var isScanResponse: Bool
    /// Whom directed advertising is for.
    package var target: DeviceAddress?
    package var primary: RadioPHY
    /// `nil` without auxiliary packets.
    package var secondary: RadioPHY?
    package var setIdentifier: UInt8?
    /// In dBm.
    package var txPower: Int8?
    /// Of periodic advertising, in slots of 1.25 ms.
    package var periodicInterval: UInt16?
    package var status: Status
}

// Following extended advertisements to their auxiliary packets: Core 6.0, Vol 6, Part B, 4.4.3.

extension Scanner {
    /// ADV_EXT_IND on a primary channel.
    mutating func hearAnnouncement(
        _ reception: Reception, at now: Instant, reports: inout [Report]
    ) -> RadioOrder {
        guard reception.isIntact, let payload = try? ExtendedPayload(reception.frame) else { return resume(at: now) }
        guard let trail = Trail(payload, from: reception, primary: window.phy) else {
            if payload.auxiliary == nil { report(payload, nil, reception, primary: window.phy, reports: &reports) }
            return resume(at: now)
        }
        state = .following(trail)
        return trail.listen()
    }

    mutating func goOn(_ input: RadioInput, at now: Instant, reports: inout [Report]) -> RadioOrder {
        switch (state, input) {
        case (.following(let trail), .heard(let reception)):
            // Somebody else's packet came before.
            guard reception.start >= trail.start else { return trail.listen() }
            return hearAuxiliary(reception, trail, at: now, reports: &reports)
        case (.asking(let trail), .sent):
            state = .hoping(trail)
            return .listen(
                channel: trail.channel, phy: trail.phy, accessAddress: advertisingAccessAddress,
                until: now.advanced(by: trail.phy.answerWindow))
        case (.hoping(var trail), .heard(let reception)):
            let payload = try? ExtendedPayload(reception.frame)
            let hasAnswered =
                reception.isIntact && payload.map { $0.advertiser == trail.advertiser && trail.leads(to: $0) } == true
            backoff.note(success: hasAnswered, using: &generator)
            guard hasAnswered else { return resume(at: now) }
            trail.isScanResponse = true
            return hearAuxiliary(reception, trail, at: now, reports: &reports)
        case (.hoping, .silence):
            backoff.note(success: false, using: &generator)
            return resume(at: now)
        case (.following(let trail), .silence):
            reportTruncation(trail, reports: &reports)
            return resume(at: now)
        case (.following(let trail), .revoked):
            reportTruncation(trail, reports: &reports)
            state = .idle
            return .release
        default:
            state = .idle
            return .release
        }
    }

    /// AUX_ADV_IND, AUX_SCAN_RSP or AUX_CHAIN_IND.
    private mutating func hearAuxiliary(
        _ reception: Reception, _ trail: Trail, at now: Instant, reports: inout [Report]
    ) -> RadioOrder {
        guard reception.isIntact, var payload = try? ExtendedPayload(reception.frame), trail.leads(to: payload) else {
            reportTruncation(trail, reports: &reports)
            return resume(at: now)
        }
        // What the packets before have said holds for the chain.
        payload.advertiser = payload.advertiser ?? trail.advertiser
        payload.target = payload.target ?? trail.target
        payload.txPower = payload.txPower ?? trail.txPower
        payload.info = payload.info ?? trail.info
        noteTrain(payload, reception)
        if trail.hasBegun || trail.isScanResponse { payload.mode = trail.mode }
        guard report(payload, trail, reception, primary: trail.primary, reports: &reports) else {
            return resume(at: now)
        }
        if var next = Trail(payload, from: reception, primary: trail.primary) {
            next.isScanResponse = trail.isScanResponse
            next.hasBegun = true
            state = .following(next)
            return next.listen()
        }
        guard payload.auxiliary == nil else {
            var begun = trail
            begun.advertiser = payload.advertiser
            begun.hasBegun = true
            reportTruncation(begun, reports: &reports)
            return resume(at: now)
        }
        return ask(payload, trail, reception, at: now)
    }

    /// Filters of reports do not hold for trains. 4.4.3.4.
    private mutating func noteTrain(_ payload: ExtendedPayload, _ reception: Reception) {
        guard noticesTrains, let info = payload.sync, info.isUsable, let set = payload.info?.setIdentifier,
            let advertiser = payload.advertiser, let party = resolvingList.recognize(advertiser)
        else { return }
        trains.append(
            TrainSighting(
                advertiser: party, setIdentifier: set, info: info, start: reception.start, mode: reception.frame.mode))
    }

    /// AUX_SCAN_REQ, where the advertisement has an answer to it.
    private mutating func ask(
        _ payload: ExtendedPayload, _ trail: Trail, _ reception: Reception, at now: Instant
    ) -> RadioOrder {
        guard payload.mode == .scannable, !trail.isScanResponse, isActive, let advertiser = payload.advertiser,
            let party = resolvingList.recognize(advertiser)
        else { return resume(at: now) }
        let sighting = Sighting(kind: .extended, advertiser: party.address, info: payload.info, isScanResponse: true)
        let isKnown = parameters.filtersDuplicates && seen.contains(sighting)
        guard !isKnown, backoff.isOver() else { return resume(at: now) }
        var asked = trail
        asked.advertiser = advertiser
        asked.mode = .scannable
        asked.txPower = payload.txPower
        state = .asking(asked)
        var own = parameters.address
        if usesPrivateAddress { own = resolvingList.localAddress(for: party.entry, own: own) }
        let request = AddressPair(sender: own, target: advertiser).octets
        let header = AdvertisingHeader(
            .scanRequest, sender: own.kind, target: advertiser.kind, payloadCount: request.count)
        return .transmit(
            RadioFrame(
                channel: trail.channel, mode: reception.frame.mode, accessAddress: advertisingAccessAddress,
                header: header.rawValue, payload: request[...]),
            at: now.advanced(by: AirTiming.interFrameSpace))
    }

    /// Reports what the packet says, unless it is filtered; `false` if the rest of the advertisement does not matter.
    @discardableResult
    private mutating func report(
        _ payload: ExtendedPayload, _ trail: Trail?, _ reception: Reception, primary: RadioPHY,
        reports: inout [Report]
    ) -> Bool {
        var party = ResolvingList.Party(address: DeviceAddress(0))
        if let advertiser = payload.advertiser {
            guard let known = resolvingList.recognize(advertiser) else { return false }
            party = known
        }
        if let allowed = parameters.advertisersAllowed {
            guard payload.advertiser != nil, allowed.contains(party.address) else { return false }
        }
        var unresolvedTarget: DeviceAddress?
        if let target = payload.target,
            !resolvingList.isLocal(target, calledBy: party.entry, own: parameters.address)
        {
            guard parameters.reportsUnresolvedTargets, ResolvingList.isResolvable(target) else { return false }
            unresolvedTarget = target
        }
        let isScanResponse = trail?.isScanResponse == true
        let sighting = Sighting(
            kind: .extended, advertiser: party.address, info: payload.info, isScanResponse: isScanResponse)
        // The first packet decides; those behind it belong to it.
        if parameters.filtersDuplicates, trail?.hasBegun != true, !seen.insert(sighting).inserted {
            // Known, but perhaps it has not answered yet.
            return payload.mode == .scannable && !isScanResponse && payload.auxiliary == nil
        }
        reports.append(
            Report(
                kind: .extended, advertiser: party, unresolvedTarget: unresolvedTarget, data: payload.data,
                rssi: reception.rssi,
                details: ExtendedDetails(
                    mode: payload.mode, isAnonymous: payload.advertiser == nil, isScanResponse: isScanResponse,
                    target: payload.target, primary: primary,
                    secondary: trail == nil ? nil : reception.frame.mode.phy,
                    setIdentifier: payload.info?.setIdentifier, txPower: payload.txPower,
                    periodicInterval: payload.sync?.interval,
                    status: payload.auxiliary == nil ? .complete : .incomplete)))
        return true
    }

    /// The rest of what was reported in part has not come.
    private mutating func reportTruncation(_ trail: Trail, reports: inout [Report]) {
        guard trail.hasBegun else { return }
        var party = ResolvingList.Party(address: DeviceAddress(0))
        if let advertiser = trail.advertiser {
            guard let known = resolvingList.recognize(advertiser) else { return }
            party = known
        }
        reports.append(
            Report(
                kind: .extended, advertiser: party, unresolvedTarget: nil, data: [], rssi: 127,
                details: ExtendedDetails(
                    mode: trail.mode, isAnonymous: trail.advertiser == nil, isScanResponse: trail.isScanResponse,
                    target: trail.target, primary: trail.primary, secondary: trail.phy,
                    setIdentifier: trail.info?.setIdentifier, txPower: trail.txPower, status: .truncated)))
    }
}
