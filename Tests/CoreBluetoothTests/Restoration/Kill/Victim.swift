import BluetoothSimulation

/// The lives of one app, which is killed once, at a step, and started again.
///
/// It writes down what each life is told and what it asks for ("> connect"), and remembers what an app would keep on
/// disk.
final class Victim {
    let device: SimulatedDevice
    private let world: BluetoothWorld
    private let fatalStep: String?
    private(set) var lives: [[String]] = [[]]
    private(set) var isDead = false
    private(set) var wordsOfTheDead: [String] = []
    /// Starts the app anew.
    var start: () -> Void = {}

    // What an app keeps on disk.
    var links = 0
    var isUnlocked = false
    var isFinished = false

    /// - Parameter step: at which it is killed, the first time that it comes there; `nil` for a long life.
    init(_ device: SimulatedDevice, in world: BluetoothWorld, killedAt step: String?) {
        self.device = device
        self.world = world
        fatalStep = step
    }

    var wasKilled: Bool { lives.count > 1 || isDead }

    /// Notes a call of life number `life`, and that the app has come to this step.
    ///
    /// - Returns: false if it is dead now: it does nothing more.
    func told(_ entry: String, step: String, in life: Int) -> Bool {
        guard life == lives.count - 1, !isDead else {
            wordsOfTheDead.append(entry)
            return false
        }
        lives[life].append(entry)
        return reached(step, in: life)
    }

    /// Asks for something, if it lives, and notes it.
    ///
    /// - Returns: as `told` does.
    @discardableResult
    func asks(_ entry: String, step: String, in life: Int, _ call: () -> Void) -> Bool {
        guard life == lives.count - 1, !isDead else { return false }
        lives[life].append("> \(entry)")
        call()
        return reached(step, in: life)
    }

    @discardableResult
    func reached(_ step: String, in life: Int) -> Bool {
        guard life == lives.count - 1, !isDead else { return false }
        guard step == fatalStep, !wasKilled else { return true }
        kill()
        return false
    }

    func kill() {
        isDead = true
        device.killApp()
        world.schedule(at: world.now + .milliseconds(100)) { [self] in
            lives.append([])
            isDead = false
            start()
        }
    }

    /// What the second life was told before it asked for anything.
    var deliveredByItself: [String] {
        lives.count > 1 ? Array(lives[1].prefix { !$0.hasPrefix(">") }) : []
    }
}
