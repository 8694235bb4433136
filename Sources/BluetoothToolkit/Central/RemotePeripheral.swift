public import CoreBluetooth

/// A device that this one uses as a central, for async code. There is one object for each device and ``Central``; the
/// link lasts as long as somebody holds it and ``disconnect(within:)`` is not called.
///
///     idle --connect--> connecting --didConnect--> connected --disconnect, last caller gone--> ending --> idle
///      ^                    |                          |                                        |
///      +--- failed, lost, radio off -------------------+               connecting, if somebody waits
// `@unchecked`: `central.lock` guards the variables.
public final class RemotePeripheral: @unchecked Sendable {
    enum Phase {
        case idle, connecting, connected, ending
    }

    public let central: Central
    let peripheral: CBPeripheral
    private let relay = PeripheralRelay()
    private(set) var phase = Phase.idle {
        didSet { central.note(self, isEnding: phase == .ending) }
    }
    /// Which link it is: what was discovered on an earlier one is void.
    private(set) var linkNumber = 0
    /// Who wants the link.
    private var connectCalls: [Call<Void>] = []
    /// Who waits until the link has ended.
    private var endCalls: [Call<LinkEnd>] = []
    /// Requests to the peer, one after the other; the first one may be on its way.
    var requests: [Request] = []
    /// Who waits for room for a write without response.
    var roomCalls: [Call<Void>] = []
    var subscriptions: [Subscription] = []

    init(_ peripheral: CBPeripheral, of central: Central) {
        self.peripheral = peripheral
        self.central = central
        relay.owner = self
        peripheral.delegate = relay
    }

    deinit { central.released(peripheral.identifier) }

    var lock: NSRecursiveLock { central.lock }
    /// By which its deadlines go.
    public var time: Timekeeper { central.time }

    /// This host's own name for the device; not its address.
    public var identifier: UUID { peripheral.identifier }
    public var name: String? { peripheral.name }
    /// For tools of this package that show more than Apple's API tells.
    package var coreBluetoothPeripheral: CBPeripheral { peripheral }
    public var isConnected: Bool { lock.withLock { phase == .connected } }

    /// How many octets one write can carry: 0 without a link.
    public func maximumWriteLength(for type: CBCharacteristicWriteType) -> Int {
        peripheral.maximumWriteValueLength(for: type)
    }

    // MARK: Connecting

    /// Returns when there is a link. Several callers may wait for the same one; if the last of them is cancelled or out
    /// of time, the attempt ends too.
    ///
    /// - Throws: ``ToolkitError/linkEnded(_:)`` with the cause if it cannot be made.
    public func connect(within limit: Duration? = Central.defaultLimit) async throws {
        try Task.checkCancellation()
        let call = Call<Void>()
        try lock.withLock {
            guard central.state == .poweredOn else { throw ToolkitError.radioUnavailable(central.state) }
            switch phase {
            case .connected: call.succeed()
            case .connecting, .ending: connectCalls.append(call)
            case .idle:
                connectCalls.append(call)
                begin()
            }
        }
        defer { lock.withLock { giveUp(call) } }
        try await call.value(within: limit, by: time)
    }

    private func begin() {
        phase = .connecting
        central.manager.connect(peripheral)
    }

    /// Takes a caller away; with the last one the attempt is taken back.
    private func giveUp(_ call: Call<Void>) {
        connectCalls.removeAll { $0 === call }
        guard phase == .connecting, connectCalls.isEmpty else { return }
        phase = .ending
        central.manager.cancelPeripheralConnection(peripheral)
    }

    func connected() {
        lock.withLock {
            // After a cancel its own answer counts.
            guard phase == .connecting else { return }
            phase = .connected
            linkNumber += 1
            let callers = connectCalls
            connectCalls.removeAll()
            var isWanted = false
            for call in callers { isWanted = call.succeed() || isWanted }
            if !isWanted { end() }
        }
    }

    // MARK: Disconnecting

    /// Ends the link, or the attempt, and returns when that has happened. What is open on it throws
    /// ``ToolkitError/linkEnded(_:)`` with `.requested`.
    public func disconnect(within limit: Duration? = Central.defaultLimit) async throws {
        let call = Call<LinkEnd>()
        lock.withLock {
            guard phase != .idle else { return _ = call.end(.success(.requested)) }
            endCalls.append(call)
            end()
        }
        defer { forget(call) }
        _ = try await call.value(within: limit, by: time)
    }

    /// Returns when the link has ended, with the cause; at once if there is none.
    public func waitForEnd() async throws -> LinkEnd {
        try Task.checkCancellation()
        let call = Call<LinkEnd>()
        lock.withLock {
            guard phase != .idle else { return _ = call.end(.success(.requested)) }
            endCalls.append(call)
        }
        defer { forget(call) }
        return try await call.value(within: nil, by: time)
    }

    private func forget(_ call: Call<LinkEnd>) { lock.withLock { endCalls.removeAll { $0 === call } } }

    private func end() {
        guard phase == .connecting || phase == .connected else { return }
        phase = .ending
        fail(.requested)
        let callers = connectCalls
        connectCalls.removeAll()
        for call in callers { call.fail(ToolkitError.linkEnded(.requested)) }
        central.manager.cancelPeripheralConnection(peripheral)
    }

    /// CoreBluetooth says that the link, or the attempt, is over.
    func ended(_ cause: LinkEnd) {
        lock.withLock {
            switch phase {
            case .idle: return
            case .ending:
                // Who came while the one before was ending wants another.
                phase = .idle
                tellEnd(.requested)
                connectCalls.removeAll(where: \.isOver)
                if !connectCalls.isEmpty { begin() }
            case .connecting, .connected: over(cause, ToolkitError.linkEnded(cause))
            }
        }
    }

    /// The radio has gone: CoreBluetooth ends everything, and tells nothing of it.
    func radioGone(_ state: CBManagerState) {
        guard phase != .idle else { return }
        over(.radioUnavailable(state), ToolkitError.radioUnavailable(state))
    }

    private func over(_ cause: LinkEnd, _ error: ToolkitError) {
        phase = .idle
        fail(cause)
        let callers = connectCalls
        connectCalls.removeAll()
        for call in callers { call.fail(error) }
        tellEnd(cause)
    }

    private func tellEnd(_ cause: LinkEnd) {
        let callers = endCalls
        endCalls.removeAll()
        for call in callers { call.end(.success(cause)) }
    }

    /// Ends all that is open on the link. CoreBluetooth answers none of it any more.
    private func fail(_ cause: LinkEnd) {
        let error = ToolkitError.linkEnded(cause)
        let (requests, rooms, streams) = (self.requests, roomCalls, subscriptions)
        self.requests.removeAll()
        roomCalls.removeAll()
        subscriptions.removeAll()
        for request in requests { request.call?.fail(error) }
        for call in rooms { call.fail(error) }
        for subscription in streams { subscription.finish(error) }
    }

    /// Throws if there is no link.
    func checkLink() throws {
        guard phase == .connected else {
            throw central.state == .poweredOn
                ? ToolkitError.notConnected : ToolkitError.radioUnavailable(central.state)
        }
    }
}

/// The delegate, which CoreBluetooth holds weakly and calls on its queue.
// `@unchecked`: `owner` is set once, before anybody calls.
private final class PeripheralRelay: NSObject, CBPeripheralDelegate, @unchecked Sendable {
    weak var owner: RemotePeripheral?

    private func answer(_ kind: Request.Kind, of object: AnyObject? = nil, _ error: (any Error)?) {
        owner?.answered(Request.Key(kind, object), error.map { .failure($0) } ?? .success(.none))
    }

    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        owner?.servicesChanged(invalidatedServices)
    }

    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        owner?.answered(Request.Key(.rssi, nil), error.map { .failure($0) } ?? .success(.number(RSSI.intValue)))
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) { answer(.services, error) }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        answer(.characteristics, of: service, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        answer(.descriptors, of: characteristic, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        owner?.updated(characteristic, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        answer(.write, of: characteristic, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        answer(.subscription, of: characteristic, error)
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        answer(.read, of: descriptor, error)
    }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {
        answer(.write, of: descriptor, error)
    }

    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        guard let owner else { return }
        if let channel {
            owner.answered(Request.Key(.channel, nil), .success(.channel(Channel(channel, time: owner.time))))
        } else {
            owner.answered(Request.Key(.channel, nil), .failure(error ?? ToolkitError.notConnected))
        }
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { owner?.hasRoom() }
}
