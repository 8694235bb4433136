public import CoreBluetooth

/// Who listens to one characteristic on one link. The peer is subscribed to while somebody does.
// `@unchecked`: the lock of the central guards the variables.
final class Subscription: @unchecked Sendable {
    let characteristic: CBCharacteristic
    var listeners: [EventSource<Data>] = []
    /// Whether a request to switch is waiting or on its way.
    var isSwitching = false
    /// A peer that refuses to unsubscribe us is not asked again.
    var wasSwitchedOff = false

    init(_ characteristic: CBCharacteristic) { self.characteristic = characteristic }

    func finish(_ error: any Error) {
        let ended = listeners
        listeners.removeAll()
        for listener in ended { listener.finish(error) }
    }
}

extension RemotePeripheral {
    /// Subscribes, and returns the values that come: notifications, or indications if there is nothing else. With the
    /// last stream of a characteristic the subscription ends; with the link the streams throw
    /// ``ToolkitError/linkEnded(_:)``.
    public func values(
        of characteristic: RemoteCharacteristic, buffer: BufferPolicy = .newest(256),
        within limit: Duration? = Central.defaultLimit
    ) async throws -> Events<Data> {
        try Task.checkCancellation()
        let object = characteristic.characteristic
        let identity = ListenerIdentity()
        let (events, source) = EventSource<Data>.make(buffer) { [weak self] in
            if let listener = identity.listener { self?.remove(listener, from: object) }
        }
        identity.listener = source
        let call = Call<Request.Answer>()
        try lock.withLock {
            try checkLink()
            try checkCurrent(characteristic.linkNumber)
            let subscription = subscription(makingFor: object)
            subscription.listeners.append(source)
            if object.isNotifying, !subscription.isSwitching {
                call.end(.success(.none))
            } else {
                switchOn(subscription, call)
            }
        }
        do {
            _ = try await call.value(within: limit, by: time)
            return events
        } catch {
            remove(source, from: object)
            throw error
        }
    }

    private func switchOn(_ subscription: Subscription, _ call: Call<Request.Answer>?) {
        subscription.isSwitching = true
        let object = subscription.characteristic
        let isOn = call != nil
        subscription.wasSwitchedOff = !isOn
        enqueue(
            Request(Request.Key(.subscription, object), call: call) { $0.setNotifyValue(isOn, for: object) })
    }

    private func subscription(of characteristic: CBCharacteristic) -> Subscription? {
        subscriptions.first { $0.characteristic === characteristic }
    }

    private func subscription(makingFor characteristic: CBCharacteristic) -> Subscription {
        if let known = subscription(of: characteristic) { return known }
        let made = Subscription(characteristic)
        subscriptions.append(made)
        return made
    }

    private func remove(_ listener: EventSource<Data>, from characteristic: CBCharacteristic) {
        lock.withLock {
            guard let subscription = subscription(of: characteristic) else { return }
            subscription.listeners.removeAll { $0 === listener }
            // A request that has not gone on the air yet need not.
            let key = Request.Key(.subscription, characteristic)
            requests.removeAll { !$0.isOnItsWay && $0.key == key && $0.call?.isOver == true }
            reconcileSubscriptions()
        }
        listener.finish()
    }

    /// Makes what the peer does agree with who listens.
    func reconcileSubscriptions() {
        guard phase == .connected else { return }
        for subscription in subscriptions {
            let key = Request.Key(.subscription, subscription.characteristic)
            let isAsked = requests.contains { $0.key == key }
            subscription.isSwitching = isAsked
            guard !isAsked, subscription.listeners.isEmpty else { continue }
            if subscription.characteristic.isNotifying, !subscription.wasSwitchedOff {
                switchOn(subscription, nil)
            } else {
                subscriptions.removeAll { $0 === subscription }
            }
        }
    }

    /// A value has come: the answer to a read, or a notification.
    func updated(_ characteristic: CBCharacteristic, _ error: (any Error)?) {
        let listeners = lock.withLock { () -> [EventSource<Data>] in
            let answer: Result<Request.Answer, any Error> =
                error.map { .failure($0) } ?? .success(.data(characteristic.value ?? Data()))
            answered(Request.Key(.read, characteristic), answer)
            guard error == nil else { return [] }
            return subscription(of: characteristic)?.listeners ?? []
        }
        guard let value = characteristic.value else { return }
        for listener in listeners { listener.send(value) }
    }
}

/// A stream's listener, for the stream's own end.
// `@unchecked`: set once, before the stream is handed out.
private final class ListenerIdentity: @unchecked Sendable {
    weak var listener: EventSource<Data>?
}
