import EventLoop
import Simulation

// What radio waves meet on their way, and how devices move.

extension BluetoothWorld {
    /// What radio waves meet on their way. ``openAir`` unless set.
    public struct Environment: Hashable, Sendable {
        /// How fast the strength falls with distance: 2 in free space, 2.8...3.3 in buildings.
        public var pathLossExponent: Double
        /// What walls and furniture add to or take from the loss: the standard deviation over all pairs of devices and
        /// all places, in dB.
        public var shadowing: Double
        /// After how many metres of movement that is something else.
        public var shadowingDistance: Double
        /// By how many dB, at most, one reception is stronger or weaker than the next.
        public var fading: Double
        /// By how many dB, at most, an RSSI is off.
        public var rssiError: Double
        /// How likely it is that a receiver has no measure of a packet's strength, 0...1. The RSSI is 127 then.
        public var rssiLoss: Double

        /// Nothing in the way: the loss of free space.
        public static let openAir = Environment(Simulation.RadioEnvironment.openAir)
        /// A home with its walls.
        public static let home = Environment(Simulation.RadioEnvironment.home)
        /// An office with its walls.
        public static let office = Environment(Simulation.RadioEnvironment.office)

        fileprivate init(_ environment: Simulation.RadioEnvironment) {
            pathLossExponent = environment.pathLossExponent
            shadowing = environment.shadowing
            shadowingDistance = environment.shadowingDistance
            fading = environment.fading
            rssiError = environment.rssiError
            rssiLoss = environment.rssiLoss
        }
    }

    /// What radio waves meet on their way. It may change while the world runs.
    public var environment: Environment {
        get { Environment(world.environment) }
        set {
            precondition(newValue.pathLossExponent > 0, "The loss grows with distance.")
            precondition(newValue.shadowingDistance > 0, "Shadowing changes over some distance.")
            precondition(newValue.shadowing >= 0 && newValue.fading >= 0 && newValue.rssiError >= 0, "Not below 0 dB.")
            world.environment.pathLossExponent = newValue.pathLossExponent
            world.environment.shadowing = newValue.shadowing
            world.environment.shadowingDistance = newValue.shadowingDistance
            world.environment.fading = newValue.fading
            world.environment.rssiError = newValue.rssiError
            world.environment.rssiLoss = newValue.rssiLoss
        }
    }

    /// A Wi-Fi that is in the way, until it is taken away by ``BluetoothWorld/remove(_:)``.
    public struct WiFi: Hashable, Sendable {
        let number: Int
    }

    /// Adds a Wi-Fi: bursts over the Bluetooth channels that lie within 10 MHz of its centre.
    ///
    /// - Parameters:
    ///   - channel: 1...13.
    ///   - position: where its antenna stands, in metres.
    ///   - dutyCycle: the share of the time in which it sends, 0...1.
    ///   - power: in dBm.
    @discardableResult
    public func addWiFi(
        channel: Int, at position: Position = Position(), dutyCycle: Double, power: Double = 20
    ) -> WiFi {
        precondition((0...1).contains(dutyCycle), "A duty cycle lies in 0...1.")
        return WiFi(
            number: world.addInterferer(
                .wiFi(channel: channel, at: Simulation.Position(position), dutyCycle: dutyCycle, power: power)))
    }

    /// Silences a Wi-Fi.
    public func remove(_ wiFi: WiFi) { world.removeInterferer(wiFi.number) }
}

extension SimulatedDevice {
    /// What a device adds to or takes from the strength of what it sends and hears.
    public struct Antenna: Hashable, Sendable {
        /// In dBi. Small boards have -5...0.
        public var gain: Double
        /// What a body takes that stands in the way, in dB: some 15.
        public var bodyLoss: Double
        /// In which direction the body is; `nil` for a body all around, as in a pocket or a fist.
        public var bodyDirection: BluetoothWorld.Position?

        /// - Parameters:
        ///   - gain: in dBi.
        ///   - bodyLoss: in dB; 0 for no body.
        ///   - bodyDirection: as seen from the device; `nil` for all around.
        public init(gain: Double = 0, bodyLoss: Double = 0, bodyDirection: BluetoothWorld.Position? = nil) {
            self.gain = gain
            self.bodyLoss = bodyLoss
            self.bodyDirection = bodyDirection
        }
    }

    /// Its antenna; with a gain of 0 dBi and no body near unless set.
    public var antenna: Antenna {
        get {
            let antenna = hosted.device.antenna
            return Antenna(
                gain: antenna.gain, bodyLoss: antenna.bodyLoss,
                bodyDirection: antenna.bodyDirection.map(BluetoothWorld.Position.init))
        }
        set {
            hosted.device.antenna = Simulation.Antenna(
                gain: newValue.gain, bodyLoss: newValue.bodyLoss,
                bodyDirection: newValue.bodyDirection.map(Simulation.Position.init))
        }
    }

    /// How many packets its controller sends in one connection event at most; `nil`, unless set, for as many as fit.
    /// Phones have such limits: 4 to 7 packets, say the reports.
    public var packetsPerEvent: Int? {
        get { hosted.device.packetsPerEvent }
        set {
            precondition(newValue.map { $0 >= 1 } ?? true, "Each event has one packet at least.")
            hosted.device.packetsPerEvent = newValue
        }
    }

    /// Lets it go straight to a place, from now on.
    ///
    /// - Parameters:
    ///   - target: where it is to arrive.
    ///   - speed: in metres a second; a person walks at some 1.4.
    /// - Returns: how old the world is when it arrives.
    @discardableResult
    public func move(to target: BluetoothWorld.Position, speed: Double) -> Duration {
        hosted.device.move(to: Simulation.Position(target), speed: speed).sinceStart
    }

    /// Lets it go from where it is to each of the places in turn, straight and at a constant speed.
    ///
    /// - Parameter waypoints: each with how old the world is when the device arrives there, in the order of time.
    public func move(along waypoints: [(position: BluetoothWorld.Position, arrival: Duration)]) {
        precondition(
            zip(waypoints, waypoints.dropFirst()).allSatisfy { $0.arrival <= $1.arrival },
            "Waypoints are in the order of time.")
        hosted.device.move(
            along: waypoints.map {
                Waypoint(Simulation.Position($0.position), arrival: Instant(sinceStart: $0.arrival))
            })
    }
}

extension BluetoothWorld.Position {
    init(_ position: Simulation.Position) { self.init(x: position.x, y: position.y, z: position.z) }
}

extension Simulation.Position {
    init(_ position: BluetoothWorld.Position) {
        precondition(
            position.x.isFinite && position.y.isFinite && position.z.isFinite, "A place is within the world.")
        self.init(x: position.x, y: position.y, z: position.z)
    }
}
