import CoreBluetooth

/// Something asked of a peer, which it answers once.
// `@unchecked`: the lock of the central guards what changes.
final class Request: @unchecked Sendable {
    enum Kind {
        case services, characteristics, descriptors, read, write, subscription, rssi, channel
    }

    /// What an answer is told by: CoreBluetooth answers each kind about each object in the order of the questions.
    struct Key: Hashable {
        var kind: Kind
        var object: ObjectIdentifier?

        init(_ kind: Kind, _ object: AnyObject?) {
            self.kind = kind
            self.object = object.map { ObjectIdentifier($0) }
        }
    }

    enum Answer: Sendable {
        case none
        case data(Data)
        case number(Int)
        case channel(Channel)
    }

    let key: Key
    let start: (CBPeripheral) -> Void
    /// Who waits; `nil` if nobody does.
    let call: Call<Answer>?
    var isOnItsWay = false

    init(_ key: Key, call: Call<Answer>?, start: @escaping (CBPeripheral) -> Void) {
        self.key = key
        self.call = call
        self.start = start
    }
}

/// Requests go to CoreBluetooth one after the other, as the Attribute Protocol lets them go to the peer: so a request
/// that is given up before its turn never goes on the air. The answer to one that is given up later is waited for, and
/// thrown away.
extension RemotePeripheral {
    /// - Parameter check: throws if the request makes no sense any more; called with the lock held.
    func ask(
        _ kind: Request.Kind, _ object: AnyObject?, within limit: Duration?, check: () throws -> Void = {},
        start: @escaping (CBPeripheral) -> Void
    ) async throws -> Request.Answer {
        try Task.checkCancellation()
        let call = Call<Request.Answer>()
        let request = Request(Request.Key(kind, object), call: call, start: start)
        try lock.withLock {
            try checkLink()
            try check()
            enqueue(request)
        }
        defer { lock.withLock { giveUp(request) } }
        return try await call.value(within: limit, by: time)
    }

    func enqueue(_ request: Request) {
        requests.append(request)
        startNext()
    }

    private func giveUp(_ request: Request) {
        if !request.isOnItsWay { requests.removeAll { $0 === request } }
    }

    func startNext() {
        guard phase == .connected, let next = requests.first, !next.isOnItsWay else { return }
        if next.call?.isOver == true {
            requests.removeFirst()
            return startNext()
        }
        next.isOnItsWay = true
        next.start(peripheral)
    }

    func answered(_ key: Request.Key, _ answer: Result<Request.Answer, any Error>) {
        lock.withLock {
            guard let first = requests.first, first.isOnItsWay, first.key == key else { return }
            requests.removeFirst()
            first.call?.end(answer)
            if key.kind == .subscription { reconcileSubscriptions() }
            startNext()
        }
    }

    // MARK: Room for writes without response

    func hasRoom() {
        lock.withLock {
            let calls = roomCalls
            roomCalls.removeAll()
            for call in calls { call.succeed() }
        }
    }
}
