import ByteCodec
package import EventLoop

/// A train that a scanner has noticed.
package struct TrainSighting: Sendable {
    package var advertiser: ResolvingList.Party
    /// Advertising_SID.
    package var setIdentifier: UInt8
    package var info: SyncInfo
    /// When the packet began that told of it.
    package var start: Instant
    package var mode: RadioMode
}

/// Following somebody's periodic advertising.
///
///           granted              heard, and there is more
///     idle ─────────▶ listening ─────────────────────────▶ following … ──▶ idle, an interval later, or some
///                        │ silence                            │ silence
///                        └────────────────────────────────────┴──────────▶ idle
///
/// Source: Core 6.0, Vol 6, Part B, 4.4.3.4.
package struct PeriodicSync: Sendable {
    package struct Parameters: Sendable {
        package var train: TrainSighting
        /// How many packets in a row may be left out.
        package var skip = 0
        package var timeout = Duration.seconds(1)
        /// Of this side, in parts per million.
        package var clockAccuracy = 0

        package init(train: TrainSighting) { self.train = train }
    }

    package enum DataStatus: Sendable { case complete, incomplete, truncated }

    package enum Report: Sendable {
        /// The first packet has come.
        case established
        /// Six intervals went by without one. 4.4.3.4.
        case failed
        case lost
        case data(ArraySlice<UInt8>, DataStatus, info: AdvertisingDataInfo?, txPower: Int8?, rssi: Int8)
    }

    private enum State {
        case idle, listening
        case following(ChainLink)
    }

    /// The packet of a chain that is due.
    private struct ChainLink {
        var channel: UInt8
        var start: Instant
        var end: Instant
        var info: AdvertisingDataInfo?
        var txPower: Int8?
    }

    package let parameters: Parameters
    private let selection: ChannelSelection
    private let interval: Duration
    private let drift: Int
    private var state = State.idle
    private var event: Int
    private var anchor: Instant
    /// How much later the first packet may come.
    private var window: Duration
    private var lastHeard: Instant
    package private(set) var isEstablished = false
    /// Events in a row for which the radio was not to be had.
    package private(set) var missed = 0

    package init(_ parameters: Parameters) {
        self.parameters = parameters
        let train = parameters.train
        selection = .algorithm2(accessAddress: train.info.accessAddress)
        interval = AirTiming.slot * Int(train.info.interval)
        drift = parameters.clockAccuracy + AirTiming.clockAccuracy(train.info.clockAccuracyClass)
        event = Int(train.info.event)
        anchor = train.start.advanced(by: train.info.offset)
        window = train.info.unit
        lastHeard = train.start
    }

    package var nextStart: Instant { anchor.advanced(by: .zero - margin) }

    /// How early or late the next packet may be, both clocks having run since the last one.
    private var margin: Duration {
        AirTiming.sleepClockJitter + lastHeard.duration(to: anchor) * drift / 1_000_000
    }

    /// When ``wake(at:reports:)`` must be called, radio or not.
    package var deadline: Instant {
        isEstablished
            ? lastHeard.advanced(by: parameters.timeout)
            : parameters.train.start.advanced(by: parameters.train.info.offset + interval * 6)
    }

    /// How long the radio is needed at least.
    package var eventTime: Duration {
        margin * 2 + window + parameters.train.mode.duration(payloadCount: 64)
    }

    package mutating func wake(at now: Instant, reports: inout [Report]) {
        guard now >= deadline else { return }
        reports.append(isEstablished ? .lost : .failed)
    }

    package mutating func skipEvent() {
        missed += 1
        step(1)
    }

    private mutating func step(_ events: Int) {
        anchor = anchor.advanced(by: interval * events)
        event += events
    }

    package mutating func handle(_ input: RadioInput, at now: Instant, reports: inout [Report]) -> RadioOrder {
        switch (state, input) {
        case (.idle, .granted):
            missed = 0
            state = .listening
            return .listen(
                channel: selection.channel(event: event, used: parameters.train.info.channels),
                phy: parameters.train.mode.phy, accessAddress: parameters.train.info.accessAddress,
                until: anchor.advanced(by: margin + window + parameters.train.mode.phy.synchronization))
        case (.listening, .heard(let reception)):
            anchor = reception.start
            window = .zero
            lastHeard = reception.start
            return take(reception, behind: nil, reports: &reports)
        case (.following(let link), .heard(let reception)):
            guard reception.start >= link.start else { return listen(to: link) }
            return take(reception, behind: link, reports: &reports)
        case (.following(let link), .silence), (.following(let link), .revoked):
            reportTruncation(link, reports: &reports)
            return leave()
        case (.idle, _), (.listening, _), (.following, _):
            return leave()
        }
    }

    private mutating func take(
        _ reception: Reception, behind link: ChainLink?, reports: inout [Report]
    ) -> RadioOrder {
        guard reception.isIntact, let payload = try? ExtendedPayload(reception.frame),
            link?.info == nil || payload.info == nil || link?.info == payload.info
        else {
            if let link { reportTruncation(link, reports: &reports) }
            return leave()
        }
        if !isEstablished {
            isEstablished = true
            reports.append(.established)
        }
        var next: ChainLink?
        if let pointer = payload.auxiliary, pointer.offset <= Trail.longestWait {
            let margin = AirTiming.sleepClockJitter
            next = ChainLink(
                channel: pointer.channel, start: reception.start.advanced(by: pointer.offset - margin),
                end: reception.start.advanced(
                    by: pointer.offset + pointer.unit + margin + pointer.phy.synchronization),
                info: payload.info ?? link?.info, txPower: payload.txPower ?? link?.txPower)
        }
        let status: DataStatus =
            next != nil ? .incomplete : payload.auxiliary == nil ? .complete : .truncated
        reports.append(
            .data(
                payload.data, status, info: payload.info ?? link?.info,
                txPower: payload.txPower ?? link?.txPower,
                rssi: reception.rssi))
        guard let next else { return leave(skipping: parameters.skip) }
        state = .following(next)
        return listen(to: next)
    }

    private func listen(to link: ChainLink) -> RadioOrder {
        .listen(
            channel: link.channel, phy: parameters.train.mode.phy,
            accessAddress: parameters.train.info.accessAddress, until: link.end)
    }

    private func reportTruncation(_ link: ChainLink, reports: inout [Report]) {
        reports.append(.data([], .truncated, info: link.info, txPower: link.txPower, rssi: 127))
    }

    private mutating func leave(skipping skip: Int = 0) -> RadioOrder {
        if case .idle = state {} else { step(1 + skip) }
        state = .idle
        return .release
    }
}
