package import EventLoop
package import HostInterface

/// Who asked the host something.
package struct ClientID: Hashable, Sendable, Comparable {
    package let rawValue: UInt32
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package static func < (left: ClientID, right: ClientID) -> Bool { left.rawValue < right.rawValue }
}

/// One client's one request.
package struct RequestKey: Hashable, Sendable {
    package var client: ClientID
    package var number: RequestNumber

    package init(client: ClientID, number: RequestNumber) {
        self.client = client
        self.number = number
    }
}

/// The one gate through which every request ends: reply, error, timeout, disconnect, cancel and power-off compete,
/// and the first one wins.
package struct RequestRegistry {
    package struct Entry: Sendable {
        package var key: RequestKey
        package var request: HostRequest
        package var since: Instant

        func isConnect(of client: ClientID, to peer: PeerID) -> Bool {
            key.client == client && request == .connect(peer)
        }
    }

    private var entries: [RequestKey: Entry] = [:]

    /// What is still waiting, on what, since when; the oldest first.
    package var open: [Entry] {
        entries.values.sorted {
            ($0.since, $0.key.client, $0.key.number.rawValue) < ($1.since, $1.key.client, $1.key.number.rawValue)
        }
    }

    package mutating func begin(_ key: RequestKey, _ request: HostRequest, at now: Instant) {
        let previous = entries.updateValue(Entry(key: key, request: request, since: now), forKey: key)
        precondition(previous == nil, "Request number \(key.number.rawValue) is in use; choose a new one.")
    }

    /// Whether the request was open. It is not any more.
    package mutating func end(_ key: RequestKey) -> Bool { entries.removeValue(forKey: key) != nil }

    package func request(_ key: RequestKey) -> HostRequest? { entries[key]?.request }

    package func isOpen(_ key: RequestKey) -> Bool { entries[key] != nil }

    /// Forgets the requests of a client that has left.
    package mutating func removeAll(of client: ClientID) {
        entries = entries.filter { $0.key.client != client }
    }
}
