import Backends
import Simulation
import Storage

/// The app's process: how it ends, and what outlives it.
extension SimulatedDevice {
    /// Ends the app in the middle of whatever it does, as SIGKILL ends a process. Its managers say no goodbye and its
    /// delegates are called no more; its links break as if the device had fallen silent, for with the process ends
    /// the host that served it. Start it anew by ``run(_:)``: managers with a restore identifier find again what they
    /// had.
    ///
    /// What else is left of the app, as timers of its own, is the test's to stop.
    public func killApp() {
        radio.endProgram()
        hosted.device.removeFromAir()
        hosted.device.returnToAir()
    }

    /// Keeps what outlives the app, such as the names of peers and the state of managers, in files of a folder, which
    /// is made if it is missing. By default it is kept in memory, and goes with the world.
    ///
    /// Set it before managers are made.
    ///
    /// - Parameter folder: a path. Only its owner may be able to enter it; a folder that others can enter is not used,
    ///   and a report says so.
    public func keepState(in folder: String) { radio.keepState(in: StateDirectory(path: folder)) }
}
