package import EventLoop

/// Packets between hosts and controllers that come later than they could: what a busy system does to them.
///
/// The order on a line stays: what comes behind a packet that is held up waits for it.
///
/// It belongs to the world's thread.
package final class LineDelays {
    /// A packet that a world has handed from a host to its controller, or back.
    package struct Delivery: Sendable {
        /// Counted from 0, over the whole world.
        package var number: Int
        package var time: Instant
        package var device: String
        package var direction: HCIDirection
        package var packet: [UInt8]
        package var delay: Duration
    }

    private let delays: [Int: Duration]
    private var count = 0
    /// Until when the line is held up: by twice the device's number, plus 1 towards the controller.
    private var busy: [Int: Instant] = [:]
    /// The deliveries that were held up.
    package private(set) var held: [Delivery] = []

    /// - Parameter delays: how long a delivery is held up, by its number.
    package init(_ delays: [Int: Duration]) { self.delays = delays }

    /// How many deliveries there were.
    package var deliveries: Int { count }

    /// How long the next delivery waits; `nil` if it goes at once.
    func next(_ packet: [UInt8], of device: Device, _ direction: HCIDirection, at now: Instant) -> Duration? {
        defer { count += 1 }
        let delay = delays[count]
        let line = device.number << 1 | (direction == .hostToController ? 1 : 0)
        if let delay {
            held.append(
                Delivery(
                    number: count, time: now, device: device.name, direction: direction, packet: packet, delay: delay))
        }
        let free = max(busy[line] ?? now, now.advanced(by: delay ?? .zero))
        guard free > now else { return nil }
        busy[line] = free
        return now.duration(to: free)
    }
}
