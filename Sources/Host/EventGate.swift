import HostInterface

/// Keeps the events of a suspended program until it goes on; the open gate passes them at once.
final class EventGate {
    /// Values and advertisements beyond this many are lost: a program may sleep for long.
    private static let capacity = 4096

    private let deliver: (HostEvent) -> Void
    private var held: [HostEvent] = []

    /// When it opens, what was held comes first.
    var isShut = false {
        didSet {
            guard !isShut else { return }
            let due = held
            held = []
            for event in due { deliver(event) }
        }
    }

    init(_ deliver: @escaping (HostEvent) -> Void) { self.deliver = deliver }

    func pass(_ event: HostEvent) {
        guard isShut else { return deliver(event) }
        switch event {
        case .notified, .discovered, .periodicReport: if held.count < Self.capacity { held.append(event) }
        default: held.append(event)
        }
    }
}
