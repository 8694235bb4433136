import Simulation
import Synchronization

/// A beginning that many tests share: "pair once, then fork a hundred tests".
///
///     let paired = WorldPrefix(seed: 7) { world in
///         let lock = world.addDevice(.smartLock, "Door", at: .init(x: 2))
///         let app = world.addDevice("Phone").run { LockApp() }
///         world.run(until: { app.isPaired }, within: .seconds(30))
///         return (lock, app)
///     }
///     let (world, (lock, app)) = try paired.branch()      // as often as you like
///
/// A branch is a world of its own, in the state at which the beginning ended. It is made by running the beginning
/// anew, which costs no waiting, for time is simulated, and copies nothing that could be half copied: the app's
/// objects, closures and timers are there as they were. A beginning that does not run to the same octet each time,
/// because the app asks the clock or draws chance of its own, is found out: ``Diverged`` is thrown.
public struct WorldPrefix<Scene>: Sendable {
    /// The beginning ran differently than the first time.
    public struct Diverged: Error, CustomStringConvertible {
        public var description: String {
            "The beginning of this world ran differently than the first time: something in it depends on the clock, on "
                + "chance of its own, or on the order of a Dictionary or a Set."
        }
    }

    /// Of the first run, for all copies.
    private final class First: Sendable {
        private let digest = Mutex<UInt64?>(nil)

        /// Whether `value` is what it was the first time.
        func agrees(with value: UInt64) -> Bool {
            digest.withLock { digest in
                if digest == nil { digest = value }
                return digest == value
            }
        }
    }

    private let seed: UInt64
    private let build: @Sendable (BluetoothWorld) throws -> Scene
    private let first = First()

    /// - Parameters:
    ///   - seed: of the world.
    ///   - build: makes the devices and lets time pass. It runs at each branch, and must do the same each time.
    public init(seed: UInt64 = 0, _ build: @escaping @Sendable (BluetoothWorld) throws -> Scene) {
        self.seed = seed
        self.build = build
    }

    /// A world in which the beginning has happened, and what it made.
    ///
    /// - Throws: ``Diverged``, or what the beginning throws.
    public func branch() throws -> (world: BluetoothWorld, scene: Scene) {
        let world = BluetoothWorld(seed: seed)
        let digest = WorldDigest(of: world.world)
        let scene = try build(world)
        let value = withExtendedLifetime(digest) { digest.value }
        guard first.agrees(with: value) else { throw Diverged() }
        return (world, scene)
    }
}
