package import BluetoothTypes
import EventLoop
import Host
package import HostInterface

/// Plays a script on a simulated host, through the same requests and events as any client of it.
package final class ScriptedPeripheral: @unchecked Sendable {
    // `@unchecked`: everything below is touched on the world's loop alone.
    private let script: PeripheralScript
    private let owner: HostedDevice
    private let onTell: (String, [UInt8]?) -> Void

    private var client: ClientID?
    /// How often the power was lost: an alarm of an earlier life is stale.
    private var boots = 0
    private var nextNumber: UInt64 = 1
    private var toPublish: ArraySlice<ServiceDefinition> = []
    private var publishing: RequestNumber?
    private var stopping: RequestNumber?
    private var uuids: [AttributeHandle: BluetoothUUID] = [:]
    private var handles: [BluetoothUUID: AttributeHandle] = [:]
    private var values: [BluetoothUUID: [UInt8]]
    private var subscribers: [BluetoothUUID: Set<PeerID>] = [:]
    /// Each series has its count of values given, and the number of its current run: an older run's alarm is stale.
    private var progress: [(values: Int, run: Int)]

    /// Every value that a peer wrote and that was accepted, in order.
    package private(set) var writes: [(characteristic: BluetoothUUID, value: [UInt8])] = []
    /// How often each characteristic was subscribed.
    package private(set) var subscriptions: [BluetoothUUID: Int] = [:]
    /// Every value that was notified, in order.
    package private(set) var notified: [(characteristic: BluetoothUUID, value: [UInt8])] = []
    /// Whether its time on the air is over.
    package private(set) var hasStoppedAdvertising = false
    /// Which centrals have used this peripheral.
    package private(set) var centrals: Set<PeerID> = []
    /// The fixed and current values, as a peer would read them.
    package func value(of characteristic: BluetoothUUID) -> [UInt8]? { values[characteristic] }

    /// On which device it plays.
    package var device: HostedDevice { owner }

    /// - Parameters:
    ///   - owner: the device on whose host it plays. Its power is the script's: it starts anew when power comes back.
    ///   - onTell: takes what the device does that is not on the air, with the octets it is about.
    package init(
        _ script: PeripheralScript, on owner: HostedDevice, onTell: @escaping (String, [UInt8]?) -> Void = { _, _ in }
    ) {
        self.script = script
        self.owner = owner
        self.onTell = onTell
        values = script.values
        progress = script.series.map { _ in (0, 0) }
    }

    /// Begins to play.
    package func start() {
        // The device keeps its script alive.
        owner.device.onPowerChange = { [self] isOn in
            forgetLinks()
            if isOn { attach() }
        }
        attach()
    }

    private func attach() {
        owner.withHost { host in
            client = host.attach(
                { [weak self, world] event in world.enqueue { [weak self] _ in self?.handle(event) } }, at: world.now)
        }
    }

    /// What is lost with the power: everything but the values.
    private func forgetLinks() {
        client = nil
        boots += 1
        uuids = [:]
        handles = [:]
        subscribers = [:]
        for index in progress.indices { progress[index].run += 1 }
    }

    private var world: World { owner.device.world }

    /// Something that the device does, for whoever watches.
    package func tell(_ what: String, _ bytes: [UInt8]? = nil) { onTell(what, bytes) }

    /// Changes a value and tells those who are subscribed.
    package func notify(_ value: [UInt8], of characteristic: BluetoothUUID) {
        values[characteristic] = value
        guard let handle = handles[characteristic], subscribers[characteristic]?.isEmpty == false else { return }
        notified.append((characteristic, value))
        submit(.notify(handle, value: value, to: nil))
    }

    /// Changes values after a while, if the power lasts so long, and tells those who are subscribed.
    package func set(_ changes: [(characteristic: BluetoothUUID, value: [UInt8])], after delay: Duration) {
        let boot = boots
        world.schedule(after: delay) { [weak self] in
            guard let self, boots == boot else { return }
            for change in changes { notify(change.value, of: change.characteristic) }
        }
    }

    /// Loses its power a moment from now, so that what it was asked is still answered, and comes back.
    package func restart(awayFor pause: Duration, _ changes: @escaping (ScriptedPeripheral) -> Void) {
        world.schedule(after: .milliseconds(500)) { [weak self] in
            guard let self else { return }
            owner.device.removeFromAir()
            world.schedule(after: pause) { [weak self] in
                guard let self else { return }
                owner.device.returnToAir()
                changes(self)
            }
        }
    }

    /// Something goes wrong with it from now on.
    package func addFault(_ fault: SimulatedFault) { owner.faults.begin(fault) }

    @discardableResult
    private func submit(_ request: HostRequest) -> RequestNumber {
        let number = RequestNumber(nextNumber)
        nextNumber += 1
        if let client { owner.withHost { $0.submit(request, number: number, client: client, at: world.now) } }
        return number
    }
}

// MARK: - Events

extension ScriptedPeripheral {
    private func handle(_ event: HostEvent) {
        switch event {
        case .state(.poweredOn):
            // Services outlive the radio's being off.
            if handles.isEmpty {
                toPublish = script.services[...]
                publishNext()
                begin()
            } else {
                advertise()
            }
        case .answer(let number, .success(.published(let service))) where number == publishing:
            published(service)
        case .answer(let number, .success(.done)) where number == stopping: hasStoppedAdvertising = true
        case .readRequested(let request): read(request)
        case .writeRequested(let request): write(request)
        case .subscribed(let peer, let handle, _): subscribed(peer, handle)
        case .unsubscribed(let peer, let handle):
            guard let characteristic = uuids[handle] else { return }
            subscribers[characteristic]?.remove(peer)
        case .state, .answer, .peerKnown, .discovered, .disconnected, .mtuChanged, .notified, .nameChanged,
            .servicesChanged, .periodicReport, .synchronizationLost, .centralMTUChanged, .channelOpened,
            .channelReceived, .channelClosed,
            .security:
            break
        }
    }

    /// What happens by itself since the power is there.
    private func begin() {
        for step in script.timeline { set([(step.characteristic, step.value)], after: step.after) }
        for index in script.series.indices where script.series[index].runsAlways {
            progress[index].run += 1
            arm(index, run: progress[index].run)
        }
    }

    private func publishNext() {
        guard let next = toPublish.first else { return advertise() }
        publishing = submit(.addService(next))
    }

    private func published(_ service: PublishedService) {
        let definition = toPublish.removeFirst()
        for (characteristic, handle) in zip(definition.characteristics, service.characteristics) {
            uuids[handle] = characteristic.uuid
            handles[characteristic.uuid] = handle
        }
        publishNext()
    }

    private func advertise() {
        submit(.startAdvertising(script.advertisement))
        guard let advertisingTime = script.advertisingTime else { return }
        let boot = boots
        world.schedule(after: advertisingTime) { [weak self] in
            guard let self, boots == boot else { return }
            stopping = submit(.stopAdvertising)
        }
    }

    private func read(_ request: ServerReadRequest) {
        centrals.insert(request.central)
        guard let characteristic = uuids[request.characteristic], !script.mute.contains(characteristic) else { return }
        let value = values[characteristic] ?? []
        let isInside = request.offset <= value.count
        // 0x07 is Invalid Offset.
        submit(
            .respond(
                request.id, errorCode: isInside ? 0 : 0x07,
                value: isInside ? Array(value.dropFirst(request.offset)) : []))
    }

    private func write(_ request: ServerWriteRequest) {
        centrals.insert(request.central)
        var errorCode: UInt8 = 0
        for part in request.parts where errorCode == 0 {
            guard let characteristic = uuids[part.characteristic], !script.mute.contains(characteristic) else { return }
            var value = part.value
            if part.offset > 0 { value = Array((values[characteristic] ?? []).prefix(part.offset)) + value }
            errorCode = script.reactions[characteristic]?(self, value) ?? 0
            guard errorCode == 0 else { continue }
            values[characteristic] = value
            writes.append((characteristic, value))
        }
        submit(.respond(request.id, errorCode: errorCode, value: []))
        guard script.notifiesWrites, errorCode == 0 else { return }
        for part in request.parts {
            guard let characteristic = uuids[part.characteristic], let value = values[characteristic] else { continue }
            notify(value, of: characteristic)
        }
    }

    private func subscribed(_ peer: PeerID, _ handle: AttributeHandle) {
        guard let characteristic = uuids[handle] else { return }
        centrals.insert(peer)
        subscriptions[characteristic, default: 0] += 1
        let isFirst = subscribers[characteristic, default: []].isEmpty
        subscribers[characteristic, default: []].insert(peer)
        guard isFirst else { return }
        for index in script.series.indices
        where script.series[index].characteristic == characteristic && !script.series[index].runsAlways {
            progress[index].run += 1
            arm(index, run: progress[index].run)
        }
    }

    private func arm(_ index: Int, run: Int) {
        world.schedule(after: script.series[index].interval) { [weak self] in self?.advance(index, run: run) }
    }

    private func advance(_ index: Int, run: Int) {
        let series = script.series[index]
        guard progress[index].run == run else { return }
        guard series.runsAlways || subscribers[series.characteristic]?.isEmpty == false else { return }
        let value = series.value(progress[index].values)
        progress[index].values += 1
        if let meaning = series.meaning(value) { tell(meaning, value) }
        notify(value, of: series.characteristic)
        arm(index, run: run)
    }
}
