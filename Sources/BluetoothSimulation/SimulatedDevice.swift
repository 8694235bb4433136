import Backends
import BluetoothTypes
import CoreBluetooth
import EventLoop
import Host
import HostInterface
package import Simulation

/// A device of a ``BluetoothWorld``: a phone, a lock, whatever its programs make of it.
public final class SimulatedDevice {
    /// Its GAP Device Name.
    public let name: String
    /// `AA:BB:CC:DD:EE:FF`.
    public let address: String
    let hosted: HostedDevice
    /// The device itself, for tools of this package that look deeper.
    package var simulated: Device { hosted.device }
    /// What its Bluetooth is busy with, in words.
    package var business: [String] { hosted.business }
    let radio: SimulatedRadio
    let executor: WorldExecutor
    let programs: ProgramList

    convenience init(
        _ name: String, address: DeviceAddress, at position: BluetoothWorld.Position, mtu: UInt16,
        in world: BluetoothWorld, reports: ReportList
    ) {
        var configuration = HostConfiguration()
        configuration.deviceName = name
        configuration.preferredMTU = mtu
        configuration.readsOverflowArea = true
        let hosted = HostedDevice(
            in: world.world, name: name, address: address, position: Simulation.Position(position),
            host: configuration)
        self.init(hosted, name, in: world, reports: reports)
    }

    /// A device that is there already.
    init(_ hosted: HostedDevice, _ name: String, in world: BluetoothWorld, reports: ReportList) {
        self.name = name
        self.hosted = hosted
        address = hosted.device.address.description
        executor = WorldExecutor(world.world)
        programs = world.programs
        let report: @Sendable (String) -> Void = { [world = world.world] text in
            reports.append(BluetoothWorld.Report(time: world.timeForAnyThread.sinceStart, device: name, text: text))
        }
        radio = SimulatedRadio(device: hosted, runsOnTheWorldsLoop: true, onReport: report)
        hosted.onAdvice = { report("[BluetoothSimulation] \($0)") }
    }

    /// Runs a piece of a program on this device: managers made in it, or in callbacks of such managers, use this
    /// device's radio.
    public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        try SessionProvider.with(radio, body)
    }

    /// Where it is. Setting it carries the device there at once; see ``move(to:speed:)`` for walking.
    public var position: BluetoothWorld.Position {
        get { BluetoothWorld.Position(hosted.device.position) }
        set { hosted.device.move(to: Simulation.Position(newValue)) }
    }

    /// Switches Bluetooth on or off, as a person does in the settings.
    public func setBluetooth(on isOn: Bool) { hosted.setPowered(isOn) }

    /// Silences the device in the middle of a bit. Its programs are dead; so is what its radio knew.
    public func removeBattery() {
        radio.endProgram()
        hosted.device.removeFromAir()
    }

    /// Gives it power again. Programs must be started anew by ``run(_:)``.
    public func insertBattery() { hosted.device.returnToAir() }
}
