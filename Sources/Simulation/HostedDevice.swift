package import BluetoothTypes
package import EventLoop
package import Host
package import HostInterface
package import VirtualController

extension Host: HCIHost {}

/// A device of a world with a host of ours on its controller.
///
/// It lives on the world's loop. When its battery has been out, its host starts anew and knows nothing, as after any
/// loss of power; sessions of the host before are dead.
package final class HostedDevice: HostOwner, @unchecked Sendable {
    // `@unchecked`: all but the constants is touched by the thread that runs the world alone.
    package let device: Device
    package let world: World
    private var host: Host?

    package var loop: any AdapterLoop { world }

    /// Adds a device to a world that does not run yet, or from its loop.
    package init(
        in world: World, name: String, address: DeviceAddress, position: Position = Position(),
        controller: ControllerConfiguration? = nil, host configuration: HostConfiguration? = nil
    ) {
        self.world = world
        device = world.addDevice(name: name, address: address, position: position, configuration: controller)
        var configuration = configuration ?? HostConfiguration()
        if configuration.deviceName == HostConfiguration().deviceName { configuration.deviceName = name }
        device.attach { [unowned self, unowned world] send in
            let host = Host(configuration: configuration, send: send)
            self.host = host
            host.powerOn(at: world.now)
            return host
        }
    }

    package func withHost(_ body: (Host) -> Void) {
        guard device.isOnAir, let host else { return }
        body(host)
        world.noteHost(device)
    }

    /// Switches the adapter on or off, as a person does in the settings.
    package func setPowered(_ isOn: Bool) {
        let now = world.now
        withHost { isOn ? $0.powerOn(at: now) : $0.powerOff(at: now) }
    }

    /// Shows the programs on this device a state that the system decides on, such as a missing permission.
    package func forbid(_ state: AdapterState) {
        let now = world.now
        withHost { $0.forbid(state, at: now) }
    }
}
