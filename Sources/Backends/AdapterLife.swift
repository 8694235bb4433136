package import EventLoop
package import HCITransport
package import Host
package import HostInterface

/// What becomes of a radio that can be plugged, blocked, taken by others, and can fail: when to open it, when to try
/// again, and what its programs are shown meanwhile.
///
///             begin        opened           ready
///     idle ─────────▶ opening ───▶ settingUp ─────▶ on
///                      ▲   │ refused      │          │ closed, hangs
///                      │   ▼              ▼          │
///             time ────┴─ waiting ◀──────────────────┘        on ──hardware error──▶ settingUp
///                          │ nothing changes by itself
///                          ▼
///                         over
///
/// What was on and is gone is `.resetting` for a while, for it may come back at once (B-B8); after that, and for what
/// was never on, the state says why there is none. See Documentation/Decisions/0070-life-of-an-adapter.md.
package struct AdapterLife: ProtocolMachine {
    package enum Input: Equatable, Sendable {
        case begin
        case opened
        /// It could not be opened.
        case refused(TransportError)
        /// Its programs were told `.poweredOn`.
        case ready
        /// The transport ended by itself.
        case closed(TransportError)
        case trouble(AdapterTrouble)
    }

    package enum Effect: Equatable, Sendable {
        /// Open the transport, and come back with `opened` or `refused`.
        case open
        case close
        /// Reset the controller and set it up.
        case powerOn
        /// End everything that goes on, and show this to the programs.
        case show(AdapterState)
        /// Tell a person what the state does not.
        case note(String)
    }

    /// Whether the radio is of a kind that comes back: an adapter or a serial line is plugged in again, or answers
    /// again; the far end of a socket is another program's affair.
    package enum Kind: Sendable {
        case device
        case socket
    }

    /// How often to look for what may come back: seldom enough to cost nothing, often enough for a person's patience.
    static let lookInterval = Duration.seconds(1)
    /// The kernel sets an adapter up within about this.
    static let settlingInterval = Duration.milliseconds(200)
    /// How long what is gone may come back as if nothing had happened.
    static let grace = Duration.seconds(30)
    /// After a failure of the controller the pause doubles, from a second to this.
    static let longestPause = Duration.seconds(60)
    /// So many hardware errors in a minute are cured by a reset; more, and the transport is opened anew.
    static let mostHardwareErrors = 3

    private enum State: Equatable {
        case idle, opening, settingUp, on, over
        case waiting(until: Instant)
    }

    private let place: String
    private let kind: Kind
    private var state = State.idle
    private var shown = AdapterState.unknown
    /// Since when something that was on is gone.
    private var goneSince: Instant?
    /// When it was last ready.
    private var readyAt: Instant?
    /// Failures of the controller since it last worked for as long as the longest pause.
    private var failures = 0
    private var hardwareErrors: [Instant] = []

    /// - Parameter place: what a person calls the radio.
    package init(place: String, kind: Kind) {
        self.place = place
        self.kind = kind
    }

    package var deadline: Instant? { if case .waiting(let until) = state { until } else { nil } }

    package mutating func wake(at now: Instant) -> [Effect] {
        guard let deadline, deadline <= now else { return [] }
        state = .opening
        return [.open]
    }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch (state, input) {
        case (.idle, .begin):
            state = .opening
            return [.open]
        case (.opening, .opened):
            state = .settingUp
            return [.powerOn]
        case (.opening, .refused(let error)): return refused(error, at: now)
        case (.settingUp, .ready):
            state = .on
            readyAt = now
            goneSince = nil
            shown = .unknown
            return []
        case (.settingUp, .closed(let error)), (.on, .closed(let error)): return closed(error, at: now)
        case (.settingUp, .trouble(let trouble)), (.on, .trouble(let trouble)): return failed(trouble, at: now)
        case (.idle, _), (.opening, _), (.settingUp, _), (.on, _), (.waiting, _), (.over, _): return []
        }
    }
}

// MARK: - What goes wrong

extension AdapterLife {
    private mutating func refused(_ error: TransportError, at now: Instant) -> [Effect] {
        let reason = "The radio \(place) cannot be opened. \(error)"
        switch error {
        case .noCapability, .notPermitted:
            state = .over
            return show(.unauthorized(reason: reason))
        case .blocked:
            state = .waiting(until: now.advanced(by: Self.lookInterval))
            goneSince = nil
            return (shown == .poweredOff ? [] : [.note(reason)]) + show(.poweredOff)
        case .adapterSettling:
            state = .waiting(until: now.advanced(by: Self.settlingInterval))
            return mayComeBack(at: now) ? [] : show(.unsupported(reason: reason))
        case .noAdapter, .noDevice:
            state = .waiting(until: now.advanced(by: Self.lookInterval))
            return mayComeBack(at: now) ? [] : show(.unsupported(reason: reason))
        case .adapterInUse, .system, .addressInUse, .unplugged:
            state = kind == .device ? .waiting(until: now.advanced(by: Self.lookInterval)) : .over
            return show(.unsupported(reason: reason))
        case .noBluetooth, .notSerial, .unknownHost, .nobodyListens, .noAnswer, .noSocket, .pathTaken, .pathTooLong,
            .ended, .endedInsidePacket, .framing, .peerDoesNotRead:
            state = .over
            return show(.unsupported(reason: reason))
        }
    }

    private mutating func closed(_ error: TransportError, at now: Instant) -> [Effect] {
        let reason = "The radio \(place) is lost. \(error)"
        let resetting = leave(at: now)
        guard kind == .device else {
            state = .over
            return resetting + show(.unsupported(reason: reason))
        }
        if case .unplugged = error {
            state = .waiting(until: now.advanced(by: Self.lookInterval))
        } else {
            state = .waiting(until: now.advanced(by: pause(at: now)))
        }
        return [.note(reason)] + resetting
    }

    private mutating func failed(_ trouble: AdapterTrouble, at now: Instant) -> [Effect] {
        let reason = "The radio \(place) failed. \(trouble)"
        let wasOn = state == .on
        let resetting = leave(at: now)
        if case .hardwareError = trouble, isWorthAReset(at: now) {
            state = .settingUp
            return [.note(reason)] + resetting + [.powerOn]
        }
        guard kind == .device else {
            state = .over
            return [.close] + resetting + show(.unsupported(reason: reason))
        }
        state = .waiting(until: now.advanced(by: pause(at: now)))
        // What worked before may work again; what never did has a reason.
        return [.close] + (wasOn ? [.note(reason)] + resetting : show(.unsupported(reason: reason)))
    }

    /// What was on is gone.
    private mutating func leave(at now: Instant) -> [Effect] {
        guard state == .on else { return [] }
        goneSince = now
        return show(.resetting)
    }

    private func mayComeBack(at now: Instant) -> Bool {
        goneSince.map { $0.duration(to: now) < Self.grace } ?? false
    }

    private mutating func isWorthAReset(at now: Instant) -> Bool {
        hardwareErrors.removeAll { $0.duration(to: now) >= .seconds(60) }
        hardwareErrors.append(now)
        return hardwareErrors.count <= Self.mostHardwareErrors
    }

    private mutating func pause(at now: Instant) -> Duration {
        if let readyAt, readyAt.duration(to: now) >= Self.longestPause { failures = 0 }
        readyAt = nil
        failures += 1
        return min(Self.longestPause, .seconds(1 << min(failures - 1, 6)))
    }

    /// What is shown already needs no second time.
    private mutating func show(_ new: AdapterState) -> [Effect] {
        guard new != shown else { return [] }
        shown = new
        return [.show(new)]
    }
}
