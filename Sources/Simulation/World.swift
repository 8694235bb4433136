package import BluetoothTypes
package import EventLoop
package import LinkLayer
import Synchronization
package import VirtualController

/// Which way an HCI packet goes.
package enum HCIDirection: Sendable {
    case hostToController, controllerToHost
}

/// What becomes of a fault.
package enum FaultMoment: String, Sendable {
    case begins, ends, strikes
}

/// Devices, the air between them, and a clock of their own. The same seed gives the same run, to the bit.
///
/// Time moves when nobody has anything to do, and only then: when the inbox and all HCI lines are empty and whoever
/// asked by ``beforeTimeMoves(_:)`` has had their say. It then jumps to the earliest deadline of all participants.
/// At one instant scheduled actions come first, then packets that end on the air, then the devices in the order of
/// their numbers, the controller before its host.
///
/// Everything but ``enqueue(_:)`` and ``beforeTimeMoves(_:)`` belongs to the thread that is running the world, or
/// building it before it runs.
package final class World: AdapterLoop, @unchecked Sendable {
    // `@unchecked`: the inbox has its lock; all else is touched by the thread that runs the world alone.
    private struct Inbox {
        var work: [@Sendable (Instant) -> Void] = []
        var settles: [@Sendable () -> Bool] = []
        var wakeUp: (@Sendable () -> Void)?
    }

    private struct Delivery {
        let device: Device
        /// Which of the device's hosts it is from or for.
        let generation: Int
        let direction: HCIDirection
        let packet: [UInt8]
        /// Whether faults of the line have had their say.
        var isFinal = false
        /// Whether it has been held up, if it was to be.
        var isDue = false
    }

    private let inbox = Mutex(Inbox())

    /// The simulated time.
    package private(set) var now = Instant() {
        didSet { if now != oldValue { clock.store(now.nanoseconds, ordering: .relaxed) } }
    }

    /// The same for other threads, in nanoseconds.
    private let clock = Atomic<Int64>(0)

    /// The simulated time, from any thread.
    package var timeForAnyThread: Instant {
        Instant(sinceStart: .nanoseconds(clock.load(ordering: .relaxed)))
    }
    package private(set) var devices: [Device] = []
    /// The numbers of devices that were removed and not replaced yet; the next to be given stands last.
    private var freeNumbers: [Int] = []
    /// Sees each HCI packet of each device, before it is taken in.
    package var hciTap: ((_ at: Instant, _ device: Device, _ direction: HCIDirection, _ packet: [UInt8]) -> Void)?

    /// A fault of the air: changes a packet as it begins, its CRC with it.
    package var airFault: ((inout RadioFrame) -> Void)?

    /// Is called after each step: after what happens at one deadline, and after one piece of work from outside.
    package var stepTap: (() -> Void)?

    /// Is told of the faults of devices' lines: when they are put in and taken out, and each time they strike.
    package var faultTap: ((_ at: Instant, _ device: Device, _ fault: SimulatedFault, _ moment: FaultMoment) -> Void)?

    /// Packets between hosts and controllers that are held up.
    package var lineDelays: LineDelays?

    let medium: Medium
    /// Where a clock outside says the world should be by now; a world without one runs as fast as it can.
    var pace: (() -> Instant)?
    package let seed: UInt64
    private var generator: SeededGenerator
    private var heap = DeadlineHeap()
    // Behind these two come the controller and the host of each device.
    private let actionsParticipant: Int
    private let mediumParticipant: Int
    private var actions = ActionQueue()
    private var deliveries: [Delivery] = []
    /// An empty array to be used again.
    private var spareDeliveries: [Delivery] = []
    private var stepCount = 0
    /// Whether somebody outside may have been told something since the last settling.
    private var isUnsettled = true

    package init(seed: UInt64, environment: RadioEnvironment = RadioEnvironment()) {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        medium = Medium(environment: environment, seed: generator.next())
        actionsParticipant = heap.addParticipant()
        mediumParticipant = heap.addParticipant()
    }

    /// The physics and the faults; they may change in the middle of a run.
    package var environment: RadioEnvironment {
        get { medium.environment }
        set { medium.environment = newValue }
    }

    /// Lets something that is no Bluetooth be loud, from now on.
    ///
    /// - Returns: a number by which it can be taken away.
    @discardableResult
    package func addInterferer(_ interferer: Interferer) -> Int { medium.add(interferer) }

    package func removeInterferer(_ number: Int) { medium.removeInterferer(number) }

    /// How many packets there have been on the air.
    package var packetCount: Int { medium.packetCount }

    /// What there was to deal with: deadlines, receptions, and packets in the way of a reception.
    package var eventCount: Int { stepCount + medium.eventCount }

    /// Sees each packet on the air when it has ended.
    package var airTap: ((AirPacket) -> Void)? {
        get { medium.tap }
        set { medium.tap = newValue }
    }

    // MARK: Watching

    /// Adds somebody who sees what ``hciTap`` sees, after those who are there.
    package func addHCITap(_ tap: @escaping (Instant, Device, HCIDirection, [UInt8]) -> Void) {
        let before = hciTap
        hciTap = { now, device, direction, packet in
            before?(now, device, direction, packet)
            tap(now, device, direction, packet)
        }
    }

    /// The same for ``airTap``.
    package func addAirTap(_ tap: @escaping (AirPacket) -> Void) {
        let before = airTap
        airTap = { packet in
            before?(packet)
            tap(packet)
        }
    }

    /// The same for ``faultTap``.
    package func addFaultTap(_ tap: @escaping (Instant, Device, SimulatedFault, FaultMoment) -> Void) {
        let before = faultTap
        faultTap = { now, device, fault, moment in
            before?(now, device, fault, moment)
            tap(now, device, fault, moment)
        }
    }

    // MARK: Building

    /// - Parameter configuration: of its controller; its address is replaced by `address`.
    @discardableResult
    package func addDevice(
        name: String, address: DeviceAddress, position: Position = Position(),
        configuration: ControllerConfiguration? = nil
    ) -> Device {
        var configuration = configuration ?? ControllerConfiguration(address: address)
        configuration.address = address
        let number = freeNumbers.popLast()
        let participants = number.map { (devices[$0].controllerParticipant, devices[$0].hostParticipant) }
        let device = Device(
            number: number ?? devices.count, name: name, position: position, configuration: configuration, world: self,
            participants: participants ?? (heap.addParticipant(), heap.addParticipant()), generator: generator.split())
        if let number { devices[number] = device } else { devices.append(device) }
        return device
    }

    /// Takes a device away for good: its radio falls silent, and its number goes to a device that is added later.
    package func removeDevice(_ device: Device) {
        precondition(devices[device.number] === device, "A device is removed once, from its own world.")
        device.removeFromAir()
        device.isRemoved = true
        medium.forgetPlaces()
        freeNumbers.append(device.number)
    }

    // MARK: From anywhere

    package func enqueue(_ work: @escaping @Sendable (Instant) -> Void) {
        let wakeUp = inbox.withLock { inbox in
            inbox.work.append(work)
            return inbox.wakeUp
        }
        wakeUp?()
    }

    package func beforeTimeMoves(_ settle: @escaping @Sendable () -> Bool) {
        inbox.withLock { $0.settles.append(settle) }
    }

    /// Calls `wakeUp`, on the enqueuing thread, whenever there is something new in the inbox.
    func onEnqueue(_ wakeUp: (@Sendable () -> Void)?) {
        inbox.withLock { $0.wakeUp = wakeUp }
    }

    // MARK: Time

    /// Does something at an instant, or at once if that has passed.
    @discardableResult
    package func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> ScheduledAction {
        let scheduled = ScheduledAction(deadline: max(deadline, now), action: action)
        actions.insert(scheduled)
        heap.set(actionsParticipant, to: actions.nextDeadline)
        return scheduled
    }

    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> ScheduledAction {
        schedule(at: now.advanced(by: delay), action)
    }

    /// Runs all that happens up to and including `end`, which then is the time.
    package func run(until end: Instant) {
        deliverAll()
        settle()
        while let next = heap.first, next.deadline <= end {
            step(next)
        }
        now = max(now, end)
    }

    package func run(for duration: Duration) { run(until: now.advanced(by: duration)) }

    /// When something will happen by itself; `nil` if the world waits for somebody outside.
    package var nextDeadline: Instant? { heap.first?.deadline }

    private func step(_ next: (participant: Int, deadline: Instant)) {
        stepCount += 1
        now = max(now, next.deadline)
        switch next.participant {
        case actionsParticipant:
            isUnsettled = true
            let action = actions.removeNext()
            heap.set(actionsParticipant, to: actions.nextDeadline)
            action.run()
        case mediumParticipant:
            medium.endNext(at: now)
            heap.set(mediumParticipant, to: medium.deadline)
        default:
            wake(devices[next.participant / 2 - 1], isHost: next.participant % 2 == 1)
        }
        deliverAll()
        stepTap?()
        if let following = heap.first, following.deadline <= now { return }
        settle()
    }

    private func wake(_ device: Device, isHost: Bool) {
        if isHost {
            isUnsettled = true
            device.host?.wake(at: now)
            noteHost(device)
        } else {
            device.controller.wake(at: now)
            noteController(device)
        }
    }

    /// Returns when nobody has anything to do at this instant.
    private func settle() {
        while true {
            let (work, settles) = inbox.withLock { inbox in
                let work = inbox.work
                inbox.work.removeAll(keepingCapacity: true)
                return (work, isUnsettled || !work.isEmpty ? inbox.settles : [])
            }
            if !work.isEmpty {
                catchUp()
                for piece in work {
                    piece(now)
                    deliverAll()
                    stepTap?()
                }
            }
            guard isUnsettled || !work.isEmpty else { return }
            isUnsettled = false
            ask(settles)
        }
    }

    /// Asks all who want to be asked before time moves, and forgets those who do not want it any more.
    private func ask(_ settles: [@Sendable () -> Bool]) {
        var gone: [Int] = []
        for (index, settle) in settles.enumerated() where !settle() { gone.append(index) }
        guard !gone.isEmpty else { return }
        // Others may have come meanwhile, behind these.
        inbox.withLock { inbox in
            for index in gone.reversed() { inbox.settles.remove(at: index) }
        }
    }

    /// Work that came from outside is done at the time that the clock outside shows.
    private func catchUp() {
        guard let pace else { return }
        now = max(now, min(pace(), heap.first?.deadline ?? pace()))
    }

    // MARK: Between the parts of a device

    package func deliver(_ packet: [UInt8], of device: Device, _ direction: HCIDirection) {
        deliveries.append(Delivery(device: device, generation: device.generation, direction: direction, packet: packet))
    }

    /// Puts a packet on a device's line, behind its faults.
    func inject(_ packet: [UInt8], of device: Device, _ direction: HCIDirection) {
        deliveries.append(
            Delivery(
                device: device, generation: device.generation, direction: direction, packet: packet, isFinal: true))
    }

    func note(_ fault: SimulatedFault, of device: Device, _ moment: FaultMoment) {
        faultTap?(now, device, fault, moment)
    }

    private func deliverAll() {
        while !deliveries.isEmpty {
            var batch = spareDeliveries
            spareDeliveries = []
            swap(&batch, &deliveries)
            for delivery in batch { deliver(delivery) }
            batch.removeAll(keepingCapacity: true)
            spareDeliveries = batch
        }
    }

    private func deliver(_ delivery: Delivery) {
        let device = delivery.device
        // The lines of a device without power are empty, and the next host gets nothing of the one before.
        guard device.isOnAir, delivery.generation == device.generation else { return }
        if let lineDelays, !delivery.isDue {
            guard !holds(delivery, lineDelays) else { return }
        }
        guard !delivery.isFinal, let fault = device.hciFault else {
            return takeIn(delivery.packet, delivery.direction, of: device)
        }
        for packet in fault(delivery.direction, delivery.packet) { takeIn(packet, delivery.direction, of: device) }
    }

    /// Whether a packet is held up; it comes later then.
    private func holds(_ delivery: Delivery, _ delays: LineDelays) -> Bool {
        guard let delay = delays.next(delivery.packet, of: delivery.device, delivery.direction, at: now) else {
            return false
        }
        schedule(after: delay) { [unowned self] in
            var due = delivery
            due.isDue = true
            deliveries.append(due)
        }
        return true
    }

    private func takeIn(_ packet: [UInt8], _ direction: HCIDirection, of device: Device) {
        hciTap?(now, device, direction, packet)
        switch direction {
        case .hostToController:
            device.controller.receive(packet, at: now)
            noteController(device)
        case .controllerToHost:
            isUnsettled = true
            device.host?.receive(packet, at: now)
            noteHost(device)
        }
    }

    func transmit(_ frame: RadioFrame, from device: Device) {
        guard device.isOnAir else { return }
        var frame = frame
        airFault?(&frame)
        medium.begin(frame, from: device, at: now)
        heap.set(mediumParticipant, to: medium.deadline)
    }

    func noteController(_ device: Device) { heap.set(device.controllerParticipant, to: device.controller.deadline) }
    func noteHost(_ device: Device) { heap.set(device.hostParticipant, to: device.host?.deadline) }
}
