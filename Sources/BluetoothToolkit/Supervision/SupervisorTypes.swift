/// What a ``ConnectionSupervisor`` does.
public enum SupervisionEvent: Sendable, Equatable {
    /// It waits until the device is near.
    case watching
    /// The device is near enough: the average of its signal strength in dBm.
    case near(average: Double)
    case connecting(attempt: Int)
    /// There is a link, and all subscriptions are there again.
    case ready(link: Int)
    case ended(LinkEnd)
    case pausing(Duration)
}

extension ConnectionSupervisor {
    /// How it goes about it.
    public struct Policy: Sendable {
        public var backoff = Backoff()
        /// How long one attempt may take; `nil` waits until the device comes.
        public var attemptLimit: Duration? = .seconds(30)
        /// How long a link must last until the next failure counts as the first again.
        public var settleTime = Duration.seconds(10)
        /// How many failures in a row end it; `nil` is never.
        public var maximumFailures: Int?
        /// Connect when the device is near, and disconnect when it is far; `nil` connects at any distance.
        public var proximity: ProximityMeter.Settings?
        /// How often the signal strength of a link is measured.
        public var measuringInterval = Duration.milliseconds(500)
        /// How long discovery and subscriptions may take on a new link.
        public var setupLimit: Duration? = .seconds(30)

        public init() {}
    }

    /// What it has come through.
    public struct Statistics: Sendable, Equatable {
        public internal(set) var attempts = 0
        public internal(set) var links = 0
        /// Why links ended and attempts failed, in order; the last hundred.
        public internal(set) var ends: [LinkEnd] = []
        /// How long each loss lasted: from the link's end to the next link that was ready; the last hundred.
        public internal(set) var timesToReconnect: [Duration] = []
    }
}
