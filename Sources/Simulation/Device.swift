package import BluetoothTypes
package import EventLoop
import HCI
package import LinkLayer
package import VirtualController

/// One device of a world: a place, an antenna, a controller and, once attached, a host.
///
/// All of it belongs to the thread that runs the world; other threads come in through ``World/enqueue(_:)``.
package final class Device {
    // What is looked at with each packet stands first and together: of many devices, little else is in the cache.

    unowned let world: World
    private var controllerStorage: VirtualController!
    let controllerParticipant: Int
    /// Counted from 0 in the order in which devices were added; the number of a removed device is given anew.
    package let number: Int
    /// Whether it has power.
    package private(set) var isOnAir = true
    // What the medium knows of its receiver.
    var isReceiving = false
    var phy = RadioPHY.le1M
    var channel: UInt8?
    var accessAddress: UInt32 = 0
    var listenerSquare = 0
    var listenerPlace = 0
    /// How many packets it has sent.
    var transmissions: UInt64 = 0
    private var movement: Movement?
    private var restingPosition: Position
    /// In dBm.
    var transmitPower: Double
    /// What it adds to or takes from what it sends and hears.
    package var antenna = Antenna() {
        didSet { world.medium.note(power: transmitPower, gain: antenna.gain) }
    }

    package let name: String
    package let address: DeviceAddress
    /// Whether it is gone for good, and its number perhaps another device's.
    var isRemoved = false
    package private(set) var host: (any HCIHost)?
    /// Called when the battery has been taken out (`false`) or put in (`true`), the new host being attached already.
    package var onPowerChange: ((_ isOn: Bool) -> Void)?
    /// A fault of the line between host and controller: turns each packet into what arrives in its place.
    package var hciFault: ((_ direction: HCIDirection, _ packet: [UInt8]) -> [[UInt8]])?

    package var owningWorld: World { world }
    private var makeHost: ((_ send: @escaping ([UInt8]) -> Void) -> any HCIHost)?
    /// Counts the hosts, so that what an earlier one sends late goes nowhere.
    private(set) var generation = 0
    /// Of its controller: how long its data packets may be, and how many it holds.
    let aclLength: UInt16
    let aclCount: UInt8
    let hostParticipant: Int

    /// Counts how often it came to stand somewhere.
    private(set) var moves = 0

    init(
        number: Int, name: String, position: Position, configuration: ControllerConfiguration, world: World,
        participants: (controller: Int, host: Int), generator: SeededGenerator
    ) {
        self.number = number
        self.name = name
        restingPosition = position
        self.world = world
        address = configuration.address
        transmitPower = Double(configuration.transmitPower)
        aclLength = configuration.aclLength
        aclCount = configuration.aclCount
        (controllerParticipant, hostParticipant) = participants
        controllerStorage = VirtualController(configuration, surroundings: self, generator: generator)
        world.medium.note(power: transmitPower, gain: antenna.gain)
    }

    package var controller: VirtualController { controllerStorage }

    /// Gives the device its host. It is made now, and anew each time the power comes back.
    ///
    /// - Parameter makeHost: gets the closure to which the host hands its packets.
    package func attach(_ makeHost: @escaping (_ send: @escaping ([UInt8]) -> Void) -> any HCIHost) {
        self.makeHost = makeHost
        bootHost()
    }

    private func bootHost() {
        generation += 1
        let current = generation
        host = makeHost? { [unowned self] packet in
            guard current == generation, isOnAir else { return }
            world.deliver(packet, of: self, .hostToController)
        }
        world.noteHost(self)
    }

    /// Takes the battery out: the radio falls silent in the middle of a bit, host and controller forget everything.
    package func removeFromAir() {
        guard isOnAir else { return }
        isOnAir = false
        generation += 1
        host = nil
        controller.powerCycle(at: world.now)
        world.noteController(self)
        world.noteHost(self)
        onPowerChange?(false)
    }

    /// Puts the battery back in: a blank controller, and a new host.
    package func returnToAir() {
        guard !isOnAir, !isRemoved else { return }
        isOnAir = true
        if makeHost != nil { bootHost() }
        onPowerChange?(true)
    }

    /// The fault "controller resets": it forgets everything, and says so (Core 6.0, Vol 4, Part E, 7.7.16).
    package func resetController() {
        guard isOnAir else { return }
        controller.powerCycle(at: world.now)
        controllerSent(HardwareError().packet)
        world.noteController(self)
    }

    /// How many packets its controller sends in one connection event at most; `nil` for as many as fit.
    package var packetsPerEvent: Int? {
        get { controller.configuration.packetsPerEvent }
        set { controller.limitEvents(to: newValue) }
    }

    // MARK: Place

    /// Where it is now.
    package var position: Position {
        guard movement != nil else { return restingPosition }
        if let end = movement?.end, end.arrival <= world.now { rest(at: end.position) }
        return movement?.position(at: world.now) ?? restingPosition
    }

    var isMoving: Bool { movement != nil }

    private func rest(at position: Position) {
        restingPosition = position
        movement = nil
        moves += 1
    }

    /// Carries it elsewhere, at once.
    package func move(to position: Position) {
        rest(at: position)
        world.medium.notePlace(of: self)
    }

    /// Lets it go from where it is to each of the waypoints, straight and at a constant speed. It stays at the last.
    ///
    /// - Parameter waypoints: in the order of their times; those that have passed by now are left out.
    package func move(along waypoints: [Waypoint]) {
        let start = Waypoint(position, arrival: world.now)
        let ahead = waypoints.filter { $0.arrival > world.now }
        guard !ahead.isEmpty else {
            return move(to: waypoints.last?.position ?? start.position)
        }
        movement = Movement([start] + ahead)
        world.medium.notePlace(of: self)
    }

    /// Lets it go straight to a place.
    ///
    /// - Parameter speed: in metres a second; a person walks at some 1.4.
    /// - Returns: when it arrives.
    @discardableResult
    package func move(to target: Position, speed: Double) -> Instant {
        precondition(speed > 0, "A device that does not move does not arrive.")
        let arrival = world.now.advanced(by: .seconds(position.distance(to: target) / speed))
        move(along: [Waypoint(target, arrival: arrival)])
        return arrival
    }

    // MARK: From the medium

    func receptionBegan() {
        controllerStorage.receptionBegan()
        world.noteController(self)
    }

    func received(_ reception: Reception, at now: Instant) {
        controllerStorage.received(reception, at: now)
        world.noteController(self)
    }

    func transmissionEnded(at now: Instant) {
        controllerStorage.transmissionEnded(at: now)
        world.noteController(self)
    }
}

extension Device: ControllerSurroundings {
    package func controllerSent(_ packet: [UInt8]) { world.deliver(packet, of: self, .controllerToHost) }
    package func transmit(_ frame: RadioFrame) { world.transmit(frame, from: self) }
    package func abortTransmission() { world.medium.abort(self) }
    package func listen(channel: UInt8, phy: RadioPHY, accessAddress: UInt32) {
        world.medium.tune(self, channel: channel, phy: phy, accessAddress: accessAddress)
    }
    package func stopListening() { world.medium.untune(self) }
}
