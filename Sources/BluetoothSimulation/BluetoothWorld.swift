import BluetoothTypes
import CoreBluetooth
import EventLoop
import Host
package import Simulation
import Synchronization

/// Devices, the air between them, and a clock of their own, for tests of programs that use CoreBluetooth.
///
///     let world = BluetoothWorld(seed: 7)
///     let lock = world.addDevice("KL940704079")
///     let phone = world.addDevice("Phone", at: .init(x: 3))
///     let lockApp = lock.run { LockApp() }
///     let app = phone.run { SmartLockApp() }
///     world.run(for: .seconds(5))
///     lock.removeBattery()
///
/// Time moves in ``run(for:)`` and ``run(until:within:)`` only, and takes no time: half an hour of radio silence is
/// one step. The same seed and the same program give the same run. Managers whose queue is `nil` call their
/// delegates on the thread that runs the world; other queues are waited for before time moves.
///
/// A world and its devices belong to one thread at a time.
public final class BluetoothWorld {
    /// A line that the module wrote for the app's developer, such as a misuse of the API.
    public struct Report: Sendable {
        /// Since the world began.
        public var time: Duration
        /// The device on which the app runs.
        public var device: String
        /// What the line says.
        public var text: String
    }

    /// A place, in metres.
    public struct Position: Hashable, Sendable {
        /// East of the origin, in metres.
        public var x: Double
        /// North of the origin, in metres.
        public var y: Double
        /// Above the origin, in metres.
        public var z: Double

        /// In metres from the origin.
        public init(x: Double = 0, y: Double = 0, z: Double = 0) {
            self.x = x
            self.y = y
            self.z = z
        }
    }

    /// The world itself, for tools of this package that look deeper.
    package let world: World
    let programs = ProgramList()
    let reportList = ReportList()

    /// The file's world, if it is one, and its devices in the order of the file.
    private let played: PlayedWorld?
    /// Its devices, in the order in which they were added.
    public private(set) var devices: [SimulatedDevice] = []
    private var scripted: [HostedDevice] = []
    /// What devices of the file do and what is on the air, once somebody asks for it.
    private let tellings = Tellings()

    /// - Parameter seed: which of the possible courses of events this world takes.
    public init(seed: UInt64 = 0) {
        world = World(seed: seed)
        played = nil
        WorldRecordings.current?.add(self)
    }

    /// The world of a file: Documentation/Worlds.md has the format.
    ///
    /// - Parameters:
    ///   - path: a path.
    ///   - seed: in the place of the file's.
    /// - Throws: ``WorldFileProblem``, which says what is wrong where.
    public convenience init(contentsOf path: String, seed: UInt64? = nil) throws {
        do { self.init(try WorldFile.read(path), seed: seed) } catch {
            throw WorldFileProblem(description: error.description)
        }
    }

    package init(_ file: WorldFile, seed: UInt64? = nil) {
        let tellings = tellings
        var configuration = HostConfiguration()
        configuration.readsOverflowArea = true
        let played = PlayedWorld(file, seed: seed, programHost: configuration) { device, what, octets in
            tellings.take?(device, what, octets)
        }
        self.played = played
        world = played.world
        devices = played.devices.map { SimulatedDevice($0.hosted, $0.entry.name, in: self, reports: reportList) }
        WorldRecordings.current?.add(self)
    }

    /// The device on which the app of a world file runs: run it by ``SimulatedDevice/run(_:)`` or
    /// ``SimulatedDevice/start(_:)``. A world without a file gets a phone at the origin when it is first asked for.
    public private(set) lazy var program: SimulatedDevice =
        if let played {
            SimulatedDevice(played.program.hosted, played.program.entry.name, in: self, reports: reportList)
        } else {
            addDevice("Phone")
        }

    /// The first device of that name.
    public func device(named name: String) -> SimulatedDevice? { devices.first { $0.name == name } }

    func told(_ device: String, _ what: String, _ octets: [UInt8]?) { tellings.take?(device, what, octets) }

    /// Lets a script play as long as the world lasts.
    func play(_ script: ScriptedPeripheral) {
        scripted.append(script.device)
        script.start()
    }

    /// Is told what devices do that is not on the air.
    package func onTell(_ take: @escaping (_ device: String, _ what: String, _ octets: [UInt8]?) -> Void) {
        tellings.take = take
    }

    deinit {
        // Device and script hold each other.
        for device in scripted { device.device.onPowerChange = nil }
        // Async programs that still wait would wait for ever.
        programs.cancelAll()
        world.run(for: .zero)
    }

    /// How long the world has been running.
    public var now: Duration { world.now.sinceStart }

    /// What the module had to say to the apps' developers, in order.
    public var reports: [Report] { reportList.all }

    /// How likely it is that a receiver misses a packet, besides noise, distance and collisions: 0...1.
    public var packetLoss: Double {
        get { world.environment.packetLoss }
        set { world.environment.packetLoss = newValue }
    }

    /// Adds a device with a Bluetooth radio that is on.
    ///
    /// - Parameters:
    ///   - name: its GAP Device Name.
    ///   - position: where it stands, in metres.
    ///   - address: `AA:BB:CC:DD:EE:FF`; `nil` gives it one of its own.
    ///   - mtu: the largest ATT_MTU that it takes, 23...517. A phone from Apple takes 185.
    public func addDevice(
        _ name: String, at position: Position = Position(), address: String? = nil, mtu: Int = 517
    ) -> SimulatedDevice {
        precondition((23...517).contains(mtu), "An ATT_MTU lies in 23...517.")
        let number = UInt64(world.devices.count + 1)
        // A locally administered address (IEEE 802, 8.2.2) of an otherwise plain form.
        var deviceAddress = DeviceAddress(0x02_00_00_00_00_00 | number)
        if let address {
            guard let parsed = DeviceAddress(address) else {
                preconditionFailure("\(address) is not an address of the form AA:BB:CC:DD:EE:FF.")
            }
            deviceAddress = parsed
        }
        let device = SimulatedDevice(
            name, address: deviceAddress, at: position, mtu: UInt16(mtu), in: self, reports: reportList)
        devices.append(device)
        return device
    }

    /// Lets time pass.
    public func run(for duration: Duration) { world.run(for: duration) }

    /// Lets time pass until `condition` holds, at most for `limit`.
    ///
    /// - Returns: whether it holds. It is checked at each step of a millisecond.
    @discardableResult
    public func run(until condition: () -> Bool, within limit: Duration) -> Bool {
        let end = world.now.advanced(by: limit)
        world.run(for: .zero)
        while !condition() {
            guard world.now < end else { return false }
            world.run(until: min(end, world.now.advanced(by: .milliseconds(1))))
        }
        return true
    }

    /// Does something when the world is as old as `time`.
    public func schedule(at time: Duration, _ action: @escaping () -> Void) {
        world.schedule(at: Instant(sinceStart: time), action)
    }
}

/// What is wrong with a world file: `office.json:12:5: devices[2].position: it must be a list, not a text`.
public struct WorldFileProblem: Error, CustomStringConvertible, Sendable {
    public let description: String
}

/// Who listens to what devices do.
private final class Tellings {
    var take: ((String, String, [UInt8]?) -> Void)?
}

/// Reports come from whatever thread an app calls on.
final class ReportList: Sendable {
    private let list = Mutex<[BluetoothWorld.Report]>([])

    var all: [BluetoothWorld.Report] { list.withLock { $0 } }

    func append(_ report: BluetoothWorld.Report) { list.withLock { $0.append(report) } }
}
