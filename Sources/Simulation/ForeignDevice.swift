package import BluetoothTypes
import EventLoop
import VirtualController

/// A device of a world whose host is elsewhere, behind a line that carries HCI packets in their H4 form.
///
/// It belongs to the world's thread.
package final class ForeignDevice {
    private let device: Device
    private var send: (([UInt8]) -> Void)?

    /// - Parameters:
    ///   - aclLength: octets of one ACL data packet, at least 27.
    ///   - aclCount: how many of those its controller holds at once.
    ///   - onPacket: takes what its controller has for the host.
    package init(
        in world: World, name: String, address: DeviceAddress, position: Position, aclLength: UInt16, aclCount: UInt8,
        onPacket: @escaping ([UInt8]) -> Void
    ) {
        var configuration = ControllerConfiguration(address: address)
        configuration.aclLength = aclLength
        configuration.aclCount = aclCount
        device = world.addDevice(name: name, address: address, position: position, configuration: configuration)
        device.attach { [unowned self] send in
            self.send = send
            return Line(onPacket)
        }
    }

    /// Takes one packet from the host.
    package func receive(_ packet: [UInt8]) { send?(packet) }

    /// Takes the device out of the world, as if it had been destroyed. Called once; nothing comes out any more.
    package func remove() {
        send = nil
        device.world.removeDevice(device)
    }

    private final class Line: HCIHost {
        private let onPacket: ([UInt8]) -> Void
        init(_ onPacket: @escaping ([UInt8]) -> Void) { self.onPacket = onPacket }
        var deadline: Instant? { nil }
        func receive(_ packet: [UInt8], at now: Instant) { onPacket(packet) }
        func wake(at now: Instant) {}
    }
}
