import BluetoothSimulation
import BluetoothTypes
import Simulation

/// A tag that only shows itself.
final class ReadyTag {
    let address = "C0:DE:00:00:00:77"
    private let device: HostedDevice
    private let script: ScriptedPeripheral

    init(in world: BluetoothWorld) {
        device = HostedDevice(
            in: world.world, name: "Tag", address: DeviceAddress(0xC0DE_0000_0077), position: Position(x: 2))
        script = ScriptedPeripheral(.tag(company: 0x0499, data: [1, 2, 3]), on: device)
        script.start()
    }

    deinit { device.device.onPowerChange = nil }
}
