public import CoreBluetooth

/// This device as a peripheral, for async code: it publishes services, advertises, and serves the centrals that come.
///
/// Every call has a deadline, may be cancelled at any moment, and ends exactly once, also when the radio goes.
// `@unchecked`: `lock` guards the variables. CoreBluetooth is called with it held; it calls back without any lock of
// its own held.
public final class LocalPeripheral: @unchecked Sendable {
    public let time: Timekeeper
    /// What centrals do, for one reader at a time: when the task of one is cancelled, the next one gets what comes from
    /// then on. An unread request is answered with an error when the buffer drops it.
    public var events: Events<LocalEvent> { lock.withLock { stream.events } }
    let lock = NSRecursiveLock()
    let manager: CBPeripheralManager
    private let buffer: BufferPolicy
    private var stream: (events: Events<LocalEvent>, source: EventSource<LocalEvent>)
    private let relay = LocalRelay()
    private var readyCalls: [Call<Void>] = []
    private var additions: [Addition] = []
    private var advertisingCalls: [Call<Void>] = []
    private var offerCalls: [Call<CBL2CAPPSM>] = []
    private var roomCalls: [Call<Void>] = []

    private struct Addition {
        var service: CBMutableService
        var call: Call<Void>
    }

    /// - Parameters:
    ///   - queue: where CoreBluetooth calls back; `nil` means the main queue, and in a simulated world its own loop.
    ///   - time: by which deadlines go.
    ///   - buffer: how many events wait for their reader.
    ///   - options: of the `CBPeripheralManager`, by the keys `CBPeripheralManagerOption…`.
    public init(
        queue: DispatchQueue? = nil, time: Timekeeper = .continuous, buffer: BufferPolicy = .oldest(1024),
        options: [String: Any]? = nil
    ) {
        self.time = time
        self.buffer = buffer
        stream = EventSource<LocalEvent>.make(buffer)
        manager = CBPeripheralManager(delegate: relay, queue: queue, options: options)
        relay.owner = self
        renewStream()
    }

    deinit { stream.source.finish() }

    /// A stream whose reader was cancelled has ended for good.
    private func renewStream() {
        lock.withLock {
            stream = EventSource<LocalEvent>.make(buffer) { [weak self] in self?.renewStream() }
        }
    }

    // MARK: State

    public var state: CBManagerState { manager.state }

    /// Returns when the radio is on. Throws ``ToolkitError/radioUnavailable(_:)`` if it is not within `limit`, and at
    /// once if there is none that this program may use.
    public func waitUntilOn(within limit: Duration? = Central.defaultLimit) async throws {
        try Task.checkCancellation()
        let call = Call<Void>()
        lock.withLock {
            if !settle(call) { readyCalls.append(call) }
        }
        do {
            try await call.value(within: limit, by: time)
        } catch {
            lock.withLock { readyCalls.removeAll { $0 === call } }
            throw error is CancellationError ? error : ToolkitError.radioUnavailable(state)
        }
    }

    private func settle(_ call: Call<Void>) -> Bool {
        switch state {
        case .poweredOn: call.succeed()
        case .unsupported, .unauthorized: call.fail(ToolkitError.radioUnavailable(state))
        default: return false
        }
        return true
    }

    fileprivate func stateChanged() {
        lock.withLock {
            readyCalls.removeAll { settle($0) }
            let state = self.state
            guard state != .poweredOn else { return }
            let calls = additions.map(\.call) + advertisingCalls + roomCalls
            additions.removeAll()
            advertisingCalls.removeAll()
            roomCalls.removeAll()
            for call in calls { call.fail(ToolkitError.radioUnavailable(state)) }
            for call in offerCalls { call.fail(ToolkitError.radioUnavailable(state)) }
            offerCalls.removeAll()
            stream.source.send(.radioGone(state))
        }
    }

    private func checkRadio() throws {
        if state != .poweredOn { throw ToolkitError.radioUnavailable(state) }
    }

    // MARK: Publishing

    /// Publishes a service, and returns when centrals can find it. Advertise afterwards.
    public func publish(
        _ service: LocalService, within limit: Duration? = Central.defaultLimit
    ) async throws -> PublishedService {
        try Task.checkCancellation()
        let made = service.makeService()
        let call = Call<Void>()
        try lock.withLock {
            try checkRadio()
            additions.append(Addition(service: made, call: call))
            manager.add(made)
        }
        do {
            try await call.value(within: limit, by: time)
        } catch {
            lock.withLock {
                // Refused ones have left the list.
                guard let index = additions.firstIndex(where: { $0.call === call }) else { return }
                additions.remove(at: index)
                if state == .poweredOn { manager.remove(made) }
            }
            throw error
        }
        return PublishedService(
            uuid: made.uuid, characteristics: (made.characteristics ?? []).map(PublishedCharacteristic.init),
            service: made)
    }

    fileprivate func added(_ service: CBService, _ error: (any Error)?) {
        lock.withLock {
            guard let index = additions.firstIndex(where: { $0.service === service }) else { return }
            let addition = additions[index]
            // Of a call that was given up, its own end takes the service back.
            guard addition.call.end(error.map { .failure($0) } ?? .success(())) || error != nil else { return }
            additions.remove(at: index)
        }
    }

    /// Takes a service back.
    public func withdraw(_ service: PublishedService) {
        lock.withLock { if state == .poweredOn { manager.remove(service.service) } }
    }

    // MARK: Channels

    /// Offers L2CAP channels, and returns the number under which centrals open them; ``events`` tells of each. Tell
    /// the number by a characteristic: centrals have no other way to learn it.
    ///
    /// - Parameters:
    ///   - isEncrypted: whether a channel needs an encrypted link.
    ///   - limit: how long it may take; `nil` is for ever.
    public func offerChannel(
        isEncrypted: Bool = false, within limit: Duration? = Central.defaultLimit
    ) async throws -> CBL2CAPPSM {
        try Task.checkCancellation()
        let call = Call<CBL2CAPPSM>()
        try lock.withLock {
            try checkRadio()
            offerCalls.append(call)
            manager.publishL2CAPChannel(withEncryption: isEncrypted)
        }
        return try await call.value(within: limit, by: time)
    }

    fileprivate func offered(_ psm: CBL2CAPPSM, _ error: (any Error)?) {
        lock.withLock {
            guard !offerCalls.isEmpty else { return }
            // They are answered in their order; an offer that nobody waits for is taken back.
            let isWanted = offerCalls.removeFirst().end(error.map { .failure($0) } ?? .success(psm))
            if !isWanted, error == nil, state == .poweredOn { manager.unpublishL2CAPChannel(psm) }
        }
    }

    /// Takes an offer back, and closes the channels that were opened by it.
    public func withdrawChannel(_ psm: CBL2CAPPSM) {
        lock.withLock { if state == .poweredOn { manager.unpublishL2CAPChannel(psm) } }
    }

    // MARK: Advertising

    /// Makes this device seen, and returns when it is on the air. It is until ``stopAdvertising()``, with a pause while
    /// the radio is off.
    public func advertise(
        name: String? = nil, services: [CBUUID] = [], within limit: Duration? = Central.defaultLimit
    ) async throws {
        try Task.checkCancellation()
        let call = Call<Void>()
        var content: [String: Any] = [:]
        if let name { content[CBAdvertisementDataLocalNameKey] = name }
        if !services.isEmpty { content[CBAdvertisementDataServiceUUIDsKey] = services }
        try lock.withLock {
            try checkRadio()
            advertisingCalls.append(call)
            manager.startAdvertising(content)
        }
        do {
            try await call.value(within: limit, by: time)
        } catch {
            lock.withLock {
                guard advertisingCalls.contains(where: { $0 === call }) else { return }
                advertisingCalls.removeAll { $0 === call }
                if state == .poweredOn, advertisingCalls.isEmpty { manager.stopAdvertising() }
            }
            throw error
        }
    }

    fileprivate func advertisingAnswered(_ error: (any Error)?) {
        lock.withLock {
            // The answer to a start that was taken back meanwhile is nobody's.
            guard error != nil || manager.isAdvertising, !advertisingCalls.isEmpty else { return }
            let call = advertisingCalls.removeFirst()
            if !call.end(error.map { .failure($0) } ?? .success(())), error == nil { manager.stopAdvertising() }
        }
    }

    public func stopAdvertising() {
        lock.withLock { if state == .poweredOn { manager.stopAdvertising() } }
    }

    public var isAdvertising: Bool { manager.isAdvertising }

    // MARK: Notifying

    /// Sends a value to those who listen to the characteristic, and returns when it is handed to the system: as soon as
    /// there is room.
    ///
    /// - Parameters:
    ///   - value: the new value; what is longer than a central takes is cut for it.
    ///   - characteristic: one of this device's, with the property `notify` or `indicate`.
    ///   - centrals: of those who listen; `nil` means all.
    ///   - limit: how long to wait for room; `nil` is for ever.
    public func notify(
        _ value: Data, of characteristic: PublishedCharacteristic, to centrals: [RemoteCentral]? = nil,
        within limit: Duration? = Central.defaultLimit
    ) async throws {
        try Task.checkCancellation()
        guard let target = characteristic.characteristic as? CBMutableCharacteristic else {
            throw ToolkitError.notFound("characteristic \(characteristic.uuid.uuidString) of this device")
        }
        let deadline = Deadline(limit, by: time)
        while true {
            let call = Call<Void>()
            let isSent = try lock.withLock {
                try checkRadio()
                if manager.updateValue(value, for: target, onSubscribedCentrals: centrals?.map(\.central)) {
                    return true
                }
                roomCalls.append(call)
                return false
            }
            if isSent { return }
            defer { lock.withLock { roomCalls.removeAll { $0 === call } } }
            try await call.value(within: deadline.left, by: time)
        }
    }

    fileprivate func hasRoom() {
        lock.withLock {
            let calls = roomCalls
            roomCalls.removeAll()
            for call in calls { call.succeed() }
        }
    }

    fileprivate func tell(_ event: LocalEvent) { lock.withLock { stream.source }.send(event) }
}

/// The delegate, which CoreBluetooth holds weakly and calls on its queue.
// `@unchecked`: `owner` is set once, before anybody calls.
private final class LocalRelay: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    weak var owner: LocalPeripheral?

    func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) { owner?.stateChanged() }

    func peripheralManagerDidStartAdvertising(_ manager: CBPeripheralManager, error: (any Error)?) {
        owner?.advertisingAnswered(error)
    }

    func peripheralManager(_ manager: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        owner?.added(service, error)
    }

    func peripheralManager(
        _ manager: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        owner?.tell(
            .subscribed(RemoteCentral(central: central), PublishedCharacteristic(characteristic: characteristic)))
    }

    func peripheralManager(
        _ manager: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        owner?.tell(
            .unsubscribed(RemoteCentral(central: central), PublishedCharacteristic(characteristic: characteristic)))
    }

    func peripheralManager(_ manager: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        owner?.tell(.read(ReadRequest(request, of: manager)))
    }

    func peripheralManager(_ manager: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        owner?.tell(.write(WriteRequest(first, all: requests, of: manager)))
    }

    func peripheralManager(
        _ manager: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {
        owner?.offered(PSM, error)
    }

    func peripheralManager(
        _ manager: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
    ) {
        if let owner, let channel { owner.tell(.opened(Channel(channel, time: owner.time))) }
    }

    func peripheralManagerIsReady(toUpdateSubscribers manager: CBPeripheralManager) { owner?.hasRoom() }
}
