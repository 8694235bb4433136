import EventLoop
import HCI
import HostInterface

/// Which of a link's events are used, and who wants others.
struct LinkSubrating {
    enum Phase: Equatable {
        case idle
        /// The command is in flight.
        case asking
        /// The controller has taken it, and tells by then what has come of it.
        case waiting(until: Instant)
    }

    var factor: UInt16 = 1
    var continuation: UInt16 = 0
    /// The first one is under way, the others wait for its end.
    var requests: [RequestKey] = []
    var phase = Phase.idle

    var deadline: Instant? { if case .waiting(let until) = phase { until } else { nil } }
}

/// Connection subrating: Core 6.0, Vol 4, Part E, 7.8.115, 7.8.123, 7.8.124 and 7.7.65.35.
extension Host {
    private var hasSubrating: Bool {
        guard configuration.usesSubrating, let capabilities else { return false }
        return capabilities.features.contains(.connectionSubrating)
            && [.leSetHostFeature, .leSetDefaultSubrate, .leSubrateRequest].allSatisfy(capabilities.commands.contains)
    }

    /// What a central takes of peripherals that ask: nearly all that the specification admits, 500 events of silence.
    private static let acceptable: SubrateRange = {
        var range = SubrateRange()
        range.factorMax = 100
        range.maxLatency = 4
        return range
    }()

    /// The link layer's procedures have so long (Core 6.0, Vol 6, Part B, 5.2); then the link is dead.
    private static let patienceForSubrate = Duration.seconds(41)

    /// Peers learn that this host is for it, while there are no links yet.
    func setSubrateDefaults(at now: Instant) {
        guard hasSubrating else { return }
        let bit = UInt8(LEFeatures.connectionSubratingHost.rawValue.trailingZeroBitCount)
        submit(LESetHostFeature(bit: bit, isSet: true).packet, for: .nobody, at: now)
        submit(LESetDefaultSubrate(range: Self.acceptable).packet, for: .nobody, at: now)
    }

    func subrate(_ peer: PeerID, for key: RequestKey, at now: Instant) {
        guard let index = linkIndex(of: peer) else { return fail(key, .notConnected) }
        guard hasSubrating else {
            return fail(key, .controller(status: HCIErrorCode.unsupportedFeature.rawValue))
        }
        links[index].subrating.requests.append(key)
        askForSubrate(onLink: links[index].handle, at: now)
    }

    private func askForSubrate(onLink handle: UInt16, at now: Instant) {
        while let index = linkIndex(handle: handle), links[index].subrating.phase == .idle,
            let key = links[index].subrating.requests.first
        {
            guard case .subrate(_, let preference)? = requests.request(key),
                let range = SubrateRange(preference, on: links[index].timing)
            else {
                links[index].subrating.requests.removeFirst()
                fail(key, .invalidParameters("The link would not last, or the specification does not admit it."))
                continue
            }
            links[index].subrating.phase = .asking
            submit(LESubrateRequest(handle: handle, range: range).packet, for: .subrate(link: handle), at: now)
        }
    }

    func subrateAsked(_ outcome: CommandOutcome, onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle), links[index].subrating.phase == .asking else { return }
        switch outcome {
        case .started, .completed:
            links[index].subrating.phase = .waiting(until: now.advanced(by: Self.patienceForSubrate))
        case .refused(let error): endSubrate(.failure(.controller(status: error.rawValue)), onLink: index, at: now)
        case .timedOut: endSubrate(.failure(.timedOut), onLink: index, at: now)
        }
    }

    /// It may have been the peer who asked.
    func subrateChanged(_ event: LESubrateChange, at now: Instant) {
        guard let index = linkIndex(handle: event.handle) else { return }
        if event.status == .success {
            links[index].subrating.factor = event.factor
            links[index].subrating.continuation = event.continuation
            links[index].timing.latency = event.latency
            links[index].timing.supervisionTimeout = event.supervisionTimeout
        }
        guard case .waiting = links[index].subrating.phase else { return }
        let failure = HostFailure.controller(status: event.status.rawValue)
        endSubrate(event.status == .success ? .success(.done) : .failure(failure), onLink: index, at: now)
    }

    func wakeSubrate(onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle), let deadline = links[index].subrating.deadline, deadline <= now
        else { return }
        endSubrate(.failure(.timedOut), onLink: index, at: now)
    }

    private func endSubrate(_ result: Result<HostAnswer, HostFailure>, onLink index: Int, at now: Instant) {
        let handle = links[index].handle
        links[index].subrating.phase = .idle
        finish(links[index].subrating.requests.removeFirst(), result)
        askForSubrate(onLink: handle, at: now)
    }
}

extension SubrateRange {
    /// `nil` for what the specification does not admit (7.8.124), or what a link with this timing would not survive.
    fileprivate init?(_ preference: SubratePreference, on timing: LinkTiming) {
        self.init()
        let (factor, latency) = (Int(preference.factors.upperBound), Int(preference.maximumLatency))
        guard preference.factors.lowerBound >= 1, factor * (latency + 1) <= 500, preference.continuation < factor else {
            return nil
        }
        // Two of the longest silences, and a little more: Vol 6, Part B, 4.5.1.
        let needed = Int(timing.interval) * factor * (latency + 1) * 1250 * 2 / 10_000 + 1
        let timeout =
            preference.supervisionTimeout.map(Int.init)
            ?? max(Int(timing.supervisionTimeout), min(3 * needed, 3200))
        guard timeout >= max(10, needed), timeout <= 3200 else { return nil }
        factorMin = preference.factors.lowerBound
        factorMax = preference.factors.upperBound
        maxLatency = preference.maximumLatency
        continuation = preference.continuation
        supervisionTimeout = UInt16(timeout)
    }
}
