import EventLoop
import LinkLayer

/// One packet on the air; used again for a later one.
final class Transmission {
    /// Who has noticed that it began, and how strong it is there.
    struct Receiver {
        let device: Device
        /// In dBm.
        let power: Double
        /// What this reception has of chance.
        let chance: UInt64
    }

    /// Another packet on the channel, as long as both are on the air.
    struct Overlap {
        let sender: Device
        let start: Instant
        let end: Instant
    }

    var sender: Device
    var frame: RadioFrame
    var start: Instant
    var end: Instant
    var isBroken = false
    var receivers: [Receiver] = []
    var overlaps: [Overlap] = []
    /// Where it stands among those of its channel.
    var place = 0

    init(_ frame: RadioFrame, from sender: Device, at start: Instant) {
        self.sender = sender
        self.frame = frame
        self.start = start
        end = start.advanced(by: frame.duration)
    }

    func reuse(for frame: RadioFrame, from sender: Device, at start: Instant) {
        self.sender = sender
        self.frame = frame
        self.start = start
        end = start.advanced(by: frame.duration)
        isBroken = false
        receivers.removeAll(keepingCapacity: true)
        overlaps.removeAll(keepingCapacity: true)
    }

    func seen(by receptions: [AirPacket.Reception]) -> AirPacket {
        AirPacket(
            channel: frame.channel, mode: frame.mode, accessAddress: frame.accessAddress, start: start,
            duration: frame.duration, octets: frame.octets, sender: sender.number, receptions: receptions)
    }
}

/// A transmission as the others on its channel see it; most of them need no look at anything else.
struct Occupation {
    var position: Position
    /// How near another sender must be to be in the way of whoever listens, squared; negative if nobody does.
    var squaredReach: Double
    var transmission: Transmission
}
