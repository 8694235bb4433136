import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import LinkLayer
import VirtualController

/// A controller on a bench: nobody on the air, and every packet to the host at hand.
final class Bench: ControllerSurroundings {
    private(set) var controller: VirtualController!
    private(set) var now = Instant()
    private var sent: [[UInt8]] = []
    private(set) var frames: [(at: Instant, frame: RadioFrame)] = []
    private(set) var listeningChannel: UInt8?
    private var transmissionEnd: Instant?

    init(_ configuration: ControllerConfiguration = .init(address: DeviceAddress(0x11_2233_4455_66))) {
        controller = VirtualController(configuration, surroundings: self, generator: SeededGenerator(seed: 1))
    }

    func controllerSent(_ packet: [UInt8]) { sent.append(packet) }
    func transmit(_ frame: RadioFrame) {
        frames.append((now, frame))
        transmissionEnd = now.advanced(by: frame.duration)
    }
    func abortTransmission() { transmissionEnd = nil }
    func listen(channel: UInt8, phy: RadioPHY, accessAddress: UInt32) { listeningChannel = channel }
    func stopListening() { listeningChannel = nil }

    /// Sends octets and returns what came back at once.
    func exchange(_ octets: [UInt8]) -> [[UInt8]] {
        sent = []
        controller.receive(octets, at: now)
        return sent
    }

    /// Sends a command and returns the status in its Command Complete or Command Status.
    func status(_ command: some HCICommand) -> HCIErrorCode? {
        for packet in exchange(command.packet) where packet.count > 6 {
            if packet[1] == HCIEventCode.commandComplete.rawValue { return HCIErrorCode(rawValue: packet[6]) }
            if packet[1] == HCIEventCode.commandStatus.rawValue { return HCIErrorCode(rawValue: packet[3]) }
        }
        return nil
    }

    /// Lets time pass and returns what the controller told the host.
    func wait(_ duration: Duration) -> [[UInt8]] {
        sent = []
        let end = now.advanced(by: duration)
        while true {
            let next = [transmissionEnd, controller.deadline].compactMap { $0 }.min()
            guard let next, next <= end else { break }
            now = max(now, next)
            if let over = transmissionEnd, over <= now {
                transmissionEnd = nil
                controller.transmissionEnded(at: now)
            } else {
                controller.wake(at: now)
            }
        }
        now = end
        return sent
    }
}
