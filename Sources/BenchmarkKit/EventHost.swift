import BluetoothTypes
import EventLoop
import HCI
import Simulation
import VirtualController

/// A host that sends what it is told to and hands on what it hears.
final class EventHost: HCIHost {
    unowned let device: Device
    let deadline: Instant? = nil
    var onEvent: ((ControllerEvent, Instant) -> Void)?
    private let sendPacket: ([UInt8]) -> Void

    private init(_ device: Device, send: @escaping ([UInt8]) -> Void) {
        self.device = device
        sendPacket = send
    }

    /// Adds a device with such a host to a world.
    static func add(to world: World, _ address: UInt64, at position: Position) -> EventHost {
        let device = world.addDevice(name: "\(address)", address: DeviceAddress(address), position: position)
        var host: EventHost!
        device.attach { send in
            host = EventHost(device, send: send)
            return host
        }
        host.send(SetEventMask(mask: UInt64.max))
        host.send(LESetEventMask(mask: 0x1F))
        return host
    }

    func send(_ command: some HCICommand) { sendPacket(command.packet) }
    func send(packet: [UInt8]) { sendPacket(packet) }

    func wake(at now: Instant) {}

    func receive(_ packet: [UInt8], at now: Instant) {
        guard let onEvent else { return }
        switch try? HCIPacket(packet) {
        case .event(let code, let parameters):
            if let event = try? ControllerEvent(code: code, parameters: parameters) { onEvent(event, now) }
        case .leEvent(let code, let parameters):
            if let event = try? ControllerEvent(subevent: code, parameters: parameters) { onEvent(event, now) }
        default: break
        }
    }

    // MARK: What experiments need

    /// - Parameters:
    ///   - interval: in units of 0.625 ms.
    ///   - channels: bits 0...2 for the channels 37...39.
    func advertise(
        _ type: LESetAdvertisingParameters.AdvertisingType = .connectable, interval: UInt16, channels: UInt8 = 0b111,
        data: [UInt8] = [2, 1, 6]
    ) {
        var parameters = LESetAdvertisingParameters()
        parameters.intervalMin = interval
        parameters.intervalMax = interval
        parameters.type = type
        parameters.channelMap = channels
        send(parameters)
        send(LESetAdvertisingData(data: data))
        send(LESetAdvertisingEnable(true))
    }

    /// - Parameter interval: how long it stays on a channel, in units of 0.625 ms; it never rests.
    func scan(interval: UInt16, isActive: Bool = false) {
        var parameters = LESetScanParameters()
        parameters.interval = interval
        parameters.window = interval
        parameters.isActive = isActive
        send(parameters)
        send(LESetScanEnable(true))
    }

    func connect(
        to peer: DeviceAddress, scanInterval: UInt16, interval: UInt16, timeout: UInt16
    ) {
        var create = LECreateConnection()
        create.scanInterval = scanInterval
        create.scanWindow = scanInterval
        create.peer = peer
        create.parameters = ConnectionParameterRange(
            intervalMin: interval, intervalMax: interval, latency: 0, supervisionTimeout: timeout)
        send(create)
    }
}
