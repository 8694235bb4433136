/// One thing that happened in a demo.
package struct TimelineEntry: Equatable, Sendable {
    package enum Kind: String, Sendable {
        /// A program tells its user something.
        case said
        /// From `actor` over the air to `peer`.
        case sent
        /// At `actor`, from `peer`.
        case received
        /// A device does something of its own.
        case device
        /// The story's hand: a battery taken out, a device carried away.
        case scene
        /// The library warns the program's author.
        case log
    }

    /// Since the demo began.
    package var time: Duration
    package var kind: Kind
    package var actor: String
    package var peer: String?
    package var what: String
    package var bytes: [UInt8]?
    package var meaning: String?

    package init(
        time: Duration, kind: Kind, actor: String, peer: String? = nil, what: String, bytes: [UInt8]? = nil,
        meaning: String? = nil
    ) {
        self.time = time
        self.kind = kind
        self.actor = actor
        self.peer = peer
        self.what = what
        self.bytes = bytes
        self.meaning = meaning
    }
}

/// What happened, in order; whoever listens is told as it happens.
package final class Timeline {
    package private(set) var entries: [TimelineEntry] = []
    private let onEntry: (TimelineEntry) -> Void

    package init(onEntry: @escaping (TimelineEntry) -> Void = { _ in }) { self.onEntry = onEntry }

    package func add(_ entry: TimelineEntry) {
        entries.append(entry)
        onEntry(entry)
    }
}
