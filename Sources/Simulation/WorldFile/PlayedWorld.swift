import BluetoothTypes
import EventLoop
package import Host
import HostInterface
import VirtualController

/// A world file that is played: its devices in a world, and what is to happen on the world's agenda.
package final class PlayedWorld: @unchecked Sendable {
    // `@unchecked`: it belongs to the thread that runs its world; whoever else holds it only keeps it.
    package struct Device {
        package var entry: WorldFile.Device
        package var hosted: HostedDevice
        /// `nil` for a phone, or the program's device.
        package var peripheral: ScriptedPeripheral?
    }

    package let world: World
    /// Where the program runs.
    package private(set) var program: Device!
    package private(set) var devices: [Device] = []
    private var centrals: [ScriptedCentral] = []

    /// - Parameters:
    ///   - seed: in the place of the file's.
    ///   - onTell: takes what a device does that is not on the air, with the octets it is about.
    ///   - programHost: how the program's host is set up; its name and MTU are the file's.
    package init(
        _ file: WorldFile, seed: UInt64? = nil, programHost: HostConfiguration = HostConfiguration(),
        onTell: @escaping (_ device: String, _ what: String, _ octets: [UInt8]?) -> Void = { _, _, _ in }
    ) {
        world = World(seed: seed ?? file.seed, environment: file.environment)
        program = add(file.program, 0, programHost, onTell)
        for (index, entry) in file.devices.enumerated() {
            devices.append(add(entry, index + 1, HostConfiguration(), onTell))
        }
        for device in [program!] + devices { plan(device) }
        for entry in file.interference { plan(entry) }
        for device in devices { start(device, onTell) }
    }

    deinit {
        // Device and script hold each other.
        for device in devices { device.hosted.device.onPowerChange = nil }
    }

    private func add(
        _ entry: WorldFile.Device, _ number: Int, _ configuration: HostConfiguration,
        _ onTell: @escaping (String, String, [UInt8]?) -> Void
    ) -> Device {
        // Locally administered (IEEE 802, 8.2.2), in the order of the file.
        let address = entry.address ?? DeviceAddress(0x0200_0000_0001 + UInt64(number))
        var controller = ControllerConfiguration(address: address)
        controller.transmitPower = entry.transmitPower
        controller.packetsPerEvent = entry.packetsPerEvent
        controller.maxLinks = entry.links
        var configuration = configuration
        configuration.deviceName = entry.name
        configuration.preferredMTU = entry.mtu
        let hosted = HostedDevice(
            in: world, name: entry.name, address: address, position: entry.position, controller: controller,
            host: configuration)
        hosted.device.antenna = entry.antenna
        hosted.policy = entry.policy
        let tell = { (what: String, octets: [UInt8]?) in onTell(entry.name, what, octets) }
        let script: PeripheralScript? =
            switch entry.role {
            case .profile(let profile): profile.script
            case .ready(let kind): kind.script(name: entry.name, address: address)
            case .central, nil: nil
            }
        return Device(
            entry: entry, hosted: hosted, peripheral: script.map { ScriptedPeripheral($0, on: hosted, onTell: tell) })
    }

    private func start(_ device: Device, _ onTell: @escaping (String, String, [UInt8]?) -> Void) {
        device.peripheral?.start()
        if case .ready(let kind) = device.entry.role {
            for (fault, probability) in kind.faults { device.hosted.faults.begin(fault, probability: probability) }
        }
        guard case .central(let steps, let repeats) = device.entry.role else { return }
        let name = device.entry.name
        let central = ScriptedCentral(
            steps, repeats: repeats, on: device.hosted,
            resolve: { [unowned self] name in
                devices.first { $0.entry.name == name }?.hosted.device.address
            }, onTell: { onTell(name, $0, $1) })
        centrals.append(central)
        central.start()
    }

    // MARK: The agenda

    private func plan(_ device: Device) {
        let hosted = device.hosted
        for entry in device.entry.faults {
            at(entry.at) { hosted.faults.begin(entry.fault, probability: entry.probability) }
            if let length = entry.length { at(entry.at + length) { hosted.faults.end(entry.fault) } }
        }
        for (time, event) in device.entry.events { at(time) { Self.carryOut(event, on: hosted) } }
        guard !device.entry.path.isEmpty else { return }
        hosted.device.move(
            along: device.entry.path.map { Waypoint($0.position, arrival: Instant(sinceStart: $0.at)) })
    }

    private func at(_ time: Duration, _ action: @escaping () -> Void) {
        if time == .zero { action() } else { world.schedule(at: Instant(sinceStart: time), action) }
    }

    private func plan(_ entry: WorldFile.Interference) {
        var number: Int?
        at(entry.at) { [weak self] in number = self?.world.addInterferer(entry.interferer) }
        guard let length = entry.length else { return }
        at(entry.at + length) { [weak self] in if let number { self?.world.removeInterferer(number) } }
    }

    private static func carryOut(_ event: WorldFile.Event, on hosted: HostedDevice) {
        switch event {
        case .removeBattery: hosted.device.removeFromAir()
        case .insertBattery: hosted.device.returnToAir()
        case .bluetoothOff: hosted.setPowered(false)
        case .bluetoothOn: hosted.setPowered(true)
        case .bluetoothCrash: hosted.crashBluetooth(for: .seconds(1))
        case .toBackground: hosted.policy.isInBackground = true
        case .toForeground: hosted.policy.isInBackground = false
        case .permit: hosted.policy.permission = .allowed
        case .deny: hosted.policy.permission = .denied
        }
    }
}
